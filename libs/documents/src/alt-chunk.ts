import { extname } from 'node:path';
import type { Block } from './block';
import { charsetInPage, decodeText } from './decode-text';
import { deepestChunk } from './limits';
import type { Relation } from './office-relations';
import { parseHtml } from './parse-html';
import { parseRtf } from './parse-rtf';
import { parseText } from './parse-text';
import type { Archive } from './zip';

/** Word documents within Word documents. */

type ReadWord = (bytes: Buffer, place: { depth: number; within: Archive }) => Promise<Block[]>;

/**
 * Documents that a Word document imports where it first refers to them, by the ids of their relations: HTML, MHTML,
 * text, RTF and Word. Word itself shows no others.
 */
export async function importedBlocks(
  archive: Archive,
  relations: Relation[],
  { depth, readWord }: { depth: number; readWord: ReadWord },
): Promise<Map<string, Block[]>> {
  const read = new Map<string, Block[]>();
  const targets = new Set<string>();
  for (const { id, type, target } of relations) {
    if (type !== 'aFChunk' || !archive.has(target) || targets.has(target)) continue;
    targets.add(target);
    const bytes = await archive.read(target);
    const isWord = bytes.toString('latin1', 0, 2) === 'PK';
    if (!isWord) read.set(id, await textBlocks(bytes, extname(target).toLowerCase()));
    else if (depth < deepestChunk) {
      read.set(id, await readWord(bytes, { depth: depth + 1, within: archive }));
    }
  }
  return read;
}

/** Content of a text by its start: RTF, a web archive, HTML or plain text. */
export async function textBlocks(bytes: Buffer, extension: string): Promise<Block[]> {
  const head = bytes.toString('latin1', 0, 1000);
  if (head.startsWith('{\\rtf')) return parseRtf(bytes);
  if (/^\.mht(?:ml)?$/.test(extension) || /^(?:MIME-Version|Content-Type):/im.test(head)) return mailBlocks(bytes);
  if (extension !== '.txt' && /<[a-z!?]/i.test(head)) return pageBlocks(decodeText(bytes, charsetInPage(bytes)));
  return [...parseText([decodeText(bytes)])];
}

function pageBlocks(page: string): Block[] {
  return parseHtml(page, { xhtml: /^\s*<\?xml/.test(page) });
}

async function mailBlocks(bytes: Buffer): Promise<Block[]> {
  const { default: PostalMime } = await import('postal-mime');
  const { html, text } = await PostalMime.parse(bytes);
  return html ? pageBlocks(html) : [...parseText([text ?? ''])];
}
