import { readFileSync } from 'node:fs';
import type { Block } from './block';
import { chooseFormat } from './choose-format';
import { blocksOf } from './test/blocks-of';
import { compoundFileOf } from './test/compound-file-of';

const textsOf = async (content: Buffer | string, key: string) =>
  (await blocksOf(Buffer.from(content as Buffer), key)).map(({ text }: Block) => text);
const fixture = (name: string) => readFileSync(`test/fixtures/documents/${name}`);

it.each([
  ['report.doc', '<html><body><h1>Tides</h1><p>High at six.</p></body></html>', ['Tides', 'High at six.']],
  ['report.doc', String.raw`{\rtf1\ansi High at six.\par}`, ['High at six.']],
  [
    'report.doc',
    'MIME-Version: 1.0\r\nContent-Type: multipart/related; boundary="b"\r\n\r\n--b\r\nContent-Type: text/html\r\n\r\n<p>High at six.</p>\r\n--b--\r\n',
    ['High at six.'],
  ],
  ['table.xls', '<table><tr><td>Port</td><td>Tide</td></tr></table>', ['Port | Tide']],
  ['table.xls', 'Port\tTide\nMarlow\t6\n', ['Port | Tide\nMarlow | 6']],
  ['table.xls', Buffer.from('\uFEFFPort\tTide\nMärlow\t6\n', 'utf16le'), ['Port | Tide\nMärlow | 6']],
  [
    'letter.doc',
    `<?xml version="1.0"?><?mso-application progid="Word.Document"?><w:wordDocument xmlns:w="http://schemas.microsoft.com/office/word/2003/wordml"><w:styles><w:style w:type="paragraph" w:styleId="H"><w:name w:val="heading 2"/></w:style></w:styles><w:body><w:p><w:pPr><w:pStyle w:val="H"/></w:pPr><w:r><w:t>Fees</w:t></w:r></w:p><w:p><w:r><w:t>Forty.</w:t></w:r></w:p></w:body></w:wordDocument>`,
    ['Fees', 'Forty.'],
  ],
])('reads what programs save as %s (%.20s)', async (key, content, expected) => {
  expect(await textsOf(content, key)).toEqual(expected);
});

it('reads XML workbooks of Excel 2003 as the sheet shows them', async () => {
  const workbook = `<?xml version="1.0"?><?mso-application progid="Excel.Sheet"?><Workbook xmlns="urn:schemas-microsoft-com:office:spreadsheet" xmlns:ss="urn:schemas-microsoft-com:office:spreadsheet"><Styles><Style ss:ID="p"><NumberFormat ss:Format="Percent"/></Style><Style ss:ID="d"><NumberFormat ss:Format="Short Date"/></Style></Styles><Worksheet ss:Name="Tides"><Table><Row ss:Index="2"><Cell ss:MergeAcross="1"><Data ss:Type="String">Port</Data></Cell><Cell><Data ss:Type="String">When</Data></Cell></Row><Row><Cell ss:StyleID="p"><Data ss:Type="Number">0.125</Data></Cell><Cell><Data ss:Type="Boolean">1</Data><Comment ss:Author="Ann"><ss:Data>Sure?</ss:Data></Comment></Cell><Cell ss:StyleID="d"><Data ss:Type="DateTime">2025-09-21T00:00:00.000</Data></Cell></Row></Table></Worksheet></Workbook>`;

  expect(await textsOf(workbook, 'tides.xls')).toEqual([
    'Tides',
    'Port | Port | When\n12.50% | TRUE | 2025-09-21',
    'Comment by Ann on B3: Sure?',
  ]);
});

it.each([
  ['manual.doc', 'Word'],
  ['libreoffice.xls', 'Excel'],
  ['libreoffice.ppt', 'PowerPoint'],
  ['ferry.msg', 'Outlook message'],
])('finds out by content that %s is of %s', async (file, name) => {
  const format = await chooseFormat({ bytes: fixture(file), contentType: 'application/octet-stream', key: 'upload' });

  expect(format.name).toBe(name);
});

it('names the format of a document with the name of another', async () => {
  await expect(textsOf(fixture('libreoffice.xls'), 'list.doc')).rejects.toThrow(
    /declared as Word, but its content is Excel \(application\/vnd\.ms-excel\)/,
  );
});

it.each(['doc', 'xls', 'ppt', 'docx', 'xlsx', 'pptx'])('says that an encrypted .%s is protected', async (extension) => {
  const encrypted = compoundFileOf({ EncryptionInfo: Buffer.from('a'), EncryptedPackage: Buffer.from('b') });

  await expect(textsOf(encrypted, `secret.${extension}`)).rejects.toThrow(/protected with a password/);
});

it('says that encrypted documents of the old formats are protected', async () => {
  const word = Buffer.alloc(1_000);
  word.writeUInt16LE(0xc1, 2);
  word.writeUInt16LE(0x100, 10);
  const excel = Buffer.from('0908100000060500000000000000000000000000' + '2f000400000000', 'hex');
  const user = Buffer.alloc(40);
  user.writeUInt32LE(0xf3d1c4df, 12);

  await expect(textsOf(compoundFileOf({ WordDocument: word }), 'a.doc')).rejects.toThrow(/protected with a password/);
  await expect(textsOf(compoundFileOf({ Workbook: excel }), 'a.xls')).rejects.toThrow(/protected with a password/);
  await expect(
    textsOf(compoundFileOf({ 'Current User': user, 'PowerPoint Document': Buffer.alloc(9) }), 'a.ppt'),
  ).rejects.toThrow(/protected with a password/);
});

it('names formats that are too old, with the remedy', async () => {
  const word6 = Buffer.alloc(1_000);
  word6.writeUInt16LE(0x65, 2);

  await expect(textsOf(compoundFileOf({ WordDocument: word6 }), 'a.doc')).rejects.toThrow(
    'The document has the format of Word 95 or older: save it as Word document (.docx), and upload that.',
  );
  await expect(textsOf(compoundFileOf({ 'PowerPoint Document': Buffer.alloc(99) }), 'a.ppt')).rejects.toThrow(
    /PowerPoint 95 or older.*save it as PowerPoint presentation \(\.pptx\)/,
  );
  await expect(textsOf(Buffer.from('0902060000000100ff00', 'hex'), 'a.xls')).rejects.toThrow(/Excel 4 or older/);
});
