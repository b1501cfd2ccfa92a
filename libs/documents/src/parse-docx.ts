import { convertToHtml, images } from 'mammoth';
import { type Block } from './block';
import { knownStyles, type KnownStyles, rewritten } from './docx-parts';
import { parseHtml } from './parse-html';
import { Archive, damaged } from './zip';

/** Style map for list levels 6 to 9: mammoth maps only the first five. */
const deeperLists = [6, 7, 8, 9].flatMap((level) => {
  const above = 'ul|ol > li > '.repeat(level - 1);
  return [`p:unordered-list(${level}) => ${above}ul > li:fresh`, `p:ordered-list(${level}) => ${above}ol > li:fresh`];
});

/** Style map for the list styles of levels 2 to 5, whose numbering does not give the level. */
const listStyles = [2, 3, 4, 5].flatMap((level) => {
  const above = 'ul|ol > li > '.repeat(level - 1);
  return [
    `p[style-name='List Bullet ${level}'] => ${above}ul > li:fresh`,
    `p[style-name='List Number ${level}'] => ${above}ol > li:fresh`,
  ];
});

const styleMap = [
  "p[style-name='Title'] => h1:fresh",
  "p[style-name='Subtitle'] => h2:fresh",
  ...['Quote', 'Intense Quote', 'Quotations', 'Block Text'].map((n) => `p[style-name='${n}'] => blockquote > p:fresh`),
  ...['HTML Preformatted', 'Preformatted Text', 'Source Code', 'Code', 'Macro Text', 'macro'].map(
    (name) => `p[style-name='${name}'] => pre:separator('\\n')`,
  ),
  ...deeperLists,
  ...listStyles,
];

const footnoteBackLink = / ?<a href="#(?:foot|end)note-ref-[^"]*">↑<\/a>/g;

/** Word documents (.docx). Footnotes follow at the end; text deleted by tracked changes is left out. */
export async function parseDocx(bytes: Buffer): Promise<Block[]> {
  const archive = await Archive.open(bytes, { save: 'Word document (.docx)' });
  const html = await toHtml(archive);
  return parseHtml(html.replace(footnoteBackLink, ''));
}

async function toHtml(archive: Archive): Promise<string> {
  try {
    const convertImage = images.imgElement(() => Promise.resolve({ src: '' }));
    const options = { styleMap, convertImage, transformDocument: withMissingNotes };
    return (await convertToHtml(mammothInput(archive), options)).value;
  } catch (error) {
    // Mammoth says by plain errors that the document is damaged.
    if (!(error instanceof Error) || error.constructor !== Error) throw error;
    throw damaged(error.message);
  }
}

interface WordDocument {
  notes: { resolve(reference: object): object | null };
}

/** A reference to a note that is missing leads to an element without a converter, which mammoth leaves out. */
function withMissingNotes(document: WordDocument): WordDocument {
  const { notes } = document;
  const resolve = notes.resolve.bind(notes);
  notes.resolve = (reference) => resolve(reference) ?? { type: 'missing' };
  return document;
}

/**
 * Mammoth input that reads parts by name: mammoth decompresses nothing itself, so the limits of Archive and of the XML
 * scanner apply to all that it reads.
 */
function mammothInput(archive: Archive): Parameters<typeof convertToHtml>[0] {
  // Mammoth reads the styles before the parts that refer to them.
  let styles: KnownStyles = { headings: new Map(), numberings: new Set() };
  const file = {
    exists: (name: string) => name !== 'mammoth/style-map' && archive.has(name),
    read: async (name: string) => {
      const part = await archive.read(name);
      if (name.endsWith('styles.xml')) styles = knownStyles(part);
      return rewritten(part, styles);
    },
  };
  // Already opened archive, an input that mammoth's types do not declare.
  return { file } as unknown as { buffer: Buffer };
}
