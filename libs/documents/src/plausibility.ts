import { lettersOutsideAlphabets } from './alphabets';

/** Characters that are printed alone: beside letters they are letters of another code page. */
const spacingAccent = /[¨¯´¸¬¦¤˙˛ˇ˘˝·]/;
const punctuation = /[\p{Pd}\p{Pe}\p{Pf}\p{Po}]/u;
const withinWords = /[’'ʼ·\u00ad\u200b-\u200f–—‑-]/;
const behindWords = /[²³¹°®™©ªº€₪₫]/;
const unlikely = /[\p{Cc}\p{Cn}\p{Co}\uFFFD\u2500-\u259f\ufb50-\ufdff\ufe70-\ufefc\uff61-\uff65]/u;
const thaiVowel = /[\u0e30-\u0e3a\u0e40-\u0e4e]/;
const dense = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}]/u;
const scripts: [RegExp, string][] = [
  [/\p{Script=Latin}/u, 'Latin'],
  [/\p{Script=Cyrillic}/u, 'Cyrillic'],
  [/\p{Script=Greek}/u, 'Greek'],
  [/\p{Script=Hebrew}/u, 'Hebrew'],
  [/\p{Script=Arabic}/u, 'Arabic'],
  [dense, 'dense'],
];

interface Kind {
  isAscii: boolean;
  isLetter: boolean;
  isMark: boolean;
  isLower: boolean;
  isUpper: boolean;
  isUnlikely: boolean;
  script: string;
}

const kinds = new Map<string, Kind>();

function kindOf(character: string): Kind {
  let kind = kinds.get(character);
  if (!kind) {
    const isLetter = /\p{L}/u.test(character);
    kind = {
      isAscii: character < '\x80',
      isLetter,
      isMark: /\p{M}/u.test(character),
      isLower: /\p{Ll}/u.test(character),
      isUpper: /\p{Lu}/u.test(character),
      isUnlikely: unlikely.test(character) && !/\s/.test(character),
      script: isLetter ? (scripts.find(([pattern]) => pattern.test(character))?.[1] ?? 'other') : '',
    };
    if (kinds.size < 20_000) kinds.set(character, kind);
  }
  return kind;
}

/**
 * Share of the non-ASCII characters that no writing system would have where they are, from 0 to 1: controls, words of two
 * scripts, symbols and capitals inside of words, words of accented letters alone, letters that no language has together.
 * Wrongly decoded text has many.
 */
export function implausibleShare(text: string): number {
  let all = 0;
  let odd = 0;
  const counts = new Map<string, Map<string, number>>();
  for (const [word] of text.matchAll(/[^\s!-&(-,./:-@[-`{-\x7f]+/gu)) {
    const characters = [...word];
    const now = characters.map(kindOf);
    const isStrange = isAllAccents(now) || isThaiWithoutVowels(word) || /([^\0-\x7f])\1{4}/u.test(word);
    for (const [i, kind] of now.entries()) {
      if (kind.isAscii) continue;
      all++;
      if (isStrange || isOdd(characters[i]!, kind, now[i - 1], now[i + 1], now)) odd++;
      else if (kind.isLetter) count(counts, kind.script, characters[i]!.toLowerCase());
    }
  }
  for (const [script, letters] of counts) odd += lettersOutsideAlphabets(script, letters);
  return all === 0 ? 0 : odd / all;
}

function count(counts: Map<string, Map<string, number>>, script: string, letter: string): void {
  let letters = counts.get(script);
  if (!letters) counts.set(script, (letters = new Map<string, number>()));
  letters.set(letter, (letters.get(letter) ?? 0) + 1);
}

function isAllAccents(word: Kind[]): boolean {
  const letters = word.filter(({ isLetter }) => isLetter).length;
  const accented = word.filter(({ isAscii, script }) => !isAscii && script === 'Latin').length;
  return letters >= 2 && accented > letters * (letters > 3 ? 0.6 : 0.7);
}

function isThaiWithoutVowels(word: string): boolean {
  return /[\u0e01-\u0e2f]{5}/.test(word) && !thaiVowel.test(word);
}

function isOdd(character: string, kind: Kind, before?: Kind, after?: Kind, word: Kind[] = []): boolean {
  if (kind.isUnlikely) return true;
  if (kind.isMark) return !before;
  if (!kind.isLetter) {
    if (character >= '\u2e80') return false;
    if (withinWords.test(character) || /[\p{Ps}\p{Pi}¿¡]/u.test(character))
      return Boolean(before?.isLetter && after?.isLetter) && !withinWords.test(character);
    if (spacingAccent.test(character)) return Boolean(before?.isLetter || after?.isLetter);
    if (after?.isLetter && character !== '°') return true;
    return Boolean(before?.isLetter) && !behindWords.test(character) && !punctuation.test(character);
  }
  if (kind.script === 'dense') {
    // Two Latin letters read as one ideograph stand among other Latin letters.
    return Boolean(before?.isAscii && before.isLower) && word.filter(({ script }) => script === 'dense').length <= 2;
  }
  if (kind.isUpper && before?.isLower) return true;
  if (kind.isLower && before?.isUpper && word.length > 3 && after?.isUpper) return true;
  return [before, after].some((other) => other?.isLetter && other.script !== kind.script && other.script !== 'dense');
}
