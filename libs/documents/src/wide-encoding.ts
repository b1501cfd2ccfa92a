const sampleBytes = 4_096;
const leastShare = 0.95;
/** Blocks of characters that text rarely has, and that swapped bytes of common characters fall into. */
const rareBlocks = /[\u0180-\u02af\u1200-\u1dff\u2c00-\u2dff\u3400-\u4dbf\ua000-\uabff\ue000-\uf8ff]/;
const commonScripts =
  /[\s\p{Script=Latin}\p{Script=Cyrillic}\p{Script=Greek}\p{Script=Arabic}\p{Script=Hebrew}\p{Script=Thai}\p{Script=Devanagari}\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{N}\p{P}\p{S}\p{M}]/u;
const control = /[\p{Cc}\p{Cn}\p{Co}\uFFFD]/u;
const commonest = /[\s.,。、，的のaeinoаеинотαειτاלי]/;

/** UTF-16 or UTF-32 that begins with a byte order mark. */
export function markedEncoding(bytes: Buffer): string | undefined {
  const mark = bytes.toString('latin1', 0, 4);
  if (mark === '\xff\xfe\0\0') return 'utf-32le';
  if (mark === '\0\0\xfe\xff') return 'utf-32be';
  if (mark.startsWith('\xff\xfe')) return 'utf-16le';
  return mark.startsWith('\xfe\xff') ? 'utf-16be' : undefined;
}

/** UTF-16 or UTF-32 without a byte order mark: the byte order in which all units are characters of text. */
export function wideEncoding(bytes: Buffer): string | undefined {
  const sample = bytes.subarray(0, sampleBytes);
  if (bytes.length < 8) return undefined;
  for (const [encoding, read] of readers32(sample)) {
    if (bytes.length % 4 === 0 && allCharacters(sample, read)) return encoding;
  }
  if (bytes.length % 2 !== 0) return undefined;
  const little = commonness(sample);
  const big = commonness(Buffer.from(sample).swap16());
  const best = Math.max(little, big);
  if (best < leastShare) return undefined;
  return little >= big ? 'utf-16le' : 'utf-16be';
}

function readers32(sample: Buffer): [string, (at: number) => number][] {
  return [
    ['utf-32le', (at) => sample.readUInt32LE(at)],
    ['utf-32be', (at) => sample.readUInt32BE(at)],
  ];
}

function allCharacters(sample: Buffer, read: (at: number) => number): boolean {
  for (let at = 0; at + 4 <= sample.length; at += 4) {
    const code = read(at);
    if (code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) return false;
    if (isControl(String.fromCodePoint(code))) return false;
  }
  return true;
}

/** Share of characters of common scripts, and once more of the commonest; below 0 when there is a control character. */
function commonness(sample: Buffer): number {
  let common = 0;
  let all = 0;
  // The sample may end within a surrogate pair.
  for (const character of sample.toString('utf16le').replace(/[\ud800-\udbff]$/, '')) {
    if (/\p{Surrogate}/u.test(character) || isControl(character)) return -1;
    all++;
    if (commonest.test(character)) common += 2;
    else if (commonScripts.test(character) && !rareBlocks.test(character)) common++;
    else common--;
  }
  return all === 0 ? -1 : common / all;
}

function isControl(character: string): boolean {
  return control.test(character) && character !== '\x1b' && !/\s/.test(character);
}
