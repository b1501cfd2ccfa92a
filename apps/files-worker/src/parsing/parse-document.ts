import { extname } from 'node:path';
import { type Block, UnreadableDocument } from './block';
import { decodeText } from './decode-text';
import { parseHtml } from './parse-html';
import { parseMarkdown } from './parse-markdown';
import { parseText } from './parse-text';

type Format = 'text' | 'markdown' | 'html' | 'xhtml';

const formatOfType: Record<string, Format> = {
  'text/plain': 'text',
  'text/markdown': 'markdown',
  'text/x-markdown': 'markdown',
  'text/html': 'html',
  'application/xhtml+xml': 'xhtml',
};
const formatOfExtension: Record<string, Format> = {
  '.txt': 'text',
  '.md': 'markdown',
  '.markdown': 'markdown',
  '.html': 'html',
  '.htm': 'html',
  '.xhtml': 'xhtml',
};

/**
 * The document's blocks in reading order: at least one, none of them blank, all storable in Postgres.
 * The extension of the key decides when the content type says no more than "bytes" or "plain text".
 * Throws UnreadableDocument for unsupported types, for binaries that call themselves text, and when there is no text.
 */
export function parseDocument(bytes: Buffer, { contentType, key }: { contentType: string; key: string }): Block[] {
  const format = formatOf(contentType, key);
  const declared = charsetIn(contentType) ?? (format === 'html' ? charsetInPage(bytes) : undefined);
  const parsed = parse(decodeText(bytes, declared), format);

  const blocks = parsed.map((block) => ({ ...block, text: storable(block.text) })).filter(hasText);
  if (blocks.length === 0) {
    throw new UnreadableDocument('There was no text found in this file. Upload a file that contains text.');
  }
  return blocks;
}

function parse(text: string, format: Format): Block[] {
  switch (format) {
    case 'text':
      return parseText(text);
    case 'markdown':
      return parseMarkdown(text);
    case 'html':
      return parseHtml(text);
    case 'xhtml':
      return parseHtml(text, { xhtml: true });
  }
}

function formatOf(contentType: string, key: string): Format {
  const type = contentType.split(';', 1)[0]!.trim().toLowerCase();
  const ofExtension = formatOfExtension[extname(key).toLowerCase()];
  if ((type === 'text/plain' || type === 'application/octet-stream') && ofExtension) return ofExtension;
  const ofType = formatOfType[type] ?? (type.startsWith('text/') ? 'text' : undefined);
  if (ofType) return ofType;
  throw new UnreadableDocument(
    `Files of type ${type || '(none)'} cannot be indexed. ` +
      'Upload plain text (text/plain), Markdown (text/markdown) or HTML (text/html), with its content type.',
  );
}

function charsetIn(contentType: string): string | undefined {
  return /;\s*charset\s*=\s*"?([\w-]+)/i.exec(contentType)?.[1];
}

function charsetInPage(bytes: Buffer): string | undefined {
  const start = bytes.toString('latin1', 0, 1024);
  const charset = /<meta\b[^>]*\bcharset\s*=\s*["']?([\w-]+)/i.exec(start)?.[1];
  // A page whose meta element can be read byte by byte is not in UTF-16, whatever it says.
  return charset && /^utf-?16/i.test(charset) ? undefined : charset;
}

/** Postgres refuses U+0000 and lone surrogates; no reader misses the other controls. */
function storable(text: string): string {
  return text.replace(/(?![\t-\r])[\p{Control}\p{Surrogate}]/gu, '');
}

function hasText({ text }: Block): boolean {
  return text.trim() !== '';
}
