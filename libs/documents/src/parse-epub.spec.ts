import { parseEpub } from './parse-epub';
import { zipOfTexts } from './test/zip-of';

interface Book {
  chapters: Record<string, string | Buffer>;
  spine?: string[];
  others?: Record<string, string>;
}

function epub({ chapters, spine = Object.keys(chapters), others = {} }: Book): Buffer {
  const names = Object.keys(chapters);
  const items = names.map(
    (name, i) => `<item id="i${i}" href="${encodeURI(name)}" media-type="application/xhtml+xml"/>`,
  );
  const references = spine.map((name) => `<itemref idref="i${names.indexOf(name)}"/>`);
  return zipOfTexts({
    'META-INF/container.xml': '<container><rootfiles><rootfile full-path="in/book.opf"/></rootfiles></container>',
    'in/book.opf': `<package><metadata><dc:title>The book</dc:title></metadata>
      <manifest>${items.join('')}</manifest><spine>${references.join('')}</spine></package>`,
    ...Object.fromEntries(names.map((name) => [`in/${name}`, chapters[name]!])),
    ...others,
  });
}

const page = (body: string) => `<html><head><title>The book</title></head><body>${body}</body></html>`;
const read = async (book: Book) => (await parseEpub(epub(book))).map(({ text }) => text);

it('reads the chapters in the order of the spine', async () => {
  const chapters = { 'b.xhtml': page('<h1>B</h1>'), 'ä c.xhtml': page('<h1>C</h1>'), 'a.xhtml': page('<h1>A</h1>') };

  expect(await read({ chapters, spine: ['a.xhtml', 'b.xhtml', 'ä c.xhtml'] })).toEqual(['A', 'B', 'C']);
});

it('skips chapters that are missing from the archive', async () => {
  const item = (id: string) => `<item id="${id}" href="${id}.xhtml" media-type="application/xhtml+xml"/>`;
  const listing = `<package><manifest>${item('a')}${item('b')}</manifest>
    <spine><itemref idref="a"/><itemref idref="b"/></spine></package>`;

  expect(await read({ chapters: { 'b.xhtml': page('<h1>B</h1>') }, others: { 'in/book.opf': listing } })).toEqual([
    'B',
  ]);
});

it('writes the title of the book once, not before each chapter without a heading', async () => {
  const chapters = { 'a.xhtml': page('<p>one</p>'), 'b.xhtml': page('<p>two</p>') };

  expect(await read({ chapters })).toEqual(['The book', 'one', 'two']);
});

it('decodes chapters in their declared encoding', async () => {
  const start = '<?xml version="1.0" encoding="windows-1251"?><h1>';
  const chapter = Buffer.concat([Buffer.from(start), Buffer.from([0xcc, 0xe8, 0xf0])]);

  expect(await read({ chapters: { 'a.xhtml': chapter } })).toEqual(['Мир']);
});

it('reads a book of 200,000 paragraphs in one chapter', async () => {
  expect(await read({ chapters: { 'a.xhtml': page(`<h1>A</h1>${'<p>p</p>'.repeat(200_000)}`) } })).toHaveLength(
    200_001,
  );
});

it('refuses encrypted chapters and allows encrypted fonts', async () => {
  const encryption = (part: string) => ({
    'META-INF/encryption.xml': `<encryption><EncryptedData><CipherData><CipherReference URI="${part}"/></CipherData></EncryptedData></encryption>`,
  });
  const chapters = { 'a b.xhtml': page('<h1>A</h1>') };

  expect(await read({ chapters, others: encryption('in/font.otf') })).toEqual(['A']);
  await expect(read({ chapters, others: encryption('in/a%20b.xhtml') })).rejects.toThrow(/DRM/);
});

it.each<[string, Buffer, RegExp]>([
  ['an archive that is no book', zipOfTexts({ 'a.txt': 'x' }), /lacks its part META-INF\/container\.xml/],
  ['a book without contents', zipOfTexts({ 'META-INF/container.xml': '<container/>' }), /names no package document/],
  ['a book that lacks its chapters', lacking(), /lacks the chapter in\/a\.xhtml/],
])('refuses as an EPUB file %s', async (_, bytes, reason) => {
  await expect(parseEpub(bytes)).rejects.toMatchObject({
    name: 'UnreadableDocument',
    message: expect.stringMatching(reason),
  });
});

function lacking(): Buffer {
  const book =
    '<package><manifest><item id="a" href="a.xhtml" media-type="text/html"/></manifest><spine><itemref idref="a"/></spine></package>';
  return epub({ chapters: {}, others: { 'in/book.opf': book } });
}
