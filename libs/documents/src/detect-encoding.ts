import { isAscii, isUtf8 } from 'node:buffer';
import { createRequire } from 'node:module';
import type jschardet from 'jschardet';
import { decoderOf, encodingOf } from './decoder';
import { implausibleShare } from './plausibility';
import { hasControls } from './text-controls';
import { wideEncoding } from './wide-encoding';

const load = createRequire(__filename);
/** Bytes of the excerpts that are scored. More add time and no certainty. */
const scoredBytes = 12_000;
const blockBytes = 4_096;
/** Bytes of a line that are kept before and behind a byte that is not ASCII. */
const contextBytes = { before: 40, after: 200 };

/** Encodings in the order in which they are tried when the detector names none that makes sense. */
const usual = (
  'windows-1252 windows-1250 windows-1251 windows-1254 windows-1257 windows-1253 windows-1255 windows-1256 iso-8859-2 ' +
  'koi8-r shift_jis gb18030 big5 euc-kr euc-jp macintosh x-mac-cyrillic ibm866 iso-8859-5 windows-874'
).split(' ');
const commonest = /^[éèêëàáâäåçíîïñóôöøúùûüßœ°€£§©®™½²–—‘’“”…•«»\xa0]+$/;
const plausible = 0.04;
export const mostImplausible = 0.4;

/** Encoding of text that is not UTF-8, by scores of all encodings; undefined when none makes sense. */
export function detectEncoding(bytes: Buffer): string | undefined {
  if (hasControls(bytes)) return wideEncoding(bytes);
  const excerpt = excerptOf(bytes);
  if (excerpt.length === 0) return isUtf8(bytes) ? 'utf-8' : undefined;
  if (isCommonest(excerpt)) return 'windows-1252';
  const scored = candidatesFor(excerpt).map((encoding) => ({
    encoding,
    implausible: implausibleShare(decoderOf(encoding).decode(excerpt)),
  }));
  const likeliest = scored.find(({ implausible }) => implausible <= plausible);
  if (likeliest) return likeliest.encoding;
  const [best] = scored.toSorted((a, b) => a.implausible - b.implausible);
  return best && best.implausible <= mostImplausible ? best.encoding : undefined;
}

/** One or two kinds of characters beyond ASCII have no score that means anything: these are the commonest of the Web. */
function isCommonest(excerpt: Buffer): boolean {
  const text = decoderOf('windows-1252').decode(excerpt);
  const characters = new Set(text.match(/[^\0-\x7f]/g));
  return characters.size <= 2 && commonest.test([...characters].join('')) && implausibleShare(text) === 0;
}

/** Encodings in the order of the detector's scores, then the others. */
function candidatesFor(excerpt: Buffer): string[] {
  // Its models take 60 MB: loaded only for text that is not UTF-8.
  const { detectAll } = load('jschardet') as typeof jschardet;
  const found = detectAll(excerpt).flatMap(({ encoding }) => (encoding && encodingOf(encoding)) ?? []);
  return [...new Set([...found, ...usual])].filter((encoding) => encoding !== 'utf-8');
}

/** Parts of lines around bytes that are not ASCII: most of a table or a page of code is. */
export function excerptOf(bytes: Buffer): Buffer {
  const parts: Buffer[] = [];
  let length = 0;
  for (let at = nextNonAscii(bytes, 0); at < bytes.length && length < scoredBytes; at = nextNonAscii(bytes, at)) {
    const start = startOfContext(bytes, at);
    const end = endOfContext(bytes, at);
    parts.push(bytes.subarray(start, end), lineFeed);
    length += end - start + 1;
    at = end;
  }
  return Buffer.concat(parts);
}

const lineFeed = Buffer.from('\n');

function nextNonAscii(bytes: Buffer, from: number): number {
  let at = from;
  while (at < bytes.length && isAscii(bytes.subarray(at, at + blockBytes))) at += blockBytes;
  while (at < bytes.length && bytes[at]! < 0x80) at++;
  return Math.min(at, bytes.length);
}

/** No second byte of a character is below 0x30, so that cuts there are between characters. */
function isCut(byte: number): boolean {
  return byte < 0x30;
}

function startOfContext(bytes: Buffer, at: number): number {
  let start = at;
  let words = 0;
  while (start > 0 && at - start < contextBytes.before && words < 3) {
    const byte = bytes[start - 1]!;
    if (byte === 0x0a || byte >= 0x80) break;
    start--;
    if (isCut(byte)) words++;
  }
  return start;
}

function endOfContext(bytes: Buffer, at: number): number {
  let end = at;
  let words = 0;
  while (end < bytes.length && words < 3) {
    const byte = bytes[end]!;
    if (byte === 0x0a || (end - at > contextBytes.after && isCut(byte))) break;
    if (byte >= 0x80) words = 0;
    else if (isCut(byte)) words++;
    end++;
    if (end - at > 2 * scoredBytes) break;
  }
  return end;
}
