import { isUtf8 } from 'node:buffer';
import { TextDecoder } from 'node:util';
import { UnreadableDocument } from './block';

export const sliceBytes = 1_000_000;
const mostAccented = 0.6;

/**
 * Charset detection: by byte order mark, as UTF-8 when the bytes are valid UTF-8, then by the declared charset.
 * Otherwise UTF-8 with replacement characters when most non-ASCII letters are valid UTF-8, else windows-1252. Line ends
 * become `\n`. Throws UnreadableDocument for binary content and for text in an undetectable encoding.
 */
export function decodeText(bytes: Buffer, declaredCharset?: string): string {
  return [...decodeSlices(bytes, declaredCharset)].join('');
}

/** Streaming `decodeText`: yields slices, so that a large text is never one string. Throws before the first slice. */
export function* decodeSlices(bytes: Buffer, declaredCharset?: string, size = sliceBytes): Generator<string> {
  const decode = decoding(bytes, declaredCharset);
  refuseBinary(decode(size));
  let pending = '';
  for (const slice of decode(size)) {
    const text = pending + slice;
    // CRLF may be split between two slices.
    pending = text.endsWith('\r') ? '\r' : '';
    yield text.slice(0, text.length - pending.length).replace(/\r\n?/g, '\n');
  }
  if (pending) yield '\n';
}

export function charsetIn(contentType: string): string | undefined {
  return /;\s*charset\s*=\s*"?([\w-]+)/i.exec(contentType)?.[1];
}

/** Charset declared by the meta element of an HTML page, or by its XML declaration. */
export function charsetInPage(bytes: Buffer): string | undefined {
  const start = bytes.toString('latin1', 0, 1024);
  return unlessWide(/<meta\b[^>]*\bcharset\s*=\s*["']?([\w-]+)/i.exec(start)?.[1]) ?? charsetInXml(bytes);
}

export function charsetInXml(bytes: Buffer): string | undefined {
  const start = bytes.toString('latin1', 0, 200);
  return unlessWide(/^\s*<\?xml\b[^>]*\bencoding\s*=\s*["']([\w-]+)/.exec(start)?.[1]);
}

/** Ignores a declared UTF-16: the declaration was readable as single bytes, so it is false. */
function unlessWide(charset: string | undefined): string | undefined {
  return charset && /^utf-?16/i.test(charset) ? undefined : charset;
}

type Decode = (size: number) => Iterable<string>;

function decoding(bytes: Buffer, declaredCharset?: string): Decode {
  const as =
    (charset: string): Decode =>
    (size) =>
      decodeAs(bytes, charset, size);
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return as('utf-16le');
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return as('utf-16be');

  const declared = declaredCharset ? encodingOf(declaredCharset) : undefined;
  // Text in iso-2022 or utf-16 may be valid UTF-8, so the declaration decides. For other charsets UTF-8 validity does.
  if (declared && /^(iso-2022|utf-16)/.test(declared)) return as(declared);

  if (isUtf8(bytes)) return as('utf-8');
  if (declared && declared !== 'utf-8') return as(declared);

  const { letters, replaced } = countUnusual(as('utf-8')(sliceBytes));
  if (letters >= replaced) return as('utf-8');
  const latin = as('windows-1252');
  for (const slice of latin(sliceBytes)) if (/[\x80-\x9f]/.test(slice)) return as('utf-8');
  refuseMostlyAccented(latin(sliceBytes));
  return latin;
}

/** Refuses windows-1252 text in which over 60 % of the letters are accented: it is another alphabet, wrongly decoded. */
function refuseMostlyAccented(slices: Iterable<string>): void {
  let letters = 0;
  let accented = 0;
  for (const slice of slices) {
    for (const [letter] of slice.replace(/<[^<>]*>/g, '').matchAll(/\p{Letter}/gu)) {
      letters++;
      if (letter >= '\u00c0') accented++;
    }
  }
  if (accented > letters * mostAccented) {
    throw new UnreadableDocument('The text is in an unknown encoding: save it as UTF-8 and upload it again.');
  }
}

function* decodeAs(bytes: Buffer, charset: string, size: number): Generator<string> {
  const decoder = new TextDecoder(charset);
  for (let start = 0; start < bytes.length; start += size) {
    yield decoder.decode(bytes.subarray(start, start + size), { stream: true });
  }
  yield decoder.decode();
}

function encodingOf(charset: string): string | undefined {
  try {
    return new TextDecoder(charset).encoding;
  } catch {
    return undefined;
  }
}

function refuseBinary(slices: Iterable<string>): void {
  const { length, controls, replaced } = countUnusual(slices);
  if (controls * 100 > length || replaced * 10 > length) {
    throw new UnreadableDocument(
      'The content is not readable text: it is binary, or in an unknown encoding. ' +
        'Save it as UTF-8 text, or upload it with the content type that matches its content.',
    );
  }
}

function countUnusual(slices: Iterable<string>) {
  const count = { length: 0, controls: 0, replaced: 0, letters: 0 };
  for (const text of slices) {
    count.length += text.length;
    for (let i = 0; i < text.length; i++) {
      const code = text.charCodeAt(i);
      if (code === 0xfffd) count.replaced++;
      else if (code >= 0xa0) count.letters++;
      else if (isControl(code)) count.controls++;
    }
  }
  return count;
}

/** Control characters that text may contain: tab, line feed, form feed, carriage return and ESC (terminal logs). */
function isControl(code: number): boolean {
  return code < 0x20 ? !((code >= 0x09 && code <= 0x0d) || code === 0x1b) : code >= 0x7f && code < 0xa0;
}
