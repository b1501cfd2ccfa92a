import { parseOdf } from './parse-odf';
import { zipOfTexts } from './test/zip-of';

function odf(kind: string, body: string, { styles = '', others = {} } = {}): Buffer {
  return zipOfTexts({
    'content.xml': `<office:document-content><office:automatic-styles>${styles}</office:automatic-styles>
      <office:body><office:${kind}>${body}</office:${kind}></office:body></office:document-content>`,
    ...others,
  });
}

const readText = (body: string, styles = '') => parseOdf(odf('text', body, { styles }));
const readSheets = (body: string) => parseOdf(odf('spreadsheet', body));
const p = (text: string, style = '') => `<text:p text:style-name="${style}">${text}</text:p>`;
const note = (citation: string, ...paragraphs: string[]) =>
  `<text:note><text:note-citation>${citation}</text:note-citation><text:note-body>${paragraphs.join('')}</text:note-body></text:note>`;
const list = (style: string, ...items: string[]) =>
  `<text:list text:style-name="${style}">${items.map((item) => `<text:list-item>${item}</text:list-item>`).join('')}</text:list>`;

describe('a text', () => {
  it('resolves inherited styles of a text', async () => {
    const styles = `<style:style style:name="P1" style:parent-style-name="P2"/><style:style style:name="P2" style:parent-style-name="Title"/>
      <style:style style:name="L" style:parent-style-name="M"/><style:style style:name="M" style:parent-style-name="L"/>`;

    expect(await readText(p('T', 'P1') + p('S', 'Subtitle') + p('x', 'L'), styles)).toEqual([
      { type: 'title', level: 1, text: 'T' },
      { type: 'subtitle', level: 2, text: 'S' },
      { type: 'paragraph', text: 'x' },
    ]);
  });

  it('keeps explicit spaces, tabs and line breaks of a text, and collapses others', async () => {
    const body = p(
      'a\n  b<text:s text:c="3"/>c<text:tab/>d<text:line-break/><text:span>e <text:a>f</text:a></text:span>',
    );

    expect(await readText(body)).toEqual([{ type: 'paragraph', text: 'a b   c\td\ne f' }]);
  });

  it.each(['-5', '-1e308', '0.5', 'x'])('keeps at most a space for a number of spaces that is "%s"', async (count) => {
    const [block] = await readText(p(`a<text:s text:c="${count}"/>b`));

    expect(block!.text).toMatch(/^a ?b$/);
  });

  it.each([
    ['1.5', 1],
    ['-7', 1],
    ['1e308', 6],
    ['x', 1],
  ])('gives a heading on the level "%s" the level %d', async (written, level) => {
    expect(await readText(`<text:h text:outline-level="${written}">H</text:h>`)).toMatchObject([{ text: 'H', level }]);
  });

  it('puts footnotes and text boxes after their paragraph', async () => {
    const box = `<draw:frame><draw:text-box>${p(`boxed${note('2', p('of the box'))}`)}</draw:text-box></draw:frame>`;
    const body = p(`a${note('1', p('first'), p('more'))} b${box} c`) + p('next');

    expect((await readText(body)).map(({ text }) => text)).toEqual([
      'a[1] b c',
      '[1] first',
      'more',
      'boxed[2]',
      '[2] of the box',
      'next',
    ]);
  });

  it('numbers lists by their style and start value, and continues numbering', async () => {
    const styles = `<text:list-style style:name="N"><text:list-level-style-number text:level="1" style:num-format="1" text:start-value="4"/>
      <text:list-level-style-bullet text:level="2"/></text:list-style>`;
    const more = list('N', p('d')).replace('<text:list ', '<text:list text:continue-numbering="true" ');
    const body = list('N', p('a') + list('', p('b')).replace(' text:style-name=""', ''), p('c')) + p('between') + more;

    expect(await readText(body, styles)).toEqual([
      { type: 'list', text: '4. a\n  - b\n5. c' },
      { type: 'paragraph', text: 'between' },
      { type: 'list', text: '6. d' },
    ]);
  });

  it('omits deleted text, and reads comments last', async () => {
    const body = `<text:tracked-changes>${p('deleted')}</text:tracked-changes>${p(`a<office:annotation>${p('comment')}</office:annotation>b`)}`;

    expect(await readText(body)).toEqual([
      { type: 'paragraph', text: 'ab' },
      { type: 'paragraph', text: 'Comment: comment' },
    ]);
  });

  it('says whose comment it is, and on what', async () => {
    const start = `<office:annotation office:name="n"><dc:creator>Ann</dc:creator><dc:date>2025</dc:date>${p('Why?')}</office:annotation>`;
    const body =
      p(`a ${start}quay`) + p('<text:span>is</text:span> closed<office:annotation-end office:name="n"/> now');

    expect((await readText(body)).at(-1)!.text).toBe('Comment by Ann on "quayis closed": Why?');
  });

  it('reads headers and footers of all kinds of pages once', async () => {
    const page = (header: string, footer: string) =>
      `<style:master-page><style:header>${p(header)}</style:header><style:footer>${p(footer)}</style:footer></style:master-page>`;
    const pages = page('Manual', 'Page <text:page-number>7</text:page-number>') + page('Manual', 'Approved');
    const others = {
      'styles.xml': `<office:document-styles><office:master-styles>${pages}</office:master-styles></office:document-styles>`,
    };

    expect((await parseOdf(odf('text', p('body'), { others }))).map(({ text }) => text)).toEqual([
      'Manual',
      'body',
      'Page',
      'Approved',
    ]);
  });

  it('numbers headings by the outline of the document', async () => {
    const level = (number: number, attributes: string) =>
      `<text:outline-level-style text:level="${number}" style:num-format="${number === 1 ? 'I' : '1'}" ${attributes}/>`;
    const outline = `<text:outline-style>${level(1, 'style:num-suffix="."')}${level(2, 'text:display-levels="2"')}</text:outline-style>`;
    const h = (number: number, text: string, more = '') =>
      `<text:h text:outline-level="${number}" ${more}>${text}</text:h>`;
    const body =
      h(1, 'A') + h(2, 'B') + h(2, 'C') + h(1, 'D') + h(2, 'E') + h(1, 'F', 'text:is-list-header="true"') + h(3, 'G');

    expect((await readText(body, outline)).map(({ text }) => text)).toEqual([
      'I. A',
      'I.1 B',
      'I.2 C',
      'II. D',
      'II.1 E',
      'F',
      'G',
    ]);
  });

  it('writes letters and numbers of levels above as a list prints them', async () => {
    const styles = `<text:list-style style:name="N"><text:list-level-style-number text:level="1" style:num-format="1" style:num-suffix="."/>
      <text:list-level-style-number text:level="2" style:num-format="a" style:num-prefix="(" style:num-suffix=")" text:display-levels="2"/></text:list-style>`;
    const inner = list('', p('b'), p('c')).replace(' text:style-name=""', '');

    expect(await readText(list('N', p('a') + inner), styles)).toEqual([
      { type: 'list', text: '1. a\n  (1.a) b\n  (1.b) c' },
    ]);
  });

  it('reads charts and alternative texts of drawings', async () => {
    const chart = `<chart:chart><chart:title>${p('Landed')}</chart:title><table:table><table:table-row><table:table-cell>${p('May')}</table:table-cell></table:table-row></table:table></chart:chart>`;
    const others = {
      'Object 1/content.xml': `<office:document-content><office:body><office:chart>${chart}</office:chart></office:body></office:document-content>`,
    };
    const frame = '<draw:frame><draw:object xlink:href="./Object 1"/><svg:desc>A quay</svg:desc></draw:frame>';
    const gone = '<draw:frame><draw:object xlink:href="./Object 2"/></draw:frame>';

    expect((await parseOdf(odf('text', p(`a${frame}${gone}`), { others }))).map(({ text }) => text)).toEqual([
      'a',
      'Landed',
      'May',
      'A quay',
    ]);
  });

  it('keeps every word of sections, indexes and nested tables', async () => {
    const cell = (content: string) =>
      `<table:table-row><table:table-cell>${content}</table:table-cell></table:table-row>`;
    const inner = `<table:table>${cell(p('inner'))}</table:table>`;
    const body = `<text:section>${p('section')}</text:section><text:table-of-content><text:index-body>${p('index')}</text:index-body></text:table-of-content>
      <table:table>${cell(p('outer') + inner)}</table:table>`;

    const words = (await readText(body)).flatMap(({ text }) => text.split(/[\s|]+/));
    expect(words.filter(Boolean)).toEqual(['section', 'index', 'outer', 'inner']);
  });
});

describe('a spreadsheet', () => {
  const cell = (text: string, attributes = '') =>
    `<table:table-cell ${attributes}><text:p>${text}</text:p></table:table-cell>`;
  const row = (cells: string, attributes = '') => `<table:table-row ${attributes}>${cells}</table:table-row>`;
  const sheet = (rows: string) => `<table:table table:name="S">${rows}</table:table>`;

  it('shows the values of date and number cells, and the displayed text of others', async () => {
    const cells =
      cell('1.3.25', 'office:value-type="date" office:date-value="2025-03-01T00:00:00"') +
      cell('1,50', 'office:value-type="float" office:value="1.5"') +
      cell('50 %', 'office:value-type="percentage" office:value="0.5"');

    expect((await readSheets(sheet(row(cells))))[1]).toMatchObject({ text: '2025-03-01 | 1.5 | 50 %' });
  });

  it('shows numbers as the sheet does where it says more than the value', async () => {
    const float = (value: string, shown: string) => cell(shown, `office:value-type="float" office:value="${value}"`);
    const cells = [
      ['42', '00042'],
      ['5', '5 kg'],
      ['1.25', '1 1/4'],
      ['0.30000000000000004', '0,3'],
      ['1234.5', '1.234,50'],
    ];

    expect((await readSheets(sheet(row(cells.map(([value, shown]) => float(value!, shown!)).join('')))))[1]!.text).toBe(
      '00042 | 5 kg | 1 1/4 | 0.3 | 1234.5',
    );
  });

  it('repeats merged cells, and reads comments, shapes and charts below the cells', async () => {
    const comment = `<office:annotation><dc:creator>Ann</dc:creator>${p('Why?')}</office:annotation>`;
    const rows =
      row(cell('Item') + cell('Costs', 'table:number-columns-spanned="2"') + '<table:covered-table-cell/>') +
      row(cell('') + cell('2025') + cell('2026').replace('>', `>${comment}`));
    const shapes = `<table:shapes><draw:custom-shape>${p('Fees double')}</draw:custom-shape></table:shapes>`;

    expect((await readSheets(sheet(shapes + rows))).slice(1).map(({ text }) => text)).toEqual([
      'Item | Costs | Costs\n| 2025 | 2026',
      'Fees double',
      'Comment by Ann on C2: Why?',
    ]);
  });

  it('expands repeated cells and rows of a spreadsheet, and skips empty ones that fill the sheet', async () => {
    const rows =
      row(cell('a', 'table:number-columns-repeated="2"'), 'table:number-rows-repeated="2"') +
      row('<table:table-cell table:number-columns-repeated="16384"/>', 'table:number-rows-repeated="1048000"') +
      row('<table:table-cell table:number-columns-repeated="16383"/>' + cell('z'));

    expect((await readSheets(sheet(rows)))[1]).toMatchObject({ text: 'a | a |\na | a |\n|  | z', headerLines: 1 });
  });

  it('refuses repetitions in a spreadsheet that exceed the limits', async () => {
    const rows = row(cell('a', 'table:number-columns-repeated="99999999"'), 'table:number-rows-repeated="99999999"');

    await expect(readSheets(sheet(rows))).rejects.toThrow(/10 million cells/);
  });
});

it('reads the notes of slides, but not the fields around them', async () => {
  const frame = (text: string, kind = '') =>
    `<draw:frame ${kind && `presentation:class="${kind}"`}><draw:text-box>${p(text)}</draw:text-box></draw:frame>`;
  const notes = ['', 'notes', 'header', 'page-number'].map((kind) => frame(`note ${kind}`, kind));
  const page = `<draw:page>${frame('Knots', 'title')}${frame('text')}<presentation:notes>${notes.join('')}</presentation:notes></draw:page>`;

  expect((await parseOdf(odf('presentation', page))).map(({ text }) => text)).toEqual([
    'Knots',
    'text',
    'note',
    'note notes',
  ]);
});

it.each<[string, Buffer, RegExp]>([
  ['an archive without contents', zipOfTexts({ mimetype: 'x' }), /lacks its part content\.xml/],
  ['a drawing', odf('drawing', '<draw:page/>'), /contains no text, spreadsheet or presentation/],
  [
    'a text with a password',
    odf('text', p('a'), {
      others: { 'META-INF/manifest.xml': '<m:manifest><m:file-entry><m:encryption-data/></m:file-entry></m:manifest>' },
    }),
    /protected with a password/,
  ],
])('refuses as an ODF file %s', async (_, bytes, reason) => {
  await expect(parseOdf(bytes)).rejects.toMatchObject({
    name: 'UnreadableDocument',
    message: expect.stringMatching(reason),
  });
});
