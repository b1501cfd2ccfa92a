import { deflateSync, gzipSync } from 'node:zlib';
import * as fc from 'fast-check';
import { compoundFileOf } from '@parley/documents/test/compound-file-of';
import { outlookMessage } from '@parley/documents/test/outlook-message';
import { zipOf, zipOfTexts } from '@parley/documents/test/zip-of';
import { pdfOfObjects } from '@parley/testing/pdf';
import { mutantsOf } from './mutants';
import { type Structure, structures } from './structures';

/** Document that costs far more to read than to send, or that no program writes. */
export interface Bomb {
  /** Format and kind of attack. */
  name: string;
  contentType: string;
  /** Part of each test run: quick to create, and different from the others. */
  isQuick?: true;
  make(): Buffer;
}

const changesEach = 4;
const firstSeed = 100;

const million = 1_000_000;
const office = 'application/vnd.openxmlformats-officedocument';
const types = {
  docx: `${office}.wordprocessingml.document`,
  xlsx: `${office}.spreadsheetml.sheet`,
  pptx: `${office}.presentationml.presentation`,
  odt: 'application/vnd.oasis.opendocument.text',
  ods: 'application/vnd.oasis.opendocument.spreadsheet',
  odp: 'application/vnd.oasis.opendocument.presentation',
  epub: 'application/epub+zip',
  pdf: 'application/pdf',
  rtf: 'application/rtf',
  doc: 'application/msword',
  xls: 'application/vnd.ms-excel',
  ppt: 'application/vnd.ms-powerpoint',
  msg: 'application/vnd.ms-outlook',
  html: 'text/html',
  markdown: 'text/markdown',
  mdx: 'text/mdx',
  json: 'application/json',
  notebook: 'application/x-ipynb+json',
  jsonl: 'application/jsonl',
  csv: 'text/csv',
  xml: 'application/xml',
  eml: 'message/rfc822',
  text: 'text/plain',
  javascript: 'text/javascript',
};
const relationships = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';

/** Below the limit of 200 MB for an archive entry, so that the parser itself has to cope with it. */
const largestEntry = 190 * million;
/** Below the limit of 95 MB for a file. */
const largestFile = 94 * million;
/** For documents that can be read to the end: embedding and storing a text of 94 MB takes minutes. */
const readableFile = 10 * million;

const nested = (open: string, close: string, depth: number) => open.repeat(depth) + close.repeat(depth);
const filled = (size: number, text: string) => text.repeat(Math.floor(size / text.length));

function docx(body: string | Buffer, others: Record<string, string | Buffer> = {}): Buffer {
  const start = '<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body>';
  return zipOfTexts({
    '[Content_Types].xml': '<Types><Override PartName="/word/document.xml" ContentType="a"/></Types>',
    '_rels/.rels': `<Relationships><Relationship Id="a" Type="${relationships}/officeDocument" Target="word/document.xml"/></Relationships>`,
    'word/document.xml': Buffer.concat([
      Buffer.from(start),
      Buffer.from(body as string),
      Buffer.from('</w:body></w:document>'),
    ]),
    ...others,
  });
}

function xlsx(rows: string, strings = '', styles = '', others: Record<string, string> = {}): Buffer {
  return zipOfTexts({
    '[Content_Types].xml': '<Types/>',
    'xl/workbook.xml': `<workbook xmlns:r="${relationships}"><sheets><sheet name="a" r:id="s"/></sheets></workbook>`,
    'xl/_rels/workbook.xml.rels':
      `<Relationships><Relationship Id="s" Type="${relationships}/worksheet" Target="sheets/a.xml"/>` +
      `<Relationship Id="t" Type="${relationships}/sharedStrings" Target="strings.xml"/>` +
      `<Relationship Id="y" Type="${relationships}/styles" Target="styles.xml"/></Relationships>`,
    'xl/strings.xml': `<sst>${strings}</sst>`,
    'xl/styles.xml': `<styleSheet>${styles}</styleSheet>`,
    'xl/sheets/a.xml': `<worksheet><sheetData>${rows}</sheetData></worksheet>`,
    ...others,
  });
}

/** Relations of a part by their ids. */
function relationsOf(all: Record<string, [type: string, target: string]>): string {
  const written = Object.entries(all).map(
    ([id, [type, target]]) => `<Relationship Id="${id}" Type="${relationships}/${type}" Target="${target}"/>`,
  );
  return `<Relationships>${written.join('')}</Relationships>`;
}

const chartOf = (points: string) =>
  `<c:chart><c:title><a:t>t</a:t></c:title><c:ser><c:cat><c:strCache>${points}</c:strCache></c:cat><c:val><c:numCache><c:formatCode>0.0%</c:formatCode>${points}</c:numCache></c:val></c:ser></c:chart>`;

/** Word document that imports itself: each level holds the one below it `times` times. */
function importing(depth: number, times: number): Buffer {
  const ids = Array.from({ length: times }, (_, i) => `a${i}`);
  return docx(ids.map((id) => `<w:altChunk r:id="${id}"/>`).join(''), {
    'word/_rels/document.xml.rels': relationsOf(Object.fromEntries(ids.map((id) => [id, ['aFChunk', 'a.docx']]))),
    'word/a.docx': depth === 0 ? docx('<w:p><w:r><w:t>core</w:t></w:r></w:p>') : importing(depth - 1, times),
  });
}

function pptx(slides: string[], references = slides.map((_, i) => i)): Buffer {
  const start = '<p:sld><p:cSld><p:spTree>';
  return zipOfTexts({
    '[Content_Types].xml': '<Types/>',
    'ppt/presentation.xml': `<p:presentation><p:sldIdLst>${references.map((_, i) => `<p:sldId r:id="r${i}"/>`).join('')}</p:sldIdLst></p:presentation>`,
    'ppt/_rels/presentation.xml.rels': `<Relationships>${references
      .map((slide, i) => `<Relationship Id="r${i}" Type="${relationships}/slide" Target="slides/s${slide}.xml"/>`)
      .join('')}</Relationships>`,
    ...Object.fromEntries(
      slides.map((shapes, i) => [`ppt/slides/s${i}.xml`, `${start}${shapes}</p:spTree></p:cSld></p:sld>`]),
    ),
  });
}

/** Compound file of 20 MB whose directory refers to itself. */
function circular(): Buffer {
  const bytes = compoundFileOf({ WordDocument: Buffer.alloc(20 * million) });
  const directory = bytes.readUInt32LE(48);
  bytes.writeUInt32LE(directory, bytes.length - 4_096 * bytes.readUInt32LE(44) + 4 * directory);
  return bytes;
}

/** Workbook of Excel 97 with one sheet of these records. */
function workbookOf(records: string): Buffer {
  const start = Buffer.from(`0908100000060500${'00'.repeat(12)}`, 'hex');
  const sheet = Buffer.from('85000900250000000000010061', 'hex');
  return Buffer.concat([start, sheet, Buffer.from('0a000000', 'hex'), start, Buffer.from(records, 'latin1')]);
}

const slideText = (text: string) => `<p:sp><p:txBody><a:p><a:r><a:t>${text}</a:t></a:r></a:p></p:txBody></p:sp>`;

function odf(kind: string, body: string): Buffer {
  return zipOfTexts({
    'META-INF/manifest.xml': '<manifest/>',
    'content.xml': `<office:document-content><office:body><office:${kind}>${body}</office:${kind}></office:body></office:document-content>`,
  });
}

function epub(chapter: string, times: number): Buffer {
  return zipOfTexts({
    mimetype: 'application/epub+zip',
    'META-INF/container.xml': '<container><rootfiles><rootfile full-path="book.opf"/></rootfiles></container>',
    'book.opf': `<package><manifest><item id="a" href="a.xhtml" media-type="application/xhtml+xml"/></manifest><spine>${'<itemref idref="a"/>'.repeat(times)}</spine></package>`,
    'a.xhtml': chapter,
  });
}

/** PDF with one page. `filters` are those of its content, which is already encoded. */
function pdf(content: Buffer | string, filters: string[] = [], others: string[] = [], resources = ''): Buffer {
  const bytes = Buffer.from(content as string);
  return pdfOfObjects([
    '<< /Type /Catalog /Pages 2 0 R >>',
    '<< /Type /Pages /Kids [3 0 R] /Count 1 >>',
    `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents 4 0 R /Resources << /Font << /f 5 0 R >> ${resources} >> >>`,
    stream(bytes, filters),
    '<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>',
    ...others,
  ]);
}

const xfaStart = '<xdp:xdp xmlns:xdp="x"><template><subform>';
const xfaFields = '<field name="a"><caption><value><text>b</text></value></caption></field>';

function xfaPdf(form: Buffer): Buffer {
  return pdfOfObjects([
    '<< /Type /Catalog /Pages 2 0 R /AcroForm << /Fields [] /XFA 4 0 R >> >>',
    '<< /Type /Pages /Kids [3 0 R] /Count 1 >>',
    '<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] >>',
    stream(form, ['FlateDecode']),
  ]);
}

function notebook(cells: string): Buffer {
  return Buffer.from(`{"cells":[${cells}],"metadata":{},"nbformat":4,"nbformat_minor":5}`);
}

function stream(bytes: Buffer, filters: string[], entries = ''): string {
  const filter = filters.length > 0 ? `/Filter [${filters.map((name) => `/${name}`).join(' ')}]` : '';
  return `<< /Length ${bytes.length} ${filter} ${entries} >>\nstream\n${bytes.toString('latin1')}\nendstream`;
}

/** Deflates repeatedly; the plain bytes are created in parts, so that gigabytes need no memory. */
function deflated(size: number, times: number): Buffer {
  const block = Buffer.alloc(64 * million, ' ');
  const parts = Array.from({ length: Math.ceil(size / block.length) }, () => block);
  let packed = deflateParts(parts);
  for (let i = 1; i < times; i++) packed = deflateSync(packed, { level: 9 });
  return packed;
}

/** One zlib stream of equal blocks: a deflated block ends at a byte boundary, so it can be repeated. */
function deflateParts(parts: Buffer[]): Buffer {
  const header = Buffer.from([0x78, 0xda]);
  const one = deflateSync(parts[0]!, { level: 9, finishFlush: 3 /* Z_FULL_FLUSH */ }).subarray(2);
  const last = Buffer.from([0x03, 0x00]);
  // PDF readers ignore the checksum.
  return Buffer.concat([header, ...parts.map(() => one), last, Buffer.alloc(4)]);
}

function pdfOfNestedForms(depth: number): Buffer {
  const forms = Array.from({ length: depth }, (_, level) => {
    const isLast = level === depth - 1;
    const content = isLast ? 'BT /f 10 Tf (word) Tj ET' : '/x Do '.repeat(10);
    const next = isLast ? '/Font << /f 5 0 R >>' : `/XObject << /x ${7 + level} 0 R >>`;
    return stream(Buffer.from(content), [], `/Type /XObject /Subtype /Form /BBox [0 0 9 9] /Resources << ${next} >>`);
  });
  return pdf('/x Do', [], forms, '/XObject << /x 6 0 R >>');
}

function pdfOfPages(pages: number): Buffer {
  return pdfOfObjects([
    '<< /Type /Catalog /Pages 2 0 R >>',
    `<< /Type /Pages /Kids [${'3 0 R '.repeat(pages)}] /Count ${pages} >>`,
    '<< /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] /Contents 4 0 R /Resources << >> >>',
    stream(Buffer.from('BT ET'), []),
  ]);
}

const entityBomb = (elements: string) =>
  `<?xml version="1.0"?><!DOCTYPE a [<!ENTITY a "aaaaaaaaaa">${Array.from({ length: 9 }, (_, i) => `<!ENTITY ${'abcdefghij'[i + 1]} "${`&${'abcdefghij'[i]};`.repeat(10)}">`).join('')}]>${elements}`;

export const bombs: Bomb[] = [
  {
    name: 'docx: one word of 190 million letters',
    contentType: types.docx,
    isQuick: true,
    make: () =>
      docx(
        Buffer.concat([
          Buffer.from('<w:p><w:r><w:t>Ж'),
          Buffer.alloc(largestEntry, 'A'),
          Buffer.from('</w:t></w:r></w:p>'),
        ]),
      ),
  },
  {
    name: 'docx: millions of runs',
    contentType: types.docx,
    make: () => docx(`<w:p>${filled(largestEntry, '<w:r><w:t>a</w:t></w:r>')}</w:p>`),
  },
  {
    name: 'docx: millions of empty paragraphs',
    contentType: types.docx,
    make: () => docx(filled(largestEntry, '<w:p/>')),
  },
  {
    name: 'docx: nested tables',
    contentType: types.docx,
    make: () => docx(nested('<w:tbl><w:tr><w:tc>', '</w:tc></w:tr></w:tbl>', 100_000)),
  },
  {
    name: 'docx: a row of a million cells',
    contentType: types.docx,
    make: () =>
      docx(`<w:tbl><w:tr>${'<w:tc><w:p><w:r><w:t>a</w:t></w:r></w:p></w:tc>'.repeat(million)}</w:tr></w:tbl>`),
  },
  {
    name: 'docx: one attribute of 190 MB',
    contentType: types.docx,
    make: () => docx(`<w:p w:a="${'a'.repeat(largestEntry)}"/>`),
  },
  {
    name: 'docx: entities',
    contentType: types.docx,
    make: () =>
      zipOfTexts({
        '[Content_Types].xml': '<Types/>',
        'word/document.xml': entityBomb('<w:document>&j;</w:document>'),
      }),
  },
  {
    name: 'docx: 10,001 parts',
    contentType: types.docx,
    make: () =>
      docx('<w:p/>', Object.fromEntries(Array.from({ length: 10_001 }, (_, i) => [`word/media/${i}.png`, 'a']))),
  },
  {
    name: 'docx: a part of 900 MB that declares 1 kB',
    contentType: types.docx,
    make: () =>
      zipOf([
        { name: '[Content_Types].xml', content: '<Types/>' },
        { name: 'word/document.xml', content: Buffer.alloc(900 * million, 'a'), declaredSize: 1000 },
      ]),
  },
  {
    name: 'docx: overlapping parts',
    contentType: types.docx,
    make: () =>
      zipOf([
        { name: '[Content_Types].xml', content: '<Types/>' },
        ...Array.from({ length: 1000 }, (_, i) => ({
          name: `word/document${i || ''}.xml`,
          content: 'a'.repeat(100_000),
          offset: 100,
        })),
      ]),
  },
  {
    name: 'docx: numbered styles in a cycle',
    contentType: types.docx,
    make: () =>
      docx('<w:p><w:pPr><w:pStyle w:val="s1"/></w:pPr><w:r><w:t>a</w:t></w:r></w:p>'.repeat(100_000), {
        'word/styles.xml': `<w:styles>${Array.from({ length: 100_000 }, (_, i) => `<w:style w:type="paragraph" w:styleId="s${i}"><w:name w:val="n${i}"/><w:basedOn w:val="s${(i + 1) % 100_000}"/></w:style>`).join('')}</w:styles>`,
      }),
  },
  {
    name: 'docx: documents within documents',
    contentType: types.docx,
    isQuick: true,
    make: () => importing(5, 100),
  },
  {
    name: 'docx: an imported page of 100 MB read 100 times',
    contentType: types.docx,
    make: () => {
      const ids = Array.from({ length: 100 }, (_, i) => `a${i}`);
      return docx(ids.map((id) => `<w:altChunk r:id="${id}"/>`).join(''), {
        'word/_rels/document.xml.rels': relationsOf(Object.fromEntries(ids.map((id) => [id, ['aFChunk', 'a.html']]))),
        'word/a.html': filled(100 * million, '<p>word</p>'),
      });
    },
  },
  {
    name: 'docx: a chart of a million points',
    contentType: types.docx,
    make: () =>
      docx('<w:p><w:r><w:drawing><c:chart r:id="c"/></w:drawing></w:r></w:p>', {
        'word/_rels/document.xml.rels': relationsOf({ c: ['chart', 'c.xml'] }),
        'word/c.xml': chartOf(
          Array.from({ length: million }, (_, i) => `<c:pt idx="${i}"><c:v>${i}</c:v></c:pt>`).join(''),
        ),
      }),
  },
  {
    name: 'docx: a chart shown a million times',
    contentType: types.docx,
    make: () =>
      docx('<w:p><w:r><w:drawing><c:chart r:id="c"/></w:drawing></w:r></w:p>'.repeat(million), {
        'word/_rels/document.xml.rels': relationsOf({ c: ['chart', 'c.xml'] }),
        'word/c.xml': chartOf('<c:pt idx="0"><c:v>word</c:v></c:pt>'.repeat(1000)),
      }),
  },
  {
    name: 'docx: items with the largest numbers',
    contentType: types.docx,
    isQuick: true,
    make: () =>
      docx(
        '<w:p><w:pPr><w:numPr><w:ilvl w:val="8"/><w:numId w:val="1"/></w:numPr></w:pPr><w:r><w:t>a</w:t></w:r></w:p>'.repeat(
          100_000,
        ),
        {
          'word/numbering.xml': `<w:numbering><w:abstractNum w:abstractNumId="0">${Array.from({ length: 9 }, (_, i) => `<w:lvl w:ilvl="${i}"><w:start w:val="2147483647"/><w:numFmt w:val="${i % 2 ? 'lowerLetter' : 'upperRoman'}"/><w:lvlText w:val="${'%1%2%3%4%5%6%7%8%9'.repeat(1000)}"/></w:lvl>`).join('')}</w:abstractNum><w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num></w:numbering>`,
        },
      ),
  },
  {
    name: 'docx: 100,000 comments on one text',
    contentType: types.docx,
    make: () => {
      const numbers = Array.from({ length: 100_000 }, (_, i) => i);
      const comments = numbers.map((i) => `<w:comment w:id="${i}"><w:p><w:r><w:t>a</w:t></w:r></w:p></w:comment>`);
      return docx(
        `${numbers.map((i) => `<w:commentRangeStart w:id="${i}"/>`).join('')}<w:p>${'<w:r><w:t>word</w:t></w:r>'.repeat(100_000)}</w:p>`,
        { 'word/comments.xml': `<w:comments>${comments.join('')}</w:comments>` },
      );
    },
  },
  {
    name: 'docx: alternatives within alternatives',
    contentType: types.docx,
    make: () => {
      const depth = 120;
      const one = `${'<mc:AlternateContent><mc:Choice>'.repeat(depth)}<w:t>a</w:t>${'</mc:Choice></mc:AlternateContent>'.repeat(depth)}`;
      return docx(`<w:p><w:r>${filled(20 * million, one)}</w:r></w:p>`);
    },
  },
  {
    name: 'docx: an end record in each of 250,000 places',
    contentType: types.docx,
    make: () => Buffer.concat([docx('<w:p/>'), Buffer.from('PK\x05\x06'.repeat(250_000), 'latin1')]),
  },
  {
    name: 'xlsx: a string of a megabyte in a million cells',
    contentType: types.xlsx,
    make: () => xlsx('<row><c t="s"><v>0</v></c></row>'.repeat(million), `<si><t>${'a '.repeat(500_000)}</t></si>`),
  },
  {
    name: 'xlsx: 7 million cells',
    contentType: types.xlsx,
    make: () => xlsx(filled(largestEntry, '<row><c><v>1</v></c></row>')),
  },
  {
    name: 'xlsx: one shared string of 190 MB',
    contentType: types.xlsx,
    make: () => xlsx('<row><c t="s"><v>0</v></c></row>', `<si><t>${'a'.repeat(largestEntry)}</t></si>`),
  },
  {
    name: 'xlsx: cells in the last row and column',
    contentType: types.xlsx,
    make: () => xlsx('<row r="1048576"><c r="XFD1048576"><v>1</v></c></row>'.repeat(500_000)),
  },
  {
    name: 'xlsx: a number format of 100 MB',
    contentType: types.xlsx,
    make: () =>
      xlsx(
        '<row><c s="0"><v>1</v></c></row>'.repeat(1000),
        '',
        `<numFmts><numFmt numFmtId="200" formatCode="${'[h]:mm;'.repeat(14 * million)}"/></numFmts><cellXfs><xf numFmtId="200"/></cellXfs>`,
      ),
  },
  {
    name: 'xlsx: a million merges of the whole sheet',
    contentType: types.xlsx,
    make: () =>
      xlsx(
        `${'<row><c><v>1</v></c></row>'.repeat(100_000)}</sheetData><mergeCells>${'<mergeCell ref="A1:XFD1048576"/>'.repeat(million)}</mergeCells><sheetData>`,
      ),
  },
  {
    name: 'xlsx: a number format of its own in each of a million cells',
    contentType: types.xlsx,
    make: () =>
      xlsx(
        Array.from({ length: million }, (_, i) => `<row><c s="${i % 60_000}"><v>-1234.5678</v></c></row>`).join(''),
        '',
        `<numFmts>${Array.from({ length: 60_000 }, (_, i) => `<numFmt numFmtId="${200 + i}" formatCode="[&lt;${i}]# ${'?'.repeat(100)}/${'?'.repeat(100)};0.${'0'.repeat(40)}"/>`).join('')}</numFmts><cellXfs>${Array.from({ length: 60_000 }, (_, i) => `<xf numFmtId="${200 + i}"/>`).join('')}</cellXfs>`,
      ),
  },
  {
    name: 'xlsx: a million notes',
    contentType: types.xlsx,
    make: () =>
      xlsx('<row><c><v>1</v></c></row>', '', '', {
        'xl/sheets/_rels/a.xml.rels': relationsOf({ c: ['comments', 'c.xml'] }),
        'xl/sheets/c.xml': `<comments><commentList>${'<comment ref="A1"><text><t>a</t></text></comment>'.repeat(million)}</commentList></comments>`,
      }),
  },
  {
    name: 'pptx: one text of 190 MB',
    contentType: types.pptx,
    make: () => pptx([slideText('a '.repeat(largestEntry / 2))]),
  },
  {
    name: 'pptx: a slide of 10 MB shown 5,000 times',
    contentType: types.pptx,
    make: () =>
      pptx(
        [slideText('word '.repeat(2 * million))],
        Array.from({ length: 5000 }, () => 0),
      ),
  },
  {
    name: 'pptx: nested groups',
    contentType: types.pptx,
    make: () => pptx([nested('<p:grpSp>', '</p:grpSp>', 200_000)]),
  },
  {
    name: 'odt: a billion spaces in one element',
    contentType: types.odt,
    make: () => odf('text', '<text:p>a<text:s text:c="1000000000"/>b</text:p>'.repeat(100)),
  },
  {
    name: 'odt: paragraphs of 190 MB',
    contentType: types.odt,
    make: () => odf('text', filled(largestEntry, '<text:p>word</text:p>')),
  },
  {
    name: 'odt: nested lists',
    contentType: types.odt,
    make: () => odf('text', nested('<text:list><text:list-item>', '</text:list-item></text:list>', 200_000)),
  },
  {
    name: 'ods: a cell repeated in a million rows of 16,384 columns',
    contentType: types.ods,
    make: () =>
      odf(
        'spreadsheet',
        '<table:table><table:table-row table:number-rows-repeated="1048576"><table:table-cell table:number-columns-repeated="16384"><text:p>word</text:p></table:table-cell></table:table-row></table:table>',
      ),
  },
  {
    name: 'odp: 100,000 pages',
    contentType: types.odp,
    make: () =>
      odf(
        'presentation',
        '<draw:page><draw:frame><draw:text-box><text:p>word</text:p></draw:text-box></draw:frame></draw:page>'.repeat(
          100_000,
        ),
      ),
  },
  {
    name: 'epub: a chapter of 10 MB read 10,000 times',
    contentType: types.epub,
    make: () => epub(`<html><body><p>${'word '.repeat(2 * million)}</p></body></html>`, 10_000),
  },
  {
    name: 'epub: a chapter of 190 MB',
    contentType: types.epub,
    make: () => epub(`<html><body>${filled(largestEntry, '<p>word</p>')}</body></html>`, 1),
  },
  {
    name: 'pdf: content of 3 GB, deflated twice',
    contentType: types.pdf,
    isQuick: true,
    make: () => pdf(deflated(3000 * million, 2), ['FlateDecode', 'FlateDecode']),
  },
  {
    name: 'pdf: content of 3 GB, deflated three times',
    contentType: types.pdf,
    make: () => pdf(deflated(3000 * million, 3), ['FlateDecode', 'FlateDecode', 'FlateDecode']),
  },
  {
    name: 'pdf: content of 1 GB, deflated once',
    contentType: types.pdf,
    make: () => pdf(deflated(1000 * million, 1), ['FlateDecode']),
  },
  {
    name: 'pdf: run lengths of 1 GB in a deflated stream',
    contentType: types.pdf,
    make: () =>
      pdf(deflateSync(Buffer.alloc(16 * million, Buffer.from([0x81, 0x20])), { level: 9 }), [
        'FlateDecode',
        'RunLengthDecode',
      ]),
  },
  {
    name: 'pdf: zeros of Ascii85 in a deflated stream',
    contentType: types.pdf,
    make: () => pdf(deflateSync(Buffer.alloc(200 * million, 'z'), { level: 9 }), ['FlateDecode', 'ASCII85Decode']),
  },
  {
    name: 'pdf: 190 MB of text operators',
    contentType: types.pdf,
    make: () =>
      pdf(deflateSync(Buffer.from(`BT /f 10 Tf ${filled(largestEntry, '1 0 0 1 9 9 Tm (a) Tj ')}ET`), { level: 9 }), [
        'FlateDecode',
      ]),
  },
  {
    name: 'pdf: forms that draw ten billion words',
    contentType: types.pdf,
    make: () => pdfOfNestedForms(10),
  },
  {
    name: 'pdf: an XFA form of 190 MB in a deflated stream',
    contentType: types.pdf,
    make: () => xfaPdf(deflateSync(xfaStart + filled(largestEntry, xfaFields))),
  },
  {
    name: 'pdf: nested fields of an XFA form',
    contentType: types.pdf,
    make: () => xfaPdf(deflateSync(`<template>${'<subform>'.repeat(million)}`)),
  },
  {
    name: 'pdf: entities of an XFA form',
    contentType: types.pdf,
    make: () => xfaPdf(deflateSync(entityBomb('<template>&j;</template>'))),
  },
  {
    name: 'pdf: a million replacement texts of a megabyte',
    contentType: types.pdf,
    make: () =>
      pdf(
        deflateSync(
          `BT /f 9 Tf /a << /ActualText (${'a'.repeat(million)}) >> BDC (b) Tj EMC ${'/a << /ActualText (c) >> BDC (d) Tj '.repeat(million)}`,
        ),
        ['FlateDecode'],
      ),
  },
  {
    name: 'pdf: a million letters in one place',
    contentType: types.pdf,
    make: () =>
      pdf(deflateSync(Array.from({ length: million }, (_, i) => `BT /f 9 Tf ${i % 7} 9 Td (ab) Tj ET`).join('\n')), [
        'FlateDecode',
      ]),
  },
  {
    name: 'pdf: 200,000 comments on a page',
    contentType: types.pdf,
    make: () => {
      const comment = '<< /Type /Annot /Subtype /Text /Rect [0 0 9 9] /Contents (word) >>';
      return pdf('BT /f 9 Tf (text) Tj ET', [], [], `>> /Annots [${comment.repeat(200_000)}] /X <<`);
    },
  },
  { name: 'pdf: two million pages', contentType: types.pdf, make: () => pdfOfPages(2 * million) },
  { name: 'pdf: nested arrays', contentType: types.pdf, make: () => pdf(nested('[', ']', 10 * million)) },
  {
    name: 'rtf: nested groups',
    contentType: types.rtf,
    make: () => Buffer.from(`{\\rtf1 ${nested('{', '}', 20 * million)}}`),
  },
  {
    name: 'rtf: binary data of 2 GB that is missing',
    contentType: types.rtf,
    make: () => Buffer.from(`{\\rtf1 a ${'\\bin2147483647 '.repeat(100_000)}}`),
  },
  {
    name: 'rtf: 90 MB of control words',
    contentType: types.rtf,
    make: () => Buffer.from(`{\\rtf1 ${filled(largestFile - 100, '\\b a')}}`),
  },
  ...['doc', 'xls', 'ppt', 'msg'].map((extension) => ({
    name: `${extension}: sectors in a circle`,
    contentType: types[extension as 'doc'],
    make: () => circular(),
  })),
  {
    name: 'xls: a sheet of 60 MB of one record',
    contentType: types.xls,
    make: () => compoundFileOf({ Workbook: workbookOf(filled(60 * million, '\x03\x02\x0e\0'.padEnd(18, '\0'))) }),
  },
  {
    name: 'ppt: nested containers',
    contentType: types.ppt,
    make: () =>
      compoundFileOf({
        'Current User': Buffer.alloc(40),
        'PowerPoint Document': Buffer.alloc(8 * million, Buffer.from('0f00e803ffffff7f', 'hex')),
      }),
  },
  {
    name: 'msg: 6,000 attachments',
    contentType: types.msg,
    make: () =>
      outlookMessage({
        properties: { '0037': 'a' },
        attachments: Array.from({ length: 6_000 }, () => ({ '3707': 'a.html', '3701': Buffer.from('<p>word') })),
      }),
  },
  {
    name: 'html: 30 million nested elements',
    contentType: types.html,
    make: () => Buffer.from('<b>'.repeat(30 * million)),
  },
  {
    name: 'html: formatting that is reopened in each paragraph',
    contentType: types.html,
    make: () => Buffer.from('<b a=1><i b=2><p>'.repeat(500_000)),
  },
  {
    name: 'html: nested tables',
    contentType: types.html,
    make: () => Buffer.from('<table><tr><td>'.repeat(5 * million)),
  },
  {
    name: 'html: a million attributes',
    contentType: types.html,
    make: () => Buffer.from(`<p ${Array.from({ length: million }, (_, i) => `a${i}`).join(' ')}>word`),
  },
  { name: 'html: 90 MB of text', contentType: types.html, make: () => Buffer.from(filled(largestFile, '<p>word')) },
  {
    name: 'html: pages within pages',
    contentType: types.html,
    make: () => Buffer.from(`<iframe srcdoc=${filled(largestFile - 100, '<iframe/srcdoc=')}x`),
  },
  {
    name: 'html: shadow trees within shadow trees, each with two slots',
    contentType: types.html,
    make: () =>
      Buffer.from('<x-a><template shadowrootmode=open><slot></slot><slot></slot><slot name=a>'.repeat(million)),
  },
  {
    name: 'html: a million rules of style, and elements of a million classes',
    contentType: types.html,
    make: () =>
      Buffer.from(
        `<style>${'/*'.repeat(million)}*/${Array.from({ length: million }, (_, i) => `.c${i},b{display:flex}`).join('')}` +
          `</style>${`<b class="${'c '.repeat(million)}">word`.repeat(10)}`,
      ),
  },
  {
    name: 'html: drawings within drawings',
    contentType: types.html,
    make: () => Buffer.from('<svg><text>a<foreignObject><title>b'.repeat(million)),
  },
  {
    name: 'markdown: nested quotes',
    contentType: types.markdown,
    make: () => Buffer.from('>'.repeat(2 * million)),
  },
  { name: 'markdown: brackets', contentType: types.markdown, make: () => Buffer.from('['.repeat(5 * million)) },
  {
    name: 'markdown: emphasis that never ends',
    contentType: types.markdown,
    make: () => Buffer.from('*a **a _a '.repeat(2 * million)),
  },
  {
    name: 'markdown: nested lists',
    contentType: types.markdown,
    make: () => Buffer.from(Array.from({ length: 6_000 }, (_, i) => `${' '.repeat(2 * i)}- a`).join('\n')),
  },
  {
    name: 'markdown: 94 MB',
    contentType: types.markdown,
    make: () => Buffer.from(filled(largestFile, 'Some *words* and a [link](a).\n\n')),
  },
  {
    name: 'mdx: nested elements',
    contentType: types.mdx,
    make: () => Buffer.from('<A>{'.repeat(5 * million)),
  },
  {
    name: 'json: nested arrays',
    contentType: types.json,
    make: () => Buffer.from('['.repeat(largestFile)),
  },
  {
    name: 'json: one string of 94 MB',
    contentType: types.json,
    make: () => Buffer.from(`{"a":"${'Ж'.repeat(largestFile / 2)}"}`),
  },
  {
    name: 'json: a million names, nested in each other',
    contentType: types.json,
    make: () => Buffer.from(`[${`${'{"a":'.repeat(900)}1${'}'.repeat(900)},`.repeat(1_000)}1]`),
  },
  {
    name: 'json: one list of 20 million numbers',
    contentType: types.json,
    make: () => Buffer.from(`{"a":[${'1,'.repeat(2 * readableFile)}1]}`),
  },
  {
    name: 'notebook: an output of 90 MB in a million lines',
    contentType: types.notebook,
    make: () =>
      notebook(
        `{"cell_type":"code","outputs":[{"text":[${`"${'a'.repeat(85)}\\n",`.repeat(million)}"x"]}],"source":"a"}`,
      ),
  },
  {
    name: 'notebook: a picture of 90 MB',
    contentType: types.notebook,
    make: () =>
      notebook(`{"cell_type":"code","outputs":[{"data":{"image/png":"${'A'.repeat(largestFile)}"}}],"source":"a"}`),
  },
  {
    name: 'notebook: a million cells of Markdown',
    contentType: types.notebook,
    make: () => notebook(Array.from({ length: million }, () => '{"cell_type":"markdown","source":"# a"}').join(',')),
  },
  { name: 'jsonl: 5 million lines', contentType: types.jsonl, make: () => Buffer.from('1\n'.repeat(readableFile / 2)) },
  {
    name: 'csv: a million columns in each row',
    contentType: types.csv,
    make: () =>
      Buffer.from(
        `${Array.from({ length: million }, (_, i) => `column${i}`).join(',')}\n${`${','.repeat(million - 1)}1\n`.repeat(40)}`,
      ),
  },
  {
    name: 'csv: a long header that each of a million rows repeats',
    contentType: types.csv,
    make: () => Buffer.from(`${'h'.repeat(100_000)}\n${'1\n'.repeat(million)}`),
  },
  {
    name: 'csv: a quote that never ends',
    contentType: types.csv,
    make: () => Buffer.from(`a\n"${'a,'.repeat(largestFile / 2)}`),
  },
  { name: 'xml: entities', contentType: types.xml, isQuick: true, make: () => Buffer.from(entityBomb('<a>&j;</a>')) },
  {
    name: 'xml: a million entities that are declared',
    contentType: types.xml,
    make: () =>
      Buffer.from(
        `<!DOCTYPE a [${Array.from({ length: million }, (_, i) => `<!ENTITY e${i} "ha">`).join('')}]><a>word</a>`,
      ),
  },
  {
    name: 'xml: a declaration of an entity that never ends',
    contentType: types.xml,
    make: () => Buffer.from(`<!DOCTYPE a [${'<!ENTITY a " '.repeat(7 * million)}]><a>word</a>`),
  },
  {
    name: 'xml: a million attributes of each depth',
    contentType: types.xml,
    make: () => Buffer.from(`<a>${`${'<b c="d">'.repeat(900)}1${'</b>'.repeat(900)}`.repeat(1_000)}</a>`),
  },
  {
    name: 'xml: nested elements',
    contentType: types.xml,
    make: () => Buffer.from('<a>'.repeat(30 * million)),
  },
  {
    name: 'xml: one text of 10 MB',
    contentType: types.xml,
    make: () => Buffer.from(`<a>${'Ж'.repeat(readableFile / 2 - 10)}</a>`),
  },
  {
    name: 'eml: nested parts',
    contentType: types.eml,
    make: () =>
      Buffer.from(
        Array.from(
          { length: 50_000 },
          (_, i) => `Content-Type: multipart/mixed; boundary=b${i}\r\n\r\n--b${i}\r\n`,
        ).join(''),
      ),
  },
  {
    name: 'eml: a header of 94 MB',
    contentType: types.eml,
    make: () => Buffer.from(`Subject: ${'=?utf-8?B?0JY=?= '.repeat(5 * million)}\r\n\r\nword`),
  },
  {
    name: 'eml: HTML of 60 MB in base64',
    contentType: types.eml,
    make: () =>
      Buffer.from(
        `Content-Type: text/html\r\nContent-Transfer-Encoding: base64\r\n\r\n${Buffer.from('<b>'.repeat(20 * million)).toString('base64')}`,
      ),
  },
  { name: 'text: one word of 10 MB', contentType: types.text, make: () => Buffer.alloc(readableFile, 'a') },
  { name: 'text: 10 MB of full stops', contentType: types.text, make: () => Buffer.alloc(readableFile, '. ') },
  {
    name: 'text: 94 MB of line ends',
    contentType: types.text,
    make: () => Buffer.concat([Buffer.from('a'), Buffer.alloc(largestFile, '\n')]),
  },
  {
    name: 'text: UTF-16 of 10 MB',
    contentType: types.text,
    make: () => Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.alloc(readableFile, Buffer.from('Ж ', 'utf16le'))]),
  },
  { name: 'source: one line of 10 MB', contentType: types.javascript, make: () => Buffer.alloc(readableFile, 'a={};') },
  {
    name: 'gzip: 3 GB in an unnamed type',
    contentType: 'application/octet-stream',
    make: () => gzipSync(gzipSync(Buffer.alloc(1500 * million), { level: 9 })),
  },
  {
    name: 'zip: nested archives',
    contentType: types.docx,
    make: () =>
      [1, 2, 3, 4].reduce<Buffer>(
        (inner, level) =>
          zipOfTexts({
            [`${level}.zip`]: inner,
            '[Content_Types].xml': Buffer.concat([inner, Buffer.alloc(10 * million)]),
          }),
        Buffer.alloc(1000),
      ),
  },
  ...structures().flatMap(changed),
];

/** Real documents with changed parts, others than those of `test/fuzz/documents`. */
function changed(structure: Structure): Bomb[] {
  return Array.from({ length: changesEach }, (_, index) => ({
    name: `changed ${index + 1}: ${structure.key}`,
    contentType: 'application/octet-stream',
    make: () => fc.sample(mutantsOf(structure), { seed: firstSeed + index, numRuns: 1 })[0]!.bytes,
  }));
}
