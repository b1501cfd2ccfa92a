import { UnreadableDocument } from './block';

/** Control characters that no text contains: all but tab, line ends, form feed and ESC (terminal logs). */
const control = /[\0-\x08\x0e-\x1a\x1c-\x1f\x7f]/g;
/** Control characters but NEL: bytes of windows-1252 or of UTF-8 that were decoded as ISO-8859-1. */
const c1 = /[\x80-\x84\x86-\x9f]/g;
const replacement = /\uFFFD/g;
/** Bytes 0x80 to 0xBF in windows-1252: these follow the first byte of a character of UTF-8. */
const trail = '[\\x80-\\xbf€‚ƒ„…†‡ˆ‰Š‹ŒŽ‘’“”•–—˜™š›œžŸ]';
/** The same bytes in windows-1251, without letters of Russian. */
const cyrillicTrail = '[\\xa0-\\xbfЂЃ‚ѓ„…†‡€‰Љ‹ЊЌЋЏђ‘’“”•–—™љ›њќћџЎўЈҐЁЄЇІіґё№єјЅѕї]';
/** Characters of UTF-8 that were decoded as windows-1252, windows-1251 twice in a row, Macintosh or GBK. */
const mojibake = new RegExp(
  `[Â-ß]${trail}|[à-ï]${trail}{2}|ð${trail}{3}|(?:[РС]${cyrillicTrail}){2}|√[§∂º¬ü©®£°±≤≥¶]|‚Ä[ìîôòúù¶]|锟斤拷`,
  'g',
);

interface Unusual {
  length: number;
  controls: number;
  replaced: number;
  /** Groups of characters that stand for one character. */
  garbled: number;
  garbledLength: number;
}

/** Throws UnreadableDocument for text with over 1 % controls, and for text most of whose letters beyond ASCII are garbled. */
export function refuseUnreadable(slices: () => Iterable<string>, isAscii: boolean): void {
  const { length, controls, replaced, garbled, garbledLength } = countUnusual(slices(), isAscii);
  if (controls * 100 > length) {
    throw new UnreadableDocument(
      'The content is not readable text: it is binary, or in an unknown encoding. ' +
        'Save it as UTF-8 text, or upload it with the content type that matches its content.',
    );
  }
  const isGarbled = garbled * 100 > length && garbled > countBeyondAscii(slices()) - garbledLength;
  if (isGarbled || replaced * 10 > length) {
    throw new UnreadableDocument(
      'The text looks garbled, as after decoding with the wrong encoding (such as "Ã¤" for "ä"). ' +
        'Save the original as UTF-8 and upload it again.',
    );
  }
}

function countUnusual(slices: Iterable<string>, isAscii: boolean): Unusual {
  const count: Unusual = { length: 0, controls: 0, replaced: 0, garbled: 0, garbledLength: 0 };
  for (const text of slices) {
    count.length += text.length;
    count.controls += matches(text, control).length;
    if (isAscii) continue;
    const replaced = matches(text, replacement).length;
    const groups = [...matches(text, mojibake), ...matches(text, c1)];
    count.replaced += replaced;
    count.garbled += replaced + groups.length;
    count.garbledLength += replaced + groups.join('').length;
  }
  return count;
}

function countBeyondAscii(slices: Iterable<string>): number {
  let count = 0;
  for (const text of slices) for (let i = 0; i < text.length; i++) if (text.charCodeAt(i) >= 0x80) count++;
  return count;
}

function matches(text: string, pattern: RegExp): string[] {
  return text.match(pattern) ?? [];
}
