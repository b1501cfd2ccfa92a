import { isAscii, isUtf8 } from 'node:buffer';
import { UnreadableDocument } from './block';
import { decoderOf, encodingOf } from './decoder';
import { detectEncoding, excerptOf, mostImplausible } from './detect-encoding';
import { implausibleShare } from './plausibility';
import { refuseUnreadable } from './refuse-unreadable';
import { hasControls } from './text-controls';
import { markedEncoding, wideEncoding } from './wide-encoding';

export const sliceBytes = 1_000_000;
/** Bytes of a page that are searched for a charset; browsers, too, heed one that comes late. */
const pageHeadBytes = 256_000;

/**
 * Decodes by `encodingOfText`; line ends become `\n`. Throws UnreadableDocument for binary content, for garbled text and
 * for text in an undetectable encoding.
 */
export function decodeText(bytes: Buffer, declaredCharset?: string): string {
  return [...decodeSlices(bytes, declaredCharset)].join('');
}

/** Streaming `decodeText`: yields slices, so that a large text is never one string. Throws before the first slice. */
export function* decodeSlices(bytes: Buffer, declaredCharset?: string, size = sliceBytes): Generator<string> {
  const encoding = encodingOfText(bytes, declaredCharset);
  refuseUnreadable(() => decodeAs(bytes, encoding, size), encoding === 'utf-8' && isAscii(bytes));
  let pending = '';
  for (const slice of decodeAs(bytes, encoding, size)) {
    const text = pending + slice;
    // CRLF may be split between two slices.
    pending = text.endsWith('\r') ? '\r' : '';
    yield text.slice(0, text.length - pending.length).replace(/\r\n?/g, '\n');
  }
  if (pending) yield '\n';
}

/**
 * Charset detection: by byte order mark, as UTF-8 when the bytes are valid UTF-8, then by the declared charset unless its
 * text makes no sense, then as UTF-8 when most of the other bytes are, else by scores of all encodings. Throws
 * UnreadableDocument when none makes sense.
 */
export function encodingOfText(bytes: Buffer, declaredCharset?: string): string {
  const marked = markedEncoding(bytes);
  if (marked) return marked;

  const declared = declaredCharset ? encodingOf(declaredCharset) : undefined;
  const isValid = isUtf8(bytes);
  const isWide = declared !== undefined && /^utf-(?:16|32)/.test(declared) && !isValid;
  const wide = isWide || hasControls(bytes) ? wideEncoding(bytes) : undefined;
  if (wide) return wide;
  if (isValid) return isIso2022Jp(bytes) ? 'iso-2022-jp' : 'utf-8';
  if (declared && declared !== 'utf-8' && isPlausible(bytes, declared)) return declared;
  if (isMostlyUtf8(bytes)) return 'utf-8';
  const detected = detectEncoding(bytes);
  if (detected) return detected;
  throw new UnreadableDocument(
    'The content is not readable text: it is binary, or in an unknown encoding. ' +
      'Save it as UTF-8 text, or upload it with the content type that matches its content.',
  );
}

export function charsetIn(contentType: string): string | undefined {
  return /;\s*charset\s*=\s*"?([\w.:-]+)/i.exec(contentType)?.[1];
}

/** Charset declared by a meta element of an HTML page, or by its XML declaration. */
export function charsetInPage(bytes: Buffer): string | undefined {
  // Declarations of UTF-8 need no search, others are ignored when the page is UTF-8.
  if (isUtf8(bytes)) return undefined;
  const head = bytes.toString('latin1', 0, pageHeadBytes);
  const elements = /<!--|<meta\b[^>]{0,1000}?\bcharset\s*=\s*["']?([\w.:-]+)/gi;
  for (let found = elements.exec(head); found; found = elements.exec(head)) {
    if (found[1]) return unlessWide(found[1]) ?? charsetInXml(bytes);
    const end = head.indexOf('-->', found.index);
    if (end === -1) break;
    elements.lastIndex = end;
  }
  return charsetInXml(bytes);
}

export function charsetInXml(bytes: Buffer): string | undefined {
  const start = bytes.toString('latin1', 0, 200);
  return unlessWide(/^\s*<\?xml\b[^>]*\bencoding\s*=\s*["']([\w.:-]+)/.exec(start)?.[1]);
}

/** Ignores a declared UTF-16: the declaration was readable as single bytes, so it is false. */
function unlessWide(charset: string | undefined): string | undefined {
  return charset && /^utf-?(?:16|32)/i.test(charset) ? undefined : charset;
}

/** ISO-2022-JP has ASCII bytes only, and says with escape sequences which of them are Japanese. */
function isIso2022Jp(bytes: Buffer): boolean {
  const shift = bytes.indexOf('\x1b$');
  if (shift === -1 || !/[@B]/.test(String.fromCharCode(bytes[shift + 2] ?? 0))) return false;
  const text = decoderOf('iso-2022-jp').decode(bytes.subarray(shift, shift + 10_000), { stream: true });
  return !text.includes('\uFFFD');
}

function isPlausible(bytes: Buffer, encoding: string): boolean {
  return implausibleShare(decoderOf(encoding).decode(excerptOf(bytes))) <= mostImplausible;
}

/** Whether at least two of three sequences of bytes that are not ASCII are characters in UTF-8: the others are damage. */
function isMostlyUtf8(bytes: Buffer): boolean {
  let valid = 0;
  let replaced = 0;
  for (const slice of decodeAs(bytes, 'utf-8', sliceBytes)) {
    for (let i = 0; i < slice.length; i++) {
      const code = slice.charCodeAt(i);
      if (code === 0xfffd) replaced++;
      else if (code >= 0xa0) valid++;
    }
  }
  return valid >= replaced * 2;
}

function* decodeAs(bytes: Buffer, encoding: string, size: number): Generator<string> {
  const decoder = decoderOf(encoding);
  for (let start = 0; start < bytes.length; start += size) {
    yield decoder.decode(bytes.subarray(start, start + size), { stream: true });
  }
  yield decoder.decode();
}
