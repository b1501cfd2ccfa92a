import { deepestNesting } from './limits';
import { parseDocx } from './parse-docx';
import { zipOfTexts } from './test/zip-of';

const types = 'http://schemas.openxmlformats.org/package/2006/content-types';
const relationships = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';
const namespaces =
  'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main" ' +
  'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006" xmlns:v="urn:schemas-microsoft-com:vml" ' +
  'xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math"';

function docx(body: string, others: Record<string, string | Buffer> = {}): Buffer {
  return zipOfTexts({
    '[Content_Types].xml': `<Types xmlns="${types}"><Default Extension="xml" ContentType="application/xml"/></Types>`,
    '_rels/.rels': `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">
      <Relationship Id="r1" Type="${relationships}/officeDocument" Target="word/document.xml"/></Relationships>`,
    'word/document.xml': `<w:document ${namespaces}><w:body>${body}</w:body></w:document>`,
    ...others,
  });
}

const read = (body: string, others?: Record<string, string>) => parseDocx(docx(body, others));
const run = (text: string) => `<w:r><w:t xml:space="preserve">${text}</w:t></w:r>`;
const paragraph = (text: string, properties = '') => `<w:p><w:pPr>${properties}</w:pPr>${run(text)}</w:p>`;
const style = (id: string, name: string) =>
  `<w:style w:type="paragraph" w:styleId="${id}"><w:name w:val="${name}"/></w:style>`;
const styles = (...all: string[]) => ({ 'word/styles.xml': `<w:styles ${namespaces}>${all.join('')}</w:styles>` });

it('maps titles, quotations and code by their styles', async () => {
  const named = styles(
    style('A', 'Title'),
    style('B', 'Subtitle'),
    style('C', 'Quote'),
    style('D', 'HTML Preformatted'),
  );
  const body = ['A', 'B', 'C', 'C', 'D', 'D'].map((id, i) => paragraph(`p${i}`, `<w:pStyle w:val="${id}"/>`)).join('');

  expect(await read(body, named)).toEqual([
    { type: 'title', level: 1, text: 'p0' },
    { type: 'subtitle', level: 2, text: 'p1' },
    { type: 'blockquote', text: 'p2\np3' },
    { type: 'code', text: 'p4\np5' },
  ]);
});

it('nests lists nine levels deep', async () => {
  const levels = Array.from({ length: 9 }, (_, i) => i);
  const numbering = levels.map(
    (i) => `<w:lvl w:ilvl="${i}"><w:numFmt w:val="${i % 2 ? 'decimal' : 'bullet'}"/></w:lvl>`,
  );
  const items = levels.map((i) =>
    paragraph(`level ${i}`, `<w:numPr><w:ilvl w:val="${i}"/><w:numId w:val="1"/></w:numPr>`),
  );

  const blocks = await read(items.join(''), {
    'word/numbering.xml': `<w:numbering ${namespaces}><w:abstractNum w:abstractNumId="0">${numbering.join('')}</w:abstractNum>
      <w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num></w:numbering>`,
  });

  const lines = levels.map((i) => `${'  '.repeat(i)}${i % 2 ? '1. ' : '- '}level ${i}`);
  expect(blocks).toEqual([{ type: 'list', text: lines.join('\n') }]);
});

it.each([
  ['a field', `<w:fldSimple w:instr="DATE">${run('May')}</w:fldSimple>`, 'May'],
  ['another direction', `<w:dir w:val="rtl"><w:bdo w:val="ltr">${run('a')}</w:bdo>${run(' b')}</w:dir>`, 'a b'],
  [
    'ruby without what is written above it',
    `<w:r><w:ruby><w:rubyPr><w:hps/></w:rubyPr><w:rt>${run('kana')}</w:rt><w:rubyBase>${run('KANJI')}</w:rubyBase></w:ruby></w:r>`,
    'KANJI',
  ],
  [
    'a formula',
    '<m:oMathPara><m:oMath><m:r><w:rPr/><m:t>E=m</m:t></m:r><m:sSup><m:e><m:r><m:t>c</m:t></m:r></m:e>' +
      '<m:sup><m:r><m:t>2 &lt; 3</m:t></m:r></m:sup></m:sSup></m:oMath></m:oMathPara>',
    'E=mc^2 < 3',
  ],
  ['a line that a carriage return ends', '<w:r><w:t>x</w:t><w:cr/><w:t>y</w:t></w:r>', 'x\ny'],
])('reads the text of %s', async (_, content, text) => {
  expect(await read(`<w:p>${run('[')}${content}${run(']')}</w:p>`)).toEqual([{ type: 'paragraph', text: `[${text}]` }]);
});

describe('the first row of a table', () => {
  const row = (text: string, properties = '') => `<w:tr>${properties}<w:tc>${paragraph(text)}</w:tc></w:tr>`;
  const table = (look: string, first = '') =>
    `<w:tbl><w:tblPr><w:tblLook ${look}/></w:tblPr>${row('Name', first)}${row('Ann')}</w:tbl>`;

  it.each([
    ['by its attribute', 'w:firstRow="1" w:val="0000"', ''],
    ['by its bit', 'w:val="04A0"', ''],
    ['with properties of its own', 'w:val="0020"', '<w:tblPrEx><w:jc/></w:tblPrEx><w:trPr><w:cantSplit/></w:trPr>'],
    ['once', 'w:val="0020"', '<w:trPr><w:tblHeader/></w:trPr>'],
  ])('reads the first row of a table as a header when it is formatted as one %s', async (_, look, first) => {
    expect(await read(table(look, first))).toEqual([{ type: 'table', headerLines: 1, text: 'Name\nAnn' }]);
  });

  it.each(['w:firstRow="0" w:val="04A0"', 'w:val="0480"', ''])(
    'does not read the first row as a header with the table look %s',
    async (look) => {
      expect(await read(table(look))).toEqual([{ type: 'table', headerLines: 0, text: 'Name\nAnn' }]);
    },
  );

  it('omits a deleted first row of a table', async () => {
    const deleted = table('w:val="0020"', '<w:trPr><w:del/></w:trPr>');

    expect((await read(deleted)).map(({ text }) => text)).toEqual(['Ann']);
  });

  it('does not read the first row as a header of a nested table', async () => {
    const inner = table('w:val="0480"');
    const outer = table('w:val="0020"').replace('</w:tc>', `${inner}<w:p/></w:tc>`);

    expect(await read(outer)).toContainEqual({ type: 'table', headerLines: 0, text: 'Name\nAnn' });
  });

  it('does not read the first row as a header when no other row follows', async () => {
    const single = table('w:val="0020"').replace(row('Ann'), '');

    expect(await read(single)).toEqual([{ type: 'table', headerLines: 0, text: 'Name' }]);
  });
});

it('treats styles derived from heading styles as headings', async () => {
  const based = (id: string, name: string, base: string) =>
    style(id, name).replace('</w:style>', `<w:basedOn w:val="${base}"/></w:style>`);
  const named = styles(
    based('A', "Clause's \\ name", 'H2'),
    based('B', 'Sub clause', 'A'),
    style('H2', 'heading 2'),
    based('S', 'Subtitle', 'H3'),
    style('H3', 'heading 3'),
    based('X', 'Circle', 'Y'),
    based('Y', 'Circle too', 'X'),
    based('N', 'Indented', 'Gone'),
  );
  const body = ['A', 'B', 'S', 'X', 'N'].map((id) => paragraph(id, `<w:pStyle w:val="${id}"/>`)).join('');

  expect(await read(body, named)).toEqual([
    { type: 'subtitle', level: 2, text: 'A' },
    { type: 'subtitle', level: 2, text: 'B' },
    { type: 'subtitle', level: 2, text: 'S' },
    { type: 'paragraph', text: 'X' },
    { type: 'paragraph', text: 'N' },
  ]);
});

it('leaves out hidden text', async () => {
  const hidden = (value: string) => `<w:r><w:rPr><w:vanish${value}/></w:rPr><w:t>${value || 'gone'}</w:t></w:r>`;
  const body = `<w:p>${run('Seen')}${hidden('')}${hidden(' w:val="0"')}</w:p><w:p>${hidden(' w:val="true"')}</w:p>`;

  expect((await read(body)).map(({ text }) => text)).toEqual(['Seen w:val="0"']);
});

it('drops deleted text and keeps inserted text of tracked changes', async () => {
  const body = `<w:p>${run('kept')}<w:del>${run('gone')}<w:r><w:delText>gone too</w:delText></w:r></w:del><w:ins>${run(' new')}</w:ins></w:p>`;

  expect(await read(body)).toEqual([{ type: 'paragraph', text: 'kept new' }]);
});

describe('a text box', () => {
  const content = (text: string) => `<w:txbxContent>${paragraph(text)}</w:txbxContent>`;
  const shape = (text: string) => `<wps:wsp><wps:txbx>${content(text)}</wps:txbx><wps:bodyPr/></wps:wsp>`;
  const drawing = (...texts: string[]) =>
    `<w:drawing><wp:anchor xmlns:wp="http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing">
    <wp:positionH><wp:posOffset>123</wp:posOffset></wp:positionH><wp:docPr descr="A box"/><a:graphic xmlns:a="urn:a"><a:graphicData>
    <wpg:wgp xmlns:wpg="urn:wpg" xmlns:wps="urn:wps">${texts.map(shape).join('')}</wpg:wgp></a:graphicData></a:graphic></wp:anchor></w:drawing>`;
  const picture = (text: string, kind = 'shape') =>
    `<w:pict><v:${kind}><v:fill/><v:textbox>${content(text)}</v:textbox></v:${kind}></w:pict>`;
  const choice = (inside: string) => `<mc:Choice Requires="wps">${inside}</mc:Choice>`;
  const fallback = (inside: string) => `<mc:Fallback>${inside}</mc:Fallback>`;
  const alternatives = (...all: string[]) => `<mc:AlternateContent>${all.join('')}</mc:AlternateContent>`;
  const readAround = async (inside: string) =>
    (await read(`<w:p>${run('Around')}<w:r>${inside}</w:r>${run(' it')}</w:p>${paragraph('After')}`)).map(
      ({ text }) => text,
    );

  it.each([
    ['in a drawing', drawing('In the box')],
    ['in a drawing of which there is no other form', alternatives(choice(drawing('In the box')))],
    ['in both forms', alternatives(choice(drawing('In the box')), fallback(picture('In the box')))],
    ['in the older form alone', alternatives(choice('<w:drawing/>'), fallback(picture('In the box')))],
    ['in the second form', alternatives(choice(''), choice(drawing('In the box')), fallback(picture('In the box')))],
    [
      'in alternatives inside of a drawing',
      drawing('In the box').replace(/<wps:wsp>.*<\/wps:wsp>/s, (box) => alternatives(choice(box), fallback(box))),
    ],
    ...['rect', 'roundrect', 'group', 'oval', 'line', 'polyline', 'curve', 'arc', 'image'].map((kind) => [
      `in v:${kind}`,
      alternatives(fallback(picture('In the box', kind))),
    ]),
  ])('reads a text box %s once, after its paragraph', async (_, inside) => {
    expect(await readAround(inside)).toEqual(['Around it', 'In the box', 'After']);
  });

  it('reads a text box together with sibling and nested text boxes of the same drawing', async () => {
    const inner = `</w:t></w:r><w:r>${alternatives(choice(drawing('inner')), fallback(picture('inner')))}</w:r><w:r><w:t>`;
    const forms = alternatives(choice(drawing('one', `two${inner}`)), fallback(picture('one')));

    expect(await readAround(forms)).toEqual(['Around it', 'one', 'two', 'inner', 'After']);
  });

  it('separates a table in a text box from the surrounding table', async () => {
    const row = (cell: string) => `<w:tr><w:tc>${cell}</w:tc></w:tr>`;
    const table = (...cells: string[]) =>
      `<w:tbl><w:tblPr><w:tblLook w:val="0020"/></w:tblPr>${cells.map(row).join('')}</w:tbl>`;
    const box = drawing('').replace(/<w:p>.*<\/w:p>/s, `${table(paragraph('a'), paragraph('b'))}<w:p/>`);

    const blocks = await read(table(`<w:p><w:r>${box}</w:r></w:p>`, paragraph('c')));

    expect(blocks).toContainEqual({ type: 'table', headerLines: 1, text: 'a\nb' });
    expect(
      blocks
        .map(({ text }) => text)
        .join()
        .match(/\w/g),
    ).toEqual(['a', 'b', 'c']);
  });
});

it('reads the fallback of alternatives without a text box, and a single alternative', async () => {
  const emoji = `<mc:AlternateContent><mc:Choice Requires="w16se"><w16se:symEx w16se:char="1F600"/></mc:Choice>
    <mc:Fallback><w:t>:-)</w:t></mc:Fallback></mc:AlternateContent>`;
  const only = '<mc:AlternateContent><mc:Choice Requires="w14"><w:t> indeed</w:t></mc:Choice></mc:AlternateContent>';

  expect(await read(`<w:p><w:r>${emoji}${only}</w:r></w:p>`)).toEqual([{ type: 'paragraph', text: ':-) indeed' }]);
});

it('writes the alternative text of pictures without reading the picture files', async () => {
  const picture = `<w:p><w:r><w:drawing><wp:inline xmlns:wp="http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing">
    <wp:docPr descr="A red barn"/><a:graphic xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"><a:graphicData>
    <pic:pic xmlns:pic="http://schemas.openxmlformats.org/drawingml/2006/picture"><pic:blipFill>
    <a:blip xmlns:r="${relationships}" r:embed="r9"/></pic:blipFill></pic:pic></a:graphicData></a:graphic></wp:inline></w:drawing></w:r></w:p>`;

  const blocks = await read(picture, {
    'word/_rels/document.xml.rels': `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">
      <Relationship Id="r9" Type="${relationships}/image" Target="gone.png"/></Relationships>`,
  });

  expect(blocks).toEqual([{ type: 'paragraph', text: 'A red barn' }]);
});

describe('a reference that leads nowhere', () => {
  const numbered = paragraph('item', '<w:numPr><w:ilvl w:val="0"/><w:numId w:val="1"/></w:numPr>');
  const numbering = (...parts: string[]) => ({
    'word/numbering.xml': `<w:numbering ${namespaces}>${parts.join('')}</w:numbering>`,
  });
  const linked = (style: string) =>
    numbering(
      `<w:abstractNum w:abstractNumId="0"><w:numStyleLink w:val="${style}"/></w:abstractNum>`,
      '<w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num>',
    );

  it.each(['footnote', 'endnote'])('omits a reference to a %s that does not exist', async (kind) => {
    const body = `<w:p>${run('text')}<w:r><w:${kind}Reference w:id="7"/></w:r></w:p>`;

    const blocks = await read(body);

    expect(blocks.map(({ text }) => text)).toEqual([expect.stringMatching(/^text/)]);
  });

  it.each([
    ['numbering without a definition', numbering('<w:num w:numId="1"/>')],
    ['a missing style of a numbering', linked('none')],
    [
      'a style of a numbering within another style',
      {
        ...styles('<w:style w:styleId="A"><w:style w:type="numbering" w:styleId="B"/></w:style>'),
        ...linked('B'),
      },
    ],
    [
      'a style of a numbering that is no style of Word',
      {
        'word/styles.xml':
          '<w:styles xmlns:w="http://example.com"><w:style w:type="numbering" w:styleId="B"/></w:styles>',
        ...linked('B'),
      },
    ],
  ])('keeps the text despite a broken reference because of %s', async (_case, others) => {
    expect(await read(numbered, others)).toEqual([{ type: 'paragraph', text: 'item' }]);
  });
});

it('reads a text that contains elements', async () => {
  expect(await read(`<w:p><w:r><w:t>a<w:b/>b<w:t>c</w:t></w:t></w:r></w:p>`)).toEqual([
    { type: 'paragraph', text: 'abc' },
  ]);
});

it('reads nested tables up to the limit of XML nesting', async () => {
  const depth = Math.floor(deepestNesting / 4) - 2;
  const nested = '<w:tbl><w:tr><w:tc>'.repeat(depth) + paragraph('core') + '</w:tc></w:tr></w:tbl>'.repeat(depth);

  expect((await read(nested)).map(({ text }) => text)).toEqual(['core']);
});

it.each<[string, Buffer, RegExp]>([
  ['an archive without a document', zipOfTexts({ 'a.txt': 'x' }), /damaged.*main document/],
  ['a document of a million elements in one another', docx('<w:p>'.repeat(1_000_000)), /nested more than 256/],
  ['a document whose XML is cut', docx('<w:p>'), /damaged.*well-formed/],
  ['a page that calls itself Word', Buffer.from('<html>x</html>'), /not a complete document: save it as Word/],
])('refuses as a DOCX file %s', async (_, bytes, reason) => {
  await expect(parseDocx(bytes)).rejects.toMatchObject({
    name: 'UnreadableDocument',
    message: expect.stringMatching(reason),
  });
});

/** Document whose main part has relations: id to type and target. */
function related(
  body: string,
  targets: Record<string, [type: string, target: string]>,
  others: Record<string, string | Buffer>,
) {
  const all = Object.entries(targets).map(
    ([id, [type, target]]) => `<Relationship Id="${id}" Type="${relationships}/${type}" Target="${target}"/>`,
  );
  return docx(body, { 'word/_rels/document.xml.rels': `<Relationships>${all.join('')}</Relationships>`, ...others });
}

describe('numbers as printed', () => {
  const level = (index: number, format: string, text: string, more = '') =>
    `<w:lvl w:ilvl="${index}"><w:start w:val="1"/><w:numFmt w:val="${format}"/>${more}<w:lvlText w:val="${text}"/></w:lvl>`;
  const numbering = (levels: string, nums = '<w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num>') => ({
    'word/numbering.xml': `<w:numbering ${namespaces}><w:abstractNum w:abstractNumId="0">${levels}</w:abstractNum>${nums}</w:numbering>`,
  });
  const numPr = (depth: number, id = 1) => `<w:numPr><w:ilvl w:val="${depth}"/><w:numId w:val="${id}"/></w:numPr>`;
  const heading = (n: number, text: string) => paragraph(text, `<w:pStyle w:val="H${n}"/>`);
  const numberedStyle = (n: number, name: string) =>
    style(`H${n}`, name).replace('</w:style>', `<w:pPr><w:numPr><w:numId w:val="1"/></w:numPr></w:pPr></w:style>`);
  const clauses = numbering(
    level(0, 'decimal', '%1', '<w:pStyle w:val="H1"/>') +
      level(1, 'decimal', '%1.%2', '<w:pStyle w:val="H2"/>') +
      level(2, 'lowerLetter', '(%3)') +
      level(3, 'lowerRoman', '%4)'),
  );
  const linked = { ...styles(numberedStyle(1, 'heading 1'), numberedStyle(2, 'heading 2')), ...clauses };

  it('writes the numbers of headings that their styles link to a level', async () => {
    const body =
      heading(1, 'Mooring') + heading(1, 'Fees') + heading(2, 'Boats') + heading(2, 'Barges') + heading(1, 'End');

    expect((await read(body, linked)).map(({ text }) => text)).toEqual([
      '1 Mooring',
      '2 Fees',
      '2.1 Boats',
      '2.2 Barges',
      '3 End',
    ]);
  });

  it('writes letters and roman numbers of items, which restart below each heading', async () => {
    const items =
      paragraph('a', numPr(2)) + paragraph('b', numPr(2)) + paragraph('c', numPr(3)) + paragraph('d', numPr(3));
    const body = heading(1, 'One') + items + heading(1, 'Two') + paragraph('e', numPr(2));

    expect((await read(body, linked)).map(({ text }) => text)).toEqual([
      '1 One',
      '(a) a\n(b) b\n  i) c\n  ii) d',
      '2 Two',
      '(a) e',
    ]);
  });

  it('goes on counting after other paragraphs, and starts anew where a numbering says so', async () => {
    const nums =
      '<w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num><w:num w:numId="2"><w:abstractNumId w:val="0"/>' +
      '<w:lvlOverride w:ilvl="0"><w:startOverride w:val="7"/></w:lvlOverride></w:num>';
    const items = [
      paragraph('a', numPr(0)),
      paragraph('between'),
      paragraph('b', numPr(0)),
      paragraph('c', numPr(0, 2)),
    ];
    const body = [...items, paragraph('d', numPr(0, 2))].join('');

    expect((await read(body, numbering(level(0, 'decimal', '%1.'), nums))).map(({ text }) => text)).toEqual([
      '1. a',
      'between',
      '2. b\n7. c\n8. d',
    ]);
  });

  it.each([
    ['upperRoman', 'Article %1', 'Article I'],
    ['upperLetter', '%1.', 'A.'],
    ['decimalZero', '%1', '01'],
    ['ordinal', '%1', '1st'],
    ['cardinalText', 'Part %1', 'Part One'],
    ['chineseCounting', '第%1条', '第一条'],
    ['russianLower', '%1)', 'а)'],
    ['constructor', '%1', '1'],
  ])('writes the number format %s with the text %j as %j', async (format, text, printed) => {
    expect(await read(paragraph('x', numPr(0)), numbering(level(0, format, text)))).toEqual([
      { type: 'list', text: `${printed} x` },
    ]);
  });

  it('writes decimal numbers of all levels for legal numbering', async () => {
    const levels = level(0, 'upperRoman', '%1.') + level(1, 'decimal', '%1.%2', '<w:isLgl/>');

    expect(await read(paragraph('a', numPr(0)) + paragraph('b', numPr(1)), numbering(levels))).toEqual([
      { type: 'list', text: 'I. a\n  1.1 b' },
    ]);
  });

  it('restarts a level only where its numbering says so', async () => {
    const levels = level(0, 'decimal', '%1.') + level(1, 'lowerLetter', '%2)', '<w:lvlRestart w:val="0"/>');
    const body = [0, 1, 0, 1].map((depth) => paragraph('x', numPr(depth))).join('');

    expect(await read(body, numbering(levels))).toEqual([{ type: 'list', text: '1. x\n  a) x\n2. x\n  b) x' }]);
  });

  it('removes the number of a style where the paragraph says so', async () => {
    const body =
      paragraph('Preface', '<w:pStyle w:val="H1"/><w:numPr><w:numId w:val="0"/></w:numPr>') + heading(1, 'One');

    expect((await read(body, linked)).map(({ text }) => text)).toEqual(['Preface', '1 One']);
  });

  it('follows numberings that link to each other in a circle', async () => {
    const circle = (id: string, other: string) =>
      `<w:style w:type="numbering" w:styleId="${id}"><w:name w:val="${id}"/><w:pPr><w:numPr><w:numId w:val="${other}"/></w:numPr></w:pPr></w:style>`;
    const schemes = ['A', 'B'].map(
      (id, i) => `<w:abstractNum w:abstractNumId="${i}"><w:numStyleLink w:val="${id}"/></w:abstractNum>`,
    );
    const nums = [0, 1].map((i) => `<w:num w:numId="${i + 1}"><w:abstractNumId w:val="${i}"/></w:num>`);

    expect(
      await read(paragraph('item', numPr(0)), {
        ...styles(circle('A', '2'), circle('B', '1')),
        'word/numbering.xml': `<w:numbering ${namespaces}>${schemes.join('')}${nums.join('')}</w:numbering>`,
      }),
    ).toEqual([{ type: 'paragraph', text: 'item' }]);
  });
});

describe('headers and footers', () => {
  const margin = (kind: string, content: string) => `<w:${kind} ${namespaces}>${content}</w:${kind}>`;

  it('reads the headers and footers of all sections once, headers first', async () => {
    const bytes = related(
      paragraph('body'),
      { a: ['header', 'h1.xml'], b: ['header', 'h2.xml'], c: ['footer', 'f1.xml'], d: ['header', 'gone.xml'] },
      {
        'word/h1.xml': margin('hdr', paragraph('Manual HB-7') + paragraph('Edition 3')),
        'word/h2.xml': margin('hdr', paragraph('Manual HB-7') + paragraph('Edition 4')),
        'word/f1.xml': margin('ftr', paragraph('Edition 3') + paragraph('Approved')),
      },
    );

    expect((await parseDocx(bytes)).map(({ text }) => text)).toEqual([
      'Manual HB-7',
      'Edition 3',
      'Edition 4',
      'body',
      'Approved',
    ]);
  });

  it('leaves out page numbers of a footer', async () => {
    const field = (name: string) =>
      `<w:r><w:fldChar w:fldCharType="begin"/></w:r><w:r><w:instrText> ${name} </w:instrText></w:r><w:r><w:fldChar w:fldCharType="separate"/></w:r>${run('17')}<w:r><w:fldChar w:fldCharType="end"/></w:r>`;
    const simple = `<w:fldSimple w:instr="PAGE">${run('18')}</w:fldSimple>`;
    const bytes = related(
      `<w:p>${field('PAGE')}</w:p>`,
      { a: ['footer', 'f.xml'] },
      {
        'word/f.xml': margin(
          'ftr',
          `<w:p>${run('HB-7 ')}${field('PAGE')}${field('NUMPAGES')}${simple}${field('TITLE')}</w:p>`,
        ),
      },
    );

    expect((await parseDocx(bytes)).map(({ text }) => text)).toEqual(['17', 'HB-7 17']);
  });
});

describe('comments', () => {
  const start = (id: number) => `<w:commentRangeStart w:id="${id}"/>`;
  const end = (id: number) => `<w:commentRangeEnd w:id="${id}"/><w:r><w:commentReference w:id="${id}"/></w:r>`;
  const comment = (id: number, author: string, content: string) =>
    `<w:comment w:id="${id}" w:author="${author}">${content}</w:comment>`;
  const comments = (...all: string[]) => ({
    'word/comments.xml': `<w:comments ${namespaces}>${all.join('')}</w:comments>`,
  });

  it('says whose comment it is, and on what', async () => {
    const body = `<w:p>${run('The quay ')}${start(0)}${run('is closed')}</w:p><w:p>${run(' at night')}${end(0)}${run('.')}</w:p>`;
    const all = comments(
      comment(0, 'Ann', paragraph('Winter') + paragraph('hours?')),
      comment(1, '', paragraph('No anchor')),
    );

    expect((await read(body, all)).slice(2)).toEqual([
      { type: 'paragraph', text: 'Comment by Ann on "is closed at night": Winter\nhours?' },
      { type: 'paragraph', text: 'Comment: No anchor' },
    ]);
  });

  it('cuts a long commented text, and leaves out empty comments', async () => {
    const body = `${start(0)}${paragraph('long '.repeat(1_000))}${end(0)}`;

    const [, block, ...others] = await read(
      body,
      comments(comment(0, 'Ann', paragraph('x')), comment(1, 'Bea', '<w:p/>')),
    );

    expect(block!.text).toMatch(/^Comment by Ann on "(?:long ){39}long…": x$/);
    expect(others).toEqual([]);
  });
});

describe('imported documents', () => {
  const chunk = (id: string) => `<w:altChunk r:id="${id}"/>`;
  const word = (text: string) => docx(paragraph(text));

  it.each<[string, string | Buffer]>([
    ['a.html', '<html><body><h1>Imported</h1><p>eel traps</p></body></html>'],
    ['a.xhtml', '<?xml version="1.0"?><html><body><h1>Imported</h1><p>eel traps</p></body></html>'],
    ['a.mht', 'MIME-Version: 1.0\r\nContent-Type: text/html; charset=utf-8\r\n\r\n<h1>Imported</h1><p>eel traps</p>'],
    ['a.txt', 'Imported\n\neel traps'],
    ['a.rtf', '{\\rtf1\\ansi Imported\\par\\pard eel traps\\par}'],
    ['a.docx', docx(paragraph('Imported') + paragraph('eel traps'))],
  ])('reads %s at its place', async (target, content) => {
    const body = paragraph('before') + chunk('a') + paragraph('after');

    const blocks = await parseDocx(related(body, { a: ['aFChunk', target] }, { [`word/${target}`]: content }));

    expect(blocks.map(({ text }) => text)).toEqual(['before', 'Imported', 'eel traps', 'after']);
  });

  it('reads an imported document once, and none that is missing', async () => {
    const body = chunk('a').repeat(1_000) + chunk('b') + chunk('c');

    const bytes = related(body, { a: ['aFChunk', 'a.txt'], b: ['aFChunk', 'gone.txt'] }, { 'word/a.txt': 'once' });

    expect(await parseDocx(bytes)).toEqual([{ type: 'paragraph', text: 'once' }]);
  });

  it('reads documents within documents to a limited depth', async () => {
    let bytes = word('level 5');
    for (let level = 4; level >= 0; level--) {
      bytes = related(paragraph(`level ${level}`) + chunk('a'), { a: ['aFChunk', 'a.docx'] }, { 'word/a.docx': bytes });
    }

    expect((await parseDocx(bytes)).map(({ text }) => text)).toEqual(['level 0', 'level 1', 'level 2', 'level 3']);
  });
});

it('reads charts, diagrams and alternative texts of drawings', async () => {
  const drawing = (content: string) =>
    `<w:p>${run('See')}<w:r><w:drawing><wp:inline>${content}</wp:inline></w:drawing></w:r></w:p>`;
  const bytes = related(
    drawing('<wp:docPr descr="Alone"/>') +
      drawing('<wp:docPr descr="quay.PNG"/>') +
      drawing('<wp:docPr descr="beside"/><c:chart r:id="c"/>') +
      drawing('<dgm:relIds r:dm="d"/>') +
      '<w:p><w:r><w:pict><v:shape><v:textpath string="DRAFT"/></v:shape></w:pict></w:r></w:p>',
    { c: ['chart', 'charts/c.xml'], d: ['diagramData', 'd.xml'] },
    {
      'word/charts/c.xml': '<c:chart><c:title><a:t>Landed</a:t></c:title></c:chart>',
      'word/d.xml': '<dgm:dataModel><dgm:t><a:p><a:r><a:t>node</a:t></a:r></a:p></dgm:t></dgm:dataModel>',
    },
  );

  expect((await parseDocx(bytes)).map(({ text }) => text)).toEqual([
    'See Alone',
    'See',
    'See',
    'Landed',
    'See',
    '- node',
    'DRAFT',
  ]);
});

it('reads symbols, hyphens and breaks within a line', async () => {
  const body = `<w:p><w:r><w:sym w:font="Symbol" w:char="F061"/><w:t>-rays</w:t><w:br w:type="page"/><w:t>re</w:t><w:softHyphen/><w:t>co\u00adver non</w:t><w:noBreakHyphen/><w:t>stop</w:t></w:r></w:p>`;

  expect(await read(body)).toEqual([{ type: 'paragraph', text: 'α-rays\nrecover non‑stop' }]);
});

it('joins a paragraph with the next one when its end is deleted', async () => {
  const body = `<w:p><w:pPr><w:rPr><w:del/></w:rPr></w:pPr>${run('one ')}</w:p>${paragraph('two')}`;

  expect(await read(body)).toEqual([{ type: 'paragraph', text: 'one two' }]);
});

it('leaves cells empty that merged cells cover', async () => {
  const cell = (text: string, properties = '') => `<w:tc><w:tcPr>${properties}</w:tcPr>${paragraph(text)}</w:tc>`;
  const rows = [
    cell('a', '<w:gridSpan w:val="2"/>') + cell('b', '<w:vMerge w:val="restart"/>'),
    cell('c') + cell('d') + cell('hidden', '<w:vMerge/>'),
  ].map((cells) => `<w:tr>${cells}</w:tr>`);

  expect(await read(`<w:tbl>${rows.join('')}</w:tbl>`)).toEqual([
    { type: 'table', headerLines: 0, text: 'a |  | b\nc | d |' },
  ]);
});

it('reads rows, cells and paragraphs within content controls', async () => {
  const control = (content: string) =>
    `<w:sdt><w:sdtPr><w:placeholder/></w:sdtPr><w:sdtContent>${content}</w:sdtContent></w:sdt>`;
  const table = `<w:tbl>${control(`<w:tr>${control(`<w:tc>${control(paragraph('cell'))}</w:tc>`)}</w:tr>`)}</w:tbl>`;

  expect((await read(control(paragraph('text')) + table)).map(({ text }) => text)).toEqual(['text', 'cell']);
});

it('refuses other Office documents that are declared as Word', async () => {
  const workbook = zipOfTexts({ 'word/document.xml': '<workbook/>' });

  await expect(parseDocx(workbook)).rejects.toThrow(/not the declared Word document/);
});
