import { posix } from 'node:path';
import { type Block, type OnReading, UnreadableDocument } from './block';
import { charsetInPage, decodeText } from './decode-text';
import { parseHtml } from './parse-html';
import { childElements, descendants, elementAt, parseXml, textOf, type XmlElement } from './xml-tree';
import { Archive, damaged } from './zip';

const pages = new Set(['application/xhtml+xml', 'text/html', 'text/x-oeb1-document', 'application/x-dtbook+xml']);

/** EPUB books: chapters in spine order, without the table of contents. Missing chapters are skipped. */
export async function parseEpub(bytes: Buffer, onReading?: OnReading): Promise<Block[]> {
  const archive = await Archive.open(bytes, { save: 'EPUB' });
  const container = parseXml(await archive.read('META-INF/container.xml'));
  const part = descendants(container, 'rootfile')[0]?.attributes['full-path'];
  if (!part) throw damaged('META-INF/container.xml names no package document');
  const book = parseXml(await archive.read(part));
  const listed = chaptersOf(book, posix.dirname(part));
  const chapters = listed.filter((chapter) => archive.has(chapter));
  if (listed[0] && chapters.length === 0) throw damaged(`it lacks the chapter ${listed[0]}`);
  await refuseEncrypted(archive, chapters);

  const title = descendants(book, 'title').map(textOf)[0]?.trim();
  const blocks: Block[] = [];
  for (const [index, chapter] of chapters.entries()) {
    onReading?.(index / chapters.length);
    const page = await archive.read(chapter);
    const [first, ...rest] = parseHtml(decodeText(page, charsetInPage(page)), { xhtml: true, isPart: true });
    if (!first) continue;
    // Many books repeat the book title in the head of each chapter.
    const isRepeated = blocks.length > 0 && first.type === 'title' && first.text === title;
    if (!isRepeated) blocks.push(first);
    for (const block of rest) blocks.push(block);
  }
  return blocks;
}

function chaptersOf(book: XmlElement, folder: string): string[] {
  const items = new Map(childElements(elementAt(book, 'manifest'), 'item').map((item) => [item.attributes.id, item]));
  return childElements(elementAt(book, 'spine'), 'itemref').flatMap(({ attributes: { idref } }) => {
    const { href, properties, 'media-type': type } = items.get(idref)?.attributes ?? {};
    if (!href || !type || !pages.has(type) || properties?.split(' ').includes('nav')) return [];
    return [partAt(folder, href)];
  });
}

function partAt(folder: string, href: string): string {
  const path = href.split('#', 1)[0]!;
  try {
    return posix.join(folder, decodeURIComponent(path));
  } catch {
    return posix.join(folder, path);
  }
}

/** DRM: throws when a chapter is encrypted. Encrypted fonts are allowed. */
async function refuseEncrypted(archive: Archive, chapters: string[]): Promise<void> {
  const part = 'META-INF/encryption.xml';
  if (!archive.has(part)) return;
  const encrypted = descendants(parseXml(await archive.read(part)), 'CipherReference').map(({ attributes }) =>
    partAt('', attributes.URI ?? ''),
  );
  if (encrypted.some((name) => chapters.includes(name))) {
    throw new UnreadableDocument('The book is protected against copying (DRM): upload a copy without that protection.');
  }
}
