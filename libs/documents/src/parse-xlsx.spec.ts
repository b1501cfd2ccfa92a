import { formatOf, numberText } from './excel-number';
import { mostTextCharacters } from './limits';
import { parseXlsx } from './parse-xlsx';
import { zipOfTexts } from './test/zip-of';

/** Parts by the type of their relation. */
type Related = Record<string, string>;

interface Workbook {
  sheets: { name: string; data: string; state?: string; merges?: string[]; margins?: string; related?: Related }[];
  related?: Related;
  strings?: string;
  styles?: string;
  properties?: string;
}

function workbook({ sheets, strings = '', styles = '', properties = '', related = {} }: Workbook): Buffer {
  const type = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';
  const names = sheets.map(({ name, state = 'visible' }, i) => `<sheet name="${name}" state="${state}" r:id="s${i}"/>`);
  const relations = sheets.map(
    (_, i) => `<Relationship Id="s${i}" Type="${type}/worksheet" Target="sheets/${i}.xml"/>`,
  );
  const relationsTo = (types: Related, folder: string) =>
    Object.keys(types).map(
      (kind) => `<Relationship Id="${kind}" Type="${type}/${kind}" Target="/xl/${folder}/${kind}.xml"/>`,
    );
  const parts = (types: Related, folder: string) =>
    Object.entries(types).map(([kind, content]): [string, string] => [`xl/${folder}/${kind}.xml`, content]);
  return zipOfTexts({
    'xl/workbook.xml': `<workbook xmlns:r="${type}">${properties}<sheets>${names.join('')}</sheets></workbook>`,
    'xl/_rels/workbook.xml.rels': `<Relationships>${[...relations, ...relationsTo(related, 'w')].join('')}
      <Relationship Id="a" Type="${type}/sharedStrings" Target="/xl/strings.xml"/>
      <Relationship Id="b" Type="${type}/styles" Target="styles.xml"/></Relationships>`,
    'xl/strings.xml': `<sst>${strings}</sst>`,
    'xl/styles.xml': `<styleSheet>${styles}</styleSheet>`,
    ...Object.fromEntries(
      sheets.flatMap(({ data, merges = [], margins = '', related: own = {} }, i) => [
        [
          `xl/sheets/${i}.xml`,
          `<worksheet><sheetData>${data}</sheetData><mergeCells>${merges.map((ref) => `<mergeCell ref="${ref}"/>`).join('')}</mergeCells><headerFooter>${margins}</headerFooter></worksheet>`,
        ],
        [`xl/sheets/_rels/${i}.xml.rels`, `<Relationships>${relationsTo(own, `${i}`).join('')}</Relationships>`],
        ...parts(own, `${i}`),
      ]),
    ),
    ...Object.fromEntries(parts(related, 'w')),
    'xl/0/_rels/drawing.xml.rels': `<Relationships><Relationship Id="c" Type="${type}/chart" Target="/xl/chart.xml"/></Relationships>`,
    'xl/chart.xml': '<c:chart><c:title><a:t>Landed</a:t></c:title></c:chart>',
  });
}

const read = (content: Workbook) => parseXlsx(workbook(content));
const readSheet = async (data: string, others: Partial<Workbook> = {}) =>
  (await read({ sheets: [{ name: 'S', data }], ...others }))[1]?.text;
const text = (reference: string, value: string) => `<c r="${reference}" t="inlineStr"><is><t>${value}</t></is></c>`;

it('writes a title and a table for each sheet in tab order, including hidden sheets', async () => {
  const blocks = await read({
    sheets: [
      { name: 'One', data: `<row>${text('A1', 'a')}</row>` },
      { name: 'Empty', data: '<row r="1"><c r="A1"/></row>' },
      { name: 'Two', data: `<row>${text('A1', 'b')}</row>`, state: 'veryHidden' },
    ],
  });

  expect(blocks).toEqual([
    { type: 'title', level: 1, text: 'One' },
    { type: 'table', headerLines: 1, text: 'a' },
    { type: 'title', level: 1, text: 'Two' },
    { type: 'table', headerLines: 1, text: 'b' },
  ]);
});

it('leaves out empty rows and columns, and keeps other empty cells', async () => {
  const data = `<row r="1"><c r="A1" s="1"/></row><row r="3">${text('B3', 'x')}${text('D3', 'y')}</row>
    <row r="9">${text('D9', 'z')}</row>`;

  expect(await readSheet(data)).toBe('x | y\n| z');
});

it('places cells without an address after the previous cell', async () => {
  const data = '<row><c><v>1</v></c><c r="D1"><v>2</v></c><c><v>3</v></c></row><row><c r="E2"><v>4</v></c></row>';

  expect(await readSheet(data)).toBe('1 | 2 | 3\n|  | 4');
});

it('joins rich text without phonetic runs', async () => {
  const strings =
    '<si><r><t>東</t></r><r><t xml:space="preserve">京 x</t></r><rPh><t>トウキョウ</t></rPh></si><si><t>b_x0041_</t></si>';

  expect(
    await readSheet('<row><c t="s"><v>0</v></c><c t="s"><v>1</v></c><c t="s"><v>9</v></c></row>', { strings }),
  ).toBe('東京 x | bA');
});

it('reads cached formula values, booleans and errors, and formulas without a value', async () => {
  const data = `<row><c><f>A1+1</f><v>3</v></c><c t="str"><f>T()</f><v>calculated</v></c><c t="b"><v>1</v></c>
    <c t="e"><v>#DIV/0!</v></c><c><f>B1</f></c></row>`;

  expect(await readSheet(data)).toBe('3 | calculated | TRUE | #DIV/0! | =B1');
});

it('formats dates by the number format of their cell', async () => {
  const styles = `<numFmts><numFmt numFmtId="200" formatCode="[$-407]d. mmmm yyyy;@"/></numFmts>
    <cellXfs><xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="22"/><xf numFmtId="200"/></cellXfs>`;
  const data = [0, 1, 2, 3].map((style) => `<c s="${style}"><v>45000.5</v></c>`).join('');
  const from1904 = '<workbookPr date1904="1"/>';

  expect(await readSheet(`<row>${data}</row>`, { styles })).toBe(
    '45000.5 | 2023-03-15T12:00:00 | 2023-03-15T12:00:00 | 2023-03-15T12:00:00',
  );
  expect(await readSheet('<row><c s="1"><v>43538</v></c></row>', { styles, properties: from1904 })).toBe('2023-03-15');
});

it.each([
  ['1', '1900-01-01'],
  ['59', '1900-02-28'],
  ['61', '1900-03-01'],
  ['25569', '1970-01-01'],
  ['2958465', '9999-12-31'],
  ['2958466', '2958466'],
  ['-1', '-1'],
  ['0.999999999', '1900-01-01'],
  ['NaN', 'NaN'],
])('reads the date %s as %s', (value, date) => {
  expect(numberText(value, formatOf('yyyy-mm-dd'), { from1904: false })).toBe(date);
});

it.each([
  ['General', '0.30000000000000004', '0.3'],
  ['General', '19.990000000000002', '19.99'],
  ['General', '12345678901234', '12345678901234'],
  ['0.0%', '0.475', '47.5%'],
  ['0%', '0.07', '7%'],
  ['00000', '42', '00042'],
  ['000\\-00', '12345', '123-45'],
  ['0 "kg"', '5', '5 kg'],
  ['"No. "0', '7', 'No. 7'],
  ['#,##0.00\\ "€"', '1234.5', '1,234.50 €'],
  ['#,##0.00 [$€-407]', '1234.5', '1,234.50 €'],
  ['[$-409]#,##0', '1234.5', '1,235'],
  ['# ?/?', '1.25', '1 1/4'],
  ['# ??/??', '0.3333', '1/3'],
  ['0.00E+00', '12345', '1.23E+04'],
  ['#,##0;[Red](#,##0)', '-1234', '(1,234)'],
  ['0;-0;"none"', '0', 'none'],
  ['[>=100]"high";"low"', '150', 'high'],
  ['#,##0,,"M"', '5000000', '5M'],
  ['_-* #,##0.00\\ _€_-', '12.5', '12.50'],
  ['0.00_d', '3', '3.00'],
  ['@', '12', '12'],
  [';;;', '5', ''],
  ['[h]:mm', '1.1', '26:24'],
  ['[mm]:ss', '0.1', '144:00'],
  ['mm:ss', '0.1', '24:00'],
  ['h:mm AM/PM', '0.6', '14:24:00'],
  ['hh:mm', '1.5', '12:00:00'],
  ['yyyy\\-mm\\-dd', '45000', '2023-03-15'],
  ['dd/mm/yyyy\\ hh:mm', '45000.5', '2023-03-15T12:00:00'],
  ['[$-411]ggge"年"m"月"d"日"', '45000', '2023-03-15'],
  ['mmm\\ yy', '45000', 'Mar 23'],
  ['[$-407]mmmm yyyy', '45000', 'März 2023'],
  ['dddd', '45000', 'Wednesday'],
  ['yyyy', '45000', '2023'],
  ['0[[', '5', '5'],
  ['0'.repeat(256), '5', '5'],
])('writes a number with the format %s as the sheet shows it', (code, value, text) => {
  expect(numberText(value, formatOf(code), { from1904: false })).toBe(text);
});

it('removes binary rounding digits from numbers', async () => {
  expect(await readSheet('<row><c><v>1.1000000000000001</v></c><c><v>1E-3</v></c></row>')).toBe('1.1 | 0.001');
});

it('reads a single cell at the far end of the sheet', async () => {
  expect(
    await readSheet(`<row r="1">${text('A1', 'first')}</row><row r="1048576">${text('XFD1048576', 'last')}</row>`),
  ).toBe('first |\n| last');
});

it('omits empty cells of a sheet that is mostly empty', async () => {
  const rows = Array.from(
    { length: 2_000 },
    (_, i) => `<row><c r="${columnName(i + 1)}${i + 1}"><v>${i}</v></c></row>`,
  );

  expect((await readSheet(rows.join('')))?.split('\n')).toEqual(Array.from({ length: 2_000 }, (_, i) => `${i}`));
});

it('refuses too much text from shared strings', async () => {
  const strings = `<si><t>${'long '.repeat(200_000)}</t></si>`;
  const rows = '<row><c t="s"><v>0</v></c></row>'.repeat(mostTextCharacters / 1_000_000 + 1);

  await expect(readSheet(rows, { strings })).rejects.toThrow(/more than 200 million characters/);
});

describe('merged cells', () => {
  const readMerged = async (merges: string[], ...rows: string[][]) => {
    const data = rows.map(
      (cells, y) =>
        `<row r="${y + 1}">${cells.map((value, x) => (value ? text(`${columnName(x + 1)}${y + 1}`, value) : '')).join('')}</row>`,
    );
    return (await read({ sheets: [{ name: 'S', data: data.join(''), merges }] }))[1]?.text;
  };

  it('repeats a merged header over its columns, and a merged label in its rows', async () => {
    const rows = [
      ['Item', 'Direct costs', ''],
      ['', '2025', '2026'],
      ['Rope', '10', '12'],
      ['', '11', '13'],
    ];

    expect(await readMerged(['B1:C1', 'A1:A2', 'A3:A4'], ...rows)).toBe(
      'Item | Direct costs | Direct costs\nItem | 2025 | 2026\nRope | 10 | 12\nRope | 11 | 13',
    );
  });

  it('does not repeat a title over a whole table, nor widen the table', async () => {
    const rows = [
      ['Costs', '', '', ''],
      ['a', 'b', 'c', 'd'],
      ['e', 'f', 'g', 'h'],
    ];

    expect(await readMerged(['A1:D1', 'D3:ZZ900', 'B2', 'x:y', 'A7:B9'], ...rows)).toBe(
      'Costs |  |  |\na | b | c | d\ne | f | g | h',
    );
  });

  it('bounds the cells that merges fill', async () => {
    const data = Array.from(
      { length: 3_000 },
      (_, i) => `<row>${text('A1', 'x')}${i === 0 ? text('ALL1', 'y') : ''}</row>`,
    );
    const merges = Array.from({ length: 20_000 }, () => 'A1:XFD1048576');

    const [, table] = await read({ sheets: [{ name: 'S', data: data.join(''), merges }] });

    expect(table!.text.split('\n')).toHaveLength(3_000);
  });
});

it('formats numbers and texts by built-in formats and by those of the workbook', async () => {
  const styles = `<numFmts><numFmt numFmtId="164" formatCode="00000"/><numFmt numFmtId="165" formatCode="&quot;No. &quot;@"/></numFmts>
    <cellXfs>${[10, 4, 12, 11, 164, 165, 46, 37].map((id) => `<xf numFmtId="${id}"/>`).join('')}</cellXfs>`;
  const number = (style: number, value: string) => `<c s="${style}"><v>${value}</v></c>`;
  const data = [
    ...[number(0, '0.475'), number(1, '1234.5'), number(2, '1.25'), number(3, '12345'), number(4, '42')],
    '<c s="5" t="inlineStr"><is><t>seven</t></is></c>',
    ...[number(6, '1.1'), number(7, '-1234')],
  ];

  expect(await readSheet(`<row>${data.join('')}</row>`, { styles })).toBe(
    '47.50% | 1,234.50 | 1 1/4 | 1.23E+04 | 00042 | No. seven | 26:24:00 | (1,234)',
  );
});

it('shifts dates that are not whole to the first day of the workbook', async () => {
  const styles = `<numFmts><numFmt numFmtId="164" formatCode="mmm yyyy"/></numFmts><cellXfs><xf numFmtId="164"/></cellXfs>`;
  const sheets = [{ name: 'S', data: '<row><c s="0"><v>43538</v></c></row>' }];

  expect((await read({ sheets, styles, properties: '<workbookPr date1904="1"/>' }))[1]!.text).toBe('Mar 2023');
});

it('reads text boxes, alternative texts and charts below the cells of their sheet', async () => {
  const anchor = (content: string) => `<xdr:twoCellAnchor>${content}</xdr:twoCellAnchor>`;
  const box = (content: string) =>
    `<xdr:sp><xdr:txBody><a:p><a:r><a:t>${content}</a:t></a:r></a:p></xdr:txBody></xdr:sp>`;
  const drawing =
    anchor(box('Fees double')) +
    anchor(`<xdr:grpSp>${box('in a group')}</xdr:grpSp>`) +
    anchor('<xdr:pic><xdr:nvPicPr><xdr:cNvPr descr="A crane"/></xdr:nvPicPr></xdr:pic>') +
    anchor('<xdr:graphicFrame><c:chart r:id="c"/></xdr:graphicFrame>') +
    anchor(
      `<mc:AlternateContent><mc:Choice>${box('either')}</mc:Choice><mc:Fallback>${box('either')}</mc:Fallback></mc:AlternateContent>`,
    );
  const related = { drawing: `<xdr:wsDr>${drawing}</xdr:wsDr>` };

  expect((await read({ sheets: [{ name: 'S', data: '', related }] })).map((block) => block.text)).toEqual([
    'S',
    'Fees double',
    'in a group',
    'A crane',
    'Landed',
    'either',
  ]);
});

it('reads shapes of a sheet from the upper left', async () => {
  const shape = (row: number, column: number, content: string) =>
    `<anchor><from><col>${column}</col><row>${row}</row></from><sp><txBody><p><r><t>${content}</t></r></p></txBody></sp></anchor>`;
  const related = { drawing: `<wsDr>${shape(9, 0, 'below')}${shape(2, 4, 'right')}${shape(2, 1, 'left')}</wsDr>` };

  const blocks = await read({ sheets: [{ name: 'S', data: '', related }] });

  expect(blocks.map((block) => block.text)).toEqual(['S', 'left', 'right', 'below']);
});

it('reads headers and footers of sheets once, without the fields that a program fills in', async () => {
  const margins =
    '<oddHeader>&amp;L&amp;"Arial,Bold"&amp;12&amp;K01+034Dues&amp;Bof Marlow&amp;RPage &amp;P of &amp;N</oddHeader>' +
    '<oddFooter>&amp;C&amp;A &amp;D&amp;RRope &amp;&amp; Sons, page &amp;P</oddFooter>';
  const data = `<row>${text('A1', 'a')}</row>`;

  const blocks = await read({ sheets: ['One', 'Two'].map((name) => ({ name, data, margins })) });

  expect(blocks.map((block) => block.text)).toEqual(['One', 'a', 'Dues of Marlow', 'Rope & Sons, page', 'Two', 'a']);
});

it('reads notes and threaded comments with their authors and cells, each once', async () => {
  const note = (ref: string, author: number, content: string) =>
    `<comment ref="${ref}" authorId="${author}"><text><r><t>${content}</t></r></text></comment>`;
  const related = {
    comments: `<comments><authors><author>Ann</author><author>tc={1}</author></authors><commentList>
      ${note('B2', 0, 'Ann:\nReserved')}${note('C3', 1, 'Your version of Excel')}</commentList></comments>`,
    threadedComment:
      '<ThreadedComments><threadedComment ref="C3" personId="{P}"><text>Why?</text></threadedComment>' +
      '<threadedComment ref="C3" personId="{Q}"><text>Because.</text></threadedComment></ThreadedComments>',
  };
  const sheets = [{ name: 'S', data: `<row>${text('A1', 'a')}</row>`, related }];
  const person = '<personList><person id="{P}" displayName="Bea"/></personList>';

  expect((await read({ sheets, related: { person } })).map((block) => block.text)).toEqual([
    'S',
    'a',
    'Comment by Ann on B2: Reserved',
    'Comment by Bea on C3: Why?',
    'Comment on C3: Because.',
  ]);
});

it('refuses other Office documents', async () => {
  const word = zipOfTexts({ 'xl/workbook.xml': '<document/>' });

  await expect(parseXlsx(word)).rejects.toThrow(/not the declared Excel workbook/);
});

function columnName(column: number): string {
  const letter = String.fromCharCode(65 + ((column - 1) % 26));
  return column > 26 ? columnName(Math.floor((column - 1) / 26)) + letter : letter;
}
