import { fileTypeFromBuffer } from 'file-type';

export interface Sniffed {
  contentType: string;
  extension: string;
}

const headBytes = 8_000;
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

/** Whether the first 8,000 bytes have no control characters that text does not use. */
export function looksLikeText(bytes: Buffer): boolean {
  const isWide = bytes[0] === 0xff || bytes[0] === 0xfe;
  for (const byte of bytes.subarray(0, headBytes)) {
    if (byte >= 0x20 || (byte >= 0x09 && byte <= 0x0d) || byte === 0x1b) continue;
    if (!(isWide && byte < 0x20)) return false;
  }
  return bytes.length > 0;
}
