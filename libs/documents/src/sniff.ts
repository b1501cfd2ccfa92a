import { fileTypeFromBuffer } from 'file-type/core';

export interface Sniffed {
  contentType: string;
  extension: string;
}

/** How many bytes tell text from binary. */
const headBytes = 8_000;
/** Signatures that no text begins with by chance, after a byte-order mark or without one. */
const unmistakable: Record<string, RegExp> = {
  'application/pdf': /^(?:\xef\xbb\xbf)?%PDF-\d/,
  'application/rtf': /^(?:\xef\xbb\xbf)?\{\\rtf\d/,
  'application/xml': /^/,
};

/**
 * What the bytes themselves say that they are; undefined for text and for what nobody knows. Some signatures are plain
 * letters ("BM", "MZ"), with which a text may begin: they count only in bytes that no text has.
 */
export async function sniff(bytes: Buffer): Promise<Sniffed | undefined> {
  // It throws where a container ends too early: what is there is for the parser to judge.
  const found = await fileTypeFromBuffer(bytes).catch(() => undefined);
  if (!found) return undefined;
  const isCertain = unmistakable[found.mime]?.test(bytes.toString('latin1', 0, 20));
  if (!isCertain && looksLikeText(bytes)) return undefined;
  return { contentType: found.mime, extension: `.${found.ext}` };
}

/** No control characters but those of text, in the beginning. */
export function looksLikeText(bytes: Buffer): boolean {
  const isWide = bytes[0] === 0xff || bytes[0] === 0xfe;
  for (const byte of bytes.subarray(0, headBytes)) {
    if (byte >= 0x20 || (byte >= 0x09 && byte <= 0x0d) || byte === 0x1b) continue;
    if (!(isWide && byte < 0x20)) return false;
  }
  return bytes.length > 0;
}
