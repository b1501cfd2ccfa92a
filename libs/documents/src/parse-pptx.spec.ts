import { parsePptx } from './parse-pptx';
import { zipOfTexts } from './test/zip-of';

const type = 'http://schemas.openxmlformats.org/officeDocument/2006/relationships';

interface Slide {
  shapes: string;
  notes?: string;
  diagram?: string;
  /** More parts by the ids of their relations. */
  parts?: Record<string, [type: string, content: string]>;
}

function pptx(slides: Slide[], authors: Record<string, string> = {}): Buffer {
  const tree = (shapes: string) => `<p:cSld><p:spTree>${shapes}</p:spTree></p:cSld>`;
  const relation = (id: string, kind: string, target: string) =>
    `<Relationship Id="${id}" Type="${type}/${kind}" Target="${target}"/>`;
  const parts = slides.flatMap(({ shapes, notes, diagram, parts: more = {} }, i): [string, string][] => [
    [`ppt/slides/slide${i}.xml`, `<p:sld>${tree(shapes)}</p:sld>`],
    [
      `ppt/slides/_rels/slide${i}.xml.rels`,
      `<Relationships>${notes === undefined ? '' : relation('n', 'notesSlide', `../notes/n${i}.xml`)}
        ${relation('d', 'diagramData', `../diagrams/d${i}.xml`)}
        ${Object.entries(more)
          .map(([id, [kind]]) => relation(id, kind, `../more/${i}${id}.xml`))
          .join('')}</Relationships>`,
    ],
    ...Object.entries(more).map(([id, [, content]]): [string, string] => [`ppt/more/${i}${id}.xml`, content]),
    [`ppt/notes/n${i}.xml`, `<p:notes>${tree(notes ?? '')}</p:notes>`],
    [`ppt/diagrams/d${i}.xml`, `<dgm:dataModel>${diagram ?? ''}</dgm:dataModel>`],
  ]);
  const ids = slides.map((_, i) => `<p:sldId id="${256 + i}" r:id="s${i}"/>`).toReversed();
  const relations = [
    ...slides.map((_, i) => relation(`s${i}`, 'slide', `slides/slide${i}.xml`)),
    ...Object.keys(authors).map((kind) => relation(kind, kind, `${kind}.xml`)),
  ];
  return zipOfTexts({
    'ppt/presentation.xml': `<p:presentation><p:sldIdLst>${ids.join('')}</p:sldIdLst></p:presentation>`,
    'ppt/_rels/presentation.xml.rels': `<Relationships>${relations.join('')}</Relationships>`,
    ...Object.fromEntries(parts),
    ...Object.fromEntries(Object.entries(authors).map(([kind, content]) => [`ppt/${kind}.xml`, content])),
  });
}

const readSlide = (slide: Slide) => parsePptx(pptx([slide]));
const p = (text: string, properties = '') => `<a:p>${properties}<a:r><a:t>${text}</a:t></a:r></a:p>`;
const shape = (placeholder: string, ...paragraphs: string[]) =>
  `<p:sp><p:nvSpPr><p:nvPr>${placeholder}</p:nvPr></p:nvSpPr><p:txBody>${paragraphs.join('')}</p:txBody></p:sp>`;
const content = '<p:ph idx="1"/>';

it('maps each slide to a page in presentation order', async () => {
  const slides = ['one', 'two'].map((text) => ({ shapes: shape('', p(text)) }));

  expect(await parsePptx(pptx(slides))).toEqual([
    { type: 'paragraph', text: 'two', pageNumber: 1 },
    { type: 'paragraph', text: 'one', pageNumber: 2 },
  ]);
});

it('writes the title first and the notes last, at any position on the slide', async () => {
  const blocks = await readSlide({
    shapes: shape('', p('body')) + shape('<p:ph type="ctrTitle"/>', p('The'), p('title')),
    notes: shape('<p:ph type="sldImg"/>', p('picture')) + shape('<p:ph type="body" idx="1"/>', p('first'), p('second')),
  });

  expect(blocks.map(({ type, text }) => [type, text])).toEqual([
    ['title', 'The title'],
    ['paragraph', 'body'],
    ['paragraph', 'first'],
    ['paragraph', 'second'],
  ]);
});

it('writes slide content as a list with its levels and numbers', async () => {
  const numbered = (level: number) => `<a:pPr lvl="${level}"><a:buAutoNum type="arabicPeriod" startAt="3"/></a:pPr>`;
  const shapes = shape(
    content,
    p('a'),
    p('b', numbered(1)),
    p('c', numbered(1)),
    p('d'),
    p('e', numbered(1)),
    p('plain', '<a:pPr><a:buNone/></a:pPr>'),
    p('f'),
  );

  expect((await readSlide({ shapes })).map(({ type, text }) => [type, text])).toEqual([
    ['list', '- a\n  3. b\n  4. c\n- d\n  3. e'],
    ['paragraph', 'plain'],
    ['list', '- f'],
  ]);
});

it('reads groups, the first of several alternatives, line breaks and fields', async () => {
  const lines = '<a:p><a:r><a:t>a</a:t></a:r><a:br/><a:fld type="datetime"><a:t>2025</a:t></a:fld></a:p>';
  const alternatives = `<mc:AlternateContent><mc:Choice>${shape('', p('b'))}</mc:Choice><mc:Fallback>${shape('', p('c'))}</mc:Fallback></mc:AlternateContent>`;

  const blocks = await readSlide({
    shapes: `<p:grpSp><p:grpSp>${shape('', lines)}</p:grpSp></p:grpSp>${alternatives}`,
  });

  expect(blocks.map(({ text }) => text)).toEqual(['a\n2025', 'b']);
});

it('reads formulas once, in one line', async () => {
  const r = (text: string) => `<m:r><a:rPr i="1"/><m:t>${text}</m:t></m:r>`;
  const power = `<m:sSup><m:e>${r('c')}</m:e><m:sup>${r('2')}</m:sup></m:sSup>`;
  const sum = `<m:nary><m:naryPr><m:chr m:val="∑"/></m:naryPr><m:sub/><m:sup/><m:e>${r('x')}</m:e></m:nary>`;
  const half = `<m:f><m:num>${r('1')}</m:num><m:den>${r('2')}</m:den></m:f>`;
  const formula = (...parts: string[]) =>
    `<a14:m><m:oMathPara><m:oMath>${parts.join('')}</m:oMath></m:oMathPara></a14:m>`;
  const run = (text: string) => `<a:r><a:t>${text}</a:t></a:r>`;
  const forms = `<mc:AlternateContent><mc:Choice Requires="a14">${formula(half, r('kg'))}${run(' of it')}</mc:Choice>
    <mc:Fallback>${run('1/2 kg of it')}</mc:Fallback></mc:AlternateContent>`;
  const old = `<mc:AlternateContent><mc:Fallback>${run('old')}</mc:Fallback></mc:AlternateContent>`;

  const paragraphs = [
    `${run('Energy is ')}${formula(r('E=m'), power)}${run('.')}`,
    `${run('And ')}${forms}`,
    `${formula(sum)}<a:br/>${old}`,
  ];
  const blocks = await readSlide({ shapes: shape('', ...paragraphs.map((inside) => `<a:p>${inside}</a:p>`)) });

  expect(blocks.map(({ text }) => text)).toEqual(['Energy is E=mc^2.', 'And 1/2kg of it', 'x\nold']);
});

it('leaves out dates and numbers of slides, and reads a footer once', async () => {
  const repeated = ['dt', 'ftr', 'sldNum'].map((kind) => shape(`<p:ph type="${kind}"/>`, p(kind)));
  const slide = { shapes: repeated.join('') + shape('', p('own')) };

  expect(await parsePptx(pptx([slide, slide]))).toEqual([
    { type: 'paragraph', text: 'ftr', pageNumber: 1 },
    { type: 'paragraph', text: 'own', pageNumber: 1 },
    { type: 'paragraph', text: 'own', pageNumber: 2 },
  ]);
});

it('reads charts, and alternative texts of pictures that are not decorative', async () => {
  const picture = (properties: string) => `<p:pic><p:nvPicPr>${properties}</p:nvPicPr></p:pic>`;
  const shapes =
    picture('<p:cNvPr descr="Two cranes"/>') +
    picture('<p:cNvPr descr="Line"><a:ext><adec:decorative val="1"/></a:ext></p:cNvPr>') +
    picture('<p:cNvPr descr="C:\\\\quay.jpg"/>') +
    picture('<p:cNvPr descr=" " title="A lighthouse"/>') +
    '<p:graphicFrame><c:chart r:id="c"/></p:graphicFrame>';

  const chart = '<c:chart><c:title><a:t>Landed</a:t></c:title></c:chart>';

  expect((await readSlide({ shapes, parts: { c: ['chart', chart] } })).map(({ text }) => text)).toEqual([
    'Two cranes',
    'A lighthouse',
    'Landed',
  ]);
});

it.each([
  ['arabicPeriod', '1. x'],
  ['arabicParenR', '1) x'],
  ['alphaLcParenBoth', '(a) x'],
  ['alphaUcPeriod', 'A. x'],
  ['romanLcPeriod', 'i. x'],
  ['arabicPlain', '1 x'],
])('writes the automatic number %s as it is printed', async (type, text) => {
  expect(
    (await readSlide({ shapes: shape('', p('x', `<a:pPr><a:buAutoNum type="${type}"/></a:pPr>`)) }))[0]!.text,
  ).toBe(text);
});

it('reads older and newer comments and replies with their authors', async () => {
  const body = (text: string) => `<p:txBody>${p(text)}</p:txBody>`;
  const older = '<p:cmLst><p:cm authorId="0"><p:text>Too long</p:text></p:cm></p:cmLst>';
  const newer = `<p:cmLst><p:cm authorId="{B}">${body('Cut it')}<p:replyLst><p:reply authorId="0">${body('Done')}</p:reply></p:replyLst></p:cm></p:cmLst>`;

  const blocks = await parsePptx(
    pptx([{ shapes: shape('', p('own')), parts: { o: ['comments', older], n: ['comments', newer] } }], {
      commentAuthors: '<p:cmAuthorLst><p:cmAuthor id="0" name="Ann"/></p:cmAuthorLst>',
      authors: '<p:authorLst><p:author id="{B}" name="Bea"/></p:authorLst>',
    }),
  );

  expect(blocks.map(({ text }) => text)).toEqual([
    'own',
    'Comment by Ann: Too long',
    'Comment by Bea: Cut it',
    'Comment by Ann: Done',
  ]);
});

it.each([
  ['firstRow="1"', 1],
  ['', 0],
])('reads a table with %j and %d header lines', async (properties, headerLines) => {
  const row = (...cells: string[]) =>
    `<a:tr>${cells.map((cell) => `<a:tc><a:txBody>${p(cell)}</a:txBody></a:tc>`).join('')}</a:tr>`;
  const table = `<a:tbl><a:tblPr ${properties}/>${row('a', 'b')}${row('c', 'd')}</a:tbl>`;
  const shapes = `<p:graphicFrame><a:graphic><a:graphicData>${table}</a:graphicData></a:graphic></p:graphicFrame>`;

  expect(await readSlide({ shapes })).toMatchObject([{ type: 'table', text: 'a | b\nc | d', headerLines }]);
});

it('reads the texts of SmartArt', async () => {
  const shapes =
    '<p:graphicFrame><a:graphic><a:graphicData><dgm:relIds r:dm="d"/></a:graphicData></a:graphic></p:graphicFrame>';
  const diagram = ['Plan', 'Do'].map((text) => `<dgm:pt><dgm:t>${p(text)}</dgm:t></dgm:pt>`).join('');

  expect(await readSlide({ shapes, diagram })).toMatchObject([{ type: 'list', text: '- Plan\n- Do' }]);
});

it('refuses a presentation without one of its slides, and other Office documents', async () => {
  const whole = pptx([{ shapes: '' }]);
  const lacking = Buffer.from(whole.toString('latin1').replaceAll('slides/slide0.xml', 'slides/slide9.xml'), 'latin1');

  await expect(parsePptx(whole)).resolves.toEqual([]);
  await expect(parsePptx(lacking)).rejects.toThrow(/damaged/);
  await expect(parsePptx(zipOfTexts({ 'ppt/presentation.xml': '<a/>' }))).rejects.toThrow(
    /not the declared PowerPoint/,
  );
});

it.each([
  ['-3', '- one'],
  ['1.5', '  - one'],
  ['1e308', `${'  '.repeat(8)}- one`],
  ['x', '- one'],
])('reads a list item on the level "%s"', async (level, item) => {
  const shapes = shape(content, p('one', `<a:pPr lvl="${level}"/>`));

  expect((await readSlide({ shapes })).map(({ text }) => text)).toEqual([item]);
});

it('counts from 1 when a numbered list begins with something else than a number', async () => {
  const shapes = shape('', p('one', '<a:pPr><a:buAutoNum startAt="x"/></a:pPr>'));

  expect((await readSlide({ shapes })).map(({ text }) => text)).toEqual(['1. one']);
});
