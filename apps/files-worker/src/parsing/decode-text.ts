import { TextDecoder } from 'node:util';
import { UnreadableDocument } from './block';

/**
 * Reads bytes as text: by byte-order mark, as UTF-8 when they are valid UTF-8, else in the declared charset.
 * What is left is UTF-8 with replacement characters when most of its accented letters are UTF-8, else windows-1252.
 * Line ends become `\n`. Refuses binaries, and bytes that no guess turns into text.
 */
export function decodeText(bytes: Buffer, declaredCharset?: string): string {
  const text = decode(bytes, declaredCharset);
  refuseBinary(text);
  return text.replace(/\r\n?/g, '\n');
}

function decode(bytes: Buffer, declaredCharset?: string): string {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return new TextDecoder('utf-16le').decode(bytes);
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return new TextDecoder('utf-16be').decode(bytes);

  const declared = declaredCharset ? decoderFor(declaredCharset) : undefined;
  // The iso-2022 and utf-16 families may look like valid UTF-8; for the others validity is the better witness.
  if (declared && /^(iso-2022|utf-16)/.test(declared.encoding)) return declared.decode(bytes);

  const utf8 = new TextDecoder('utf-8').decode(bytes);
  if (!utf8.includes('\uFFFD')) return utf8;
  if (declared?.encoding === 'windows-1252') return decodeWindows1252(bytes);
  if (declared && declared.encoding !== 'utf-8') return declared.decode(bytes);

  const { letters, replaced } = countUnusual(utf8);
  if (letters >= replaced) return utf8;
  const latin = decodeWindows1252(bytes);
  return /[\x80-\x9f]/.test(latin) ? utf8 : latin;
}

/** By hand, since TextDecoder of Node 20 takes windows-1252 for Latin-1. */
function decodeWindows1252(bytes: Buffer): string {
  const from0x80 = '€\x81‚ƒ„…†‡ˆ‰Š‹Œ\x8dŽ\x8f\x90‘’“”•–—˜™š›œ\x9džŸ';
  return bytes.toString('latin1').replace(/[\x80-\x9f]/g, (control) => from0x80[control.charCodeAt(0) - 0x80]!);
}

function decoderFor(charset: string): TextDecoder | undefined {
  try {
    return new TextDecoder(charset);
  } catch {
    return undefined;
  }
}

function refuseBinary(text: string): void {
  const { controls, replaced } = countUnusual(text);
  if (controls * 100 > text.length || replaced * 10 > text.length) {
    throw new UnreadableDocument(
      'The content is not readable text: it is binary, or in an unknown encoding. ' +
        'Save it as UTF-8 text, or upload it with its own content type.',
    );
  }
}

function countUnusual(text: string): { controls: number; replaced: number; letters: number } {
  let controls = 0;
  let replaced = 0;
  let letters = 0;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code === 0xfffd) replaced++;
    else if (code >= 0xa0) letters++;
    else if (isControl(code)) controls++;
  }
  return { controls, replaced, letters };
}

/** Tab, the line and page ends and ESC (terminal logs) belong to text. */
function isControl(code: number): boolean {
  return code < 0x20 ? !((code >= 0x09 && code <= 0x0d) || code === 0x1b) : code >= 0x7f && code < 0xa0;
}
