import { fileTypeFromBuffer } from 'file-type';
import { hasControls } from './text-controls';
import { markedEncoding, wideEncoding } from './wide-encoding';

export interface Sniffed {
  contentType: string;
  extension: string;
}

/** Magic numbers that no text begins with by chance, after an optional byte order mark. */
const unmistakable: Record<string, RegExp> = {
  'application/pdf': /^(?:\xef\xbb\xbf)?%PDF-\d/,
  'application/rtf': /^(?:\xef\xbb\xbf)?\{\\rtf\d/,
  'application/xml': /^/,
};

/**
 * Content sniffing by magic number; undefined for text and unknown content. Some magic numbers are plain letters ("BM",
 * "MZ") with which a text may begin: these count only when the content has bytes that text does not have.
 */
export async function sniff(bytes: Buffer): Promise<Sniffed | undefined> {
  // Throws for truncated containers; the parser reports these.
  const found = await fileTypeFromBuffer(bytes).catch(() => undefined);
  if (!found) return undefined;
  const isCertain = unmistakable[found.mime]?.test(bytes.toString('latin1', 0, 20));
  if (!isCertain && looksLikeText(bytes)) return undefined;
  return { contentType: found.mime, extension: `.${found.ext}` };
}

/** Whether the content is text: without control characters that text does not use, or in UTF-16 or UTF-32. */
export function looksLikeText(bytes: Buffer): boolean {
  return bytes.length > 0 && (!hasControls(bytes) || (markedEncoding(bytes) ?? wideEncoding(bytes)) !== undefined);
}
