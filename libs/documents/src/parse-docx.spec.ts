import { deepestNesting } from './limits';
import { parseDocx } from './parse-docx';
import { zipOfTexts } from './test/zip-of';

const types = 'http://schemas.openxmlformats.org/package/2006/content-types';
const relationships = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';
const namespaces =
  'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main" ' +
  'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006" xmlns:v="urn:schemas-microsoft-com:vml" ' +
  'xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math"';

function docx(body: string, others: Record<string, string> = {}): Buffer {
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
