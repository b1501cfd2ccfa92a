import { readFileSync } from 'node:fs';
import { chooseFormat } from './choose-format';
import { parseDocument } from './parse-document';
import { blocksOf } from './test/blocks-of';

async function plainTextOf(bytes: Buffer, key: string): Promise<string | undefined> {
  const source = { bytes, contentType: 'application/octet-stream', key };
  const { plainText } = await chooseFormat(source);
  if (!plainText) return undefined;
  const texts: string[] = [];
  for await (const { type, text } of parseDocument(source, plainText)) {
    expect(type).toBe('paragraph');
    texts.push(text);
  }
  return texts.join('\n');
}

const fixture = (file: string) => readFileSync(`test/fixtures/documents/${file}`);
const wordsIn = (text: string) => new Set(text.match(/\p{Letter}{3,}/gu));

it.each([
  ...['boats.csv', 'tides.tsv', 'crew.json', 'events.jsonl', 'ferry.eml', 'guide.mdx', 'lighthouse.md'],
  ...['menu.html', 'tide.py', 'handmade.epub', 'libreoffice.docx', 'libreoffice.epub', 'libreoffice.odp'],
  ...['libreoffice.odt', 'libreoffice.pptx', 'python-docx.docx', 'python-pptx.pptx'],
])('extracts every word of %s that its reader finds', async (file) => {
  const blocks = await blocksOf(fixture(file), file);

  const plain = wordsIn((await plainTextOf(fixture(file), file))!);

  const read = wordsIn(blocks.map(({ text }) => text).join('\n'));
  expect([...read].filter((word) => !plain.has(word))).toEqual([]);
});

it.each([
  ['charts.xml', ['Beware of the sunken barge', 'Fjord of Bjørnvik', 'Depth < 2 m at low water']],
  ['openpyxl.xlsx', ['Hive', 'ruhig, süß', '蜂 🐝']],
  ['libreoffice.xlsx', ['Grüner Boskoop', 'ふじ 🍏']],
  ['libreoffice.ods', ['Grüner Boskoop', '12.5', 'ふじ 🍏']],
])('extracts the texts of %s', async (file, texts) => {
  const plain = await plainTextOf(fixture(file), file);

  for (const text of texts) expect(plain).toContain(text);
});

it.each(['handbook.pdf', 'libreoffice.rtf', 'harbour.txt'])('extracts no text of %s', async (file) => {
  expect(await plainTextOf(fixture(file), file)).toBeUndefined();
});

it.each([
  ['<p>One<b>two</b> &amp; &#x41;&#66;&unknown;</p><br>three', 'Onetwo & AB&unknown;\nthree'],
  ['<script>if (a < b) "</p>"</script>a<!-- no > --><style>p {}</STYLE>b<![CDATA[<c>]]>', 'a\nb<c>'],
  ['a < b <', 'a < b <'],
  ['<p>a<script src="b"/>c<br/>d</p>', 'a\nc\nd'],
  ['a<script>never ends', 'a'],
  ['&#x110000;&#1114112;&#9999999;ok', 'ok'],
])('removes tags of the markup %j', async (markup, text) => {
  expect(await plainTextOf(Buffer.from(markup), 'a.html')).toBe(text);
});

it.each(['<', '<!--', '<script>', '<a ', '&#', '<![CDATA['])(
  'extracts the text of a page of a million %j',
  async (part) => {
    expect(await plainTextOf(Buffer.from(`word${part.repeat(1_000_000)}`), 'a.html')).toContain('word');
  },
);
