import { UnreadableDocument } from './block';
import { controls } from './text-controls';

/** Bytes 0x80 to 0xBF in windows-1252: these follow the first byte of a character of UTF-8. */
const trail = '[\\x80-\\xbf€‚ƒ„…†‡ˆ‰Š‹ŒŽ‘’“”•–—˜™š›œžŸ]';
/** The same bytes in windows-1251, without letters of Russian. */
const cyrillicTrail = '[\\xa0-\\xbfЂЃ‚ѓ„…†‡€‰Љ‹ЊЌЋЏђ‘’“”•–—™љ›њќћџЎўЈҐЁЄЇІіґё№єјЅѕї]';
/** Characters of UTF-8 that were decoded as windows-1252, windows-1251 twice in a row, Macintosh or GBK. */
const mojibake = `[Â-ß]${trail}|[à-ï]${trail}{2}|ð${trail}{3}|(?:[РС]${cyrillicTrail}){2}|√[§∂º¬ü©®£°±≤≥¶]|‚Ä[ìîôòúù¶]|锟斤拷`;
/** Control characters but NEL are bytes of windows-1252 or of UTF-8 that were decoded as ISO-8859-1. */
const unlessAscii = `[\\x80-\\x84\\x86-\\x9f]|\\uFFFD|${mojibake}`;
const unusual = new RegExp(`${controls}|\\x7f|${unlessAscii}`, 'g');
const unusualAscii = new RegExp(`${controls}|\\x7f`, 'g');

interface Unusual {
  length: number;
  controlled: number;
  replaced: number;
  /** Groups of characters that stand for one character. */
  garbled: number;
  garbledLength: number;
}

/** Throws UnreadableDocument for text with over 1 % controls, and for text most of whose letters beyond ASCII are garbled. */
export function refuseUnreadable(slices: () => Iterable<string>, isAscii: boolean): void {
  const { length, controlled, replaced, garbled, garbledLength } = countUnusual(slices(), isAscii);
  if (controlled * 100 > length) {
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
  const count: Unusual = { length: 0, controlled: 0, replaced: 0, garbled: 0, garbledLength: 0 };
  for (const text of slices) {
    count.length += text.length;
    for (const found of text.match(isAscii ? unusualAscii : unusual) ?? []) {
      if (found < '\x80') {
        count.controlled++;
        continue;
      }
      if (found === '\uFFFD') count.replaced++;
      count.garbled++;
      count.garbledLength += found.length;
    }
  }
  return count;
}

function countBeyondAscii(slices: Iterable<string>): number {
  let count = 0;
  for (const text of slices) for (let i = 0; i < text.length; i++) if (text.charCodeAt(i) >= 0x80) count++;
  return count;
}
