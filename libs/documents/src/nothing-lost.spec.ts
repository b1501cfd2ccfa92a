import fc from 'fast-check';
import { readFileSync } from 'node:fs';
import type { Block } from './block';
import { parseRtf } from './parse-rtf';
import { parseXlsx } from './parse-xlsx';
import { blocksOf } from './test/blocks-of';
import { zipOfTexts } from './test/zip-of';
import { Archive } from './zip';

const sources: [file: string, parts: RegExp, without: RegExp][] = [
  ['handmade.epub', /text\/.*xhtml$/, /<head>.*?<\/head>/gs],
  ['libreoffice.epub', /sections\/.*xhtml$/, /<head>.*?<\/head>/gs],
  ['libreoffice.docx', /word\/(?:document|footnotes)\.xml$/, /<wp:\w+>[^<]*|<w:instrText.*?<\/w:instrText>/g],
  ['python-docx.docx', /word\/document\.xml$/, /<w:del .*?<\/w:del>/g],
  ['libreoffice.odp', /content\.xml$/, /^.*?<office:body>|<text:page-number>.*?<\/text:page-number>/gs],
  ['libreoffice.ods', /content\.xml$/, /^.*?<office:body>/gs],
  ['libreoffice.odt', /content\.xml$/, /^.*?<office:body>/gs],
  ['libreoffice.pptx', /ppt\/slides\/slide\d+\.xml$/, /^$/g],
  [
    'python-pptx.pptx',
    /ppt\/(?:slides\/slide|notesSlides\/notesSlide)\d+\.xml$/,
    /<a:tableStyleId>.*?<\/a:tableStyleId>/g,
  ],
];

it.each(sources)('keeps the number of occurrences of every word of %s', async (file, parts, without) => {
  const bytes = readFileSync(`test/fixtures/documents/${file}`);
  const archive = await Archive.open(bytes, { save: '' });
  const names = namesIn(bytes).filter((name) => parts.test(name));
  const xml = await Promise.all(names.map(async (name) => (await archive.read(name)).toString().replace(without, '')));

  const text = xml
    .join('\n')
    .replace(/<\/(?:\w+:)?(?:p|h|h\d|li|td|th|tc|pre)>|<ul>|<\?.*?\?>/g, '\n')
    .replace(/<[^>]*>/g, '');
  const blocks = await blocksOf(bytes, file);
  const titles = file.endsWith('.ods') ? ['Cellar', 'Prices'] : [];

  expect(wordsIn(blocks)).toEqual([...words(text), ...titles].toSorted());
});

it('keeps the number of occurrences of every word of libreoffice.rtf, as in the same text in libreoffice.odt', async () => {
  const [rtf, odt] = await Promise.all(
    ['libreoffice.rtf', 'libreoffice.odt'].map((file) =>
      blocksOf(readFileSync(`test/fixtures/documents/${file}`), file),
    ),
  );

  expect(wordsIn(rtf!)).toEqual(wordsIn(odt!));
});

const line = fc
  .string({ unit: 'grapheme', minLength: 1, maxLength: 40 })
  .map((text) => text.replace(/\s+/g, ' ').trim());

it('keeps arbitrary text in RTF with any escapes', () => {
  const escaped = (text: string) =>
    Array.from(text, (character) => {
      if (/[a-z0-9]/i.test(character)) return character;
      return Array.from({ length: character.length }, (_, i) => `\\u${(character.charCodeAt(i) << 16) >> 16}?`).join(
        '',
      );
    }).join('');

  fc.assert(
    fc.property(fc.array(line.filter(Boolean), { maxLength: 8 }), (lines) => {
      const rtf = `{\\rtf1\\ansi ${lines.map((text) => `\\pard ${escaped(text)}\\par\n`).join('')}}`;
      expect(parseRtf(Buffer.from(rtf)).map(({ text }) => text)).toEqual(lines);
    }),
  );
});

it('keeps every cell of a sheet at any address', async () => {
  const cells = fc.uniqueArray(fc.tuple(fc.integer({ min: 1, max: 500 }), fc.integer({ min: 0, max: 25 }), fc.nat()), {
    selector: ([row, column]) => `${row} ${column}`,
    minLength: 1,
    maxLength: 60,
  });

  await fc.assert(
    fc.asyncProperty(cells, async (all) => {
      const [title, table] = await parseXlsx(workbook(all));
      expect(title).toMatchObject({ text: 'S' });
      expect(table!.text.match(/\d+/g)!.toSorted()).toEqual(all.map(([, , value]) => String(value)).toSorted());
      expect(table!.text.split('\n')).toHaveLength(new Set(all.map(([row]) => row)).size);
    }),
    { numRuns: 50 },
  );
});

function workbook(cells: [row: number, column: number, value: number][]): Buffer {
  const inOrder = cells.toSorted((a, b) => a[0] - b[0] || a[1] - b[1]);
  const rows = [...new Set(inOrder.map(([row]) => row))].map((row) => {
    const own = inOrder.filter(([of]) => of === row);
    const columns = own.map(
      ([, column, value]) => `<c r="${String.fromCharCode(65 + column)}${row}"><v>${value}</v></c>`,
    );
    return `<row r="${row}">${columns.join('')}</row>`;
  });
  const type = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships/worksheet';
  return zipOfTexts({
    'xl/workbook.xml': '<workbook><sheets><sheet name="S" r:id="s"/></sheets></workbook>',
    'xl/_rels/workbook.xml.rels': `<Relationships><Relationship Id="s" Type="${type}" Target="s.xml"/></Relationships>`,
    'xl/s.xml': `<worksheet><sheetData>${rows.join('')}</sheetData></worksheet>`,
  });
}

function wordsIn(blocks: Block[]): string[] {
  return words(blocks.map(({ text }) => text).join('\n')).toSorted();
}

function words(text: string): string[] {
  return text.match(/[\p{Letter}\p{Extended_Pictographic}][\p{Letter}\p{Number}\p{Mark}]*/gu) ?? [];
}

function namesIn(bytes: Buffer): string[] {
  const names: string[] = [];
  for (let at = bytes.indexOf('504b0102', 0, 'hex'); at !== -1; at = bytes.indexOf('504b0102', at + 1, 'hex')) {
    names.push(bytes.toString('utf8', at + 46, at + 46 + bytes.readUInt16LE(at + 28)));
  }
  return names;
}
