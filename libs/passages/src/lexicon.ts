import type { SparseTerms } from './passage-index';

/** Version of the terms of a text, kept with whatever has them: to be raised with each change of `documentTerms`. */
export const lexiconVersion = 2;

const k1 = 1.2;
const b = 0.75;
/**
 * Average passage length in words (about 800 characters of English, 6.2 per word with its space). Constant, because the
 * true mean changes with every write and would change the weights of stored points.
 */
const averageWords = 128;

/** Least upper bound of the weight of a document term: saturated frequency in a very short passage. */
export const highestTermWeight = k1 + 1;

/** Scripts without spaces between words: each character is a term. */
const unspaced =
  '[\\p{sc=Han}\\p{sc=Hiragana}\\p{sc=Katakana}\\p{sc=Thai}\\p{sc=Lao}\\p{sc=Khmer}\\p{sc=Myanmar}]\\p{M}*';
const word = new RegExp(`${unspaced}|(?:(?!${unspaced})[\\p{L}\\p{M}\\p{N}])+`, 'gu');

/**
 * Further terms of identifiers, beside their parts: words joined by a sign (`E-4012`, `2.5.5`, `AB-1234/5`), letters
 * before digits (`E 4012`, and `AB-1234` in `AB-1234/5`), words with a sign behind them (`50%`, `C++`). Each begins where
 * a word begins, so that matching takes linear time.
 */
const joined = /(?<![\p{L}\p{N}])[\p{L}\p{N}]+(?:[-./_:@][\p{L}\p{N}]+)+/gu;
const lettersBeforeDigits = /(?<![\p{L}\p{N}])\p{L}{1,5}[ -]\p{N}+(?![\p{L}\p{N}])/gu;
const withSign = /(?<![\p{L}\p{N}])[\p{L}\p{N}]+(?: ?%|[+#]+)/gu;

/**
 * Document terms with the BM25 part that depends only on the passage: saturated term frequency, normalised by length.
 * No stemming or stop words, which depend on the language: IDF already gives common words little weight.
 */
export function documentTerms(text: string): SparseTerms {
  const folded = fold(text);
  const words = wordsOf(folded);
  const lengthFactor = k1 * (1 - b + (b * words.length) / averageWords);
  const frequencies = count([...words, ...identifiersOf(folded)]);
  return toSparseTerms(frequencies, (frequency) => (frequency * highestTermWeight) / (frequency + lengthFactor));
}

/** Query terms, each with weight 1 regardless of repetition. The index multiplies by the IDF. */
export function queryTerms(text: string): SparseTerms {
  const folded = fold(text);
  return toSparseTerms(count([...wordsOf(folded), ...identifiersOf(folded)]), () => 1);
}

/** Removes differences of spelling that people do not type: case, width, accents, German ß, Arabic vowel signs, soft hyphens. */
function fold(text: string): string {
  return text
    .normalize('NFKC')
    .toLowerCase()
    .replaceAll('ß', 'ss')
    .normalize('NFD')
    .replace(/(?<=[\p{sc=Latin}\p{sc=Greek}\p{sc=Cyrillic}\p{sc=Arabic}])\p{M}+|[\u0640\u00ad]/gu, '')
    .normalize('NFC')
    .replaceAll('\u0649', '\u064a')
    .replaceAll('\u0629', '\u0647');
}

function wordsOf(folded: string): string[] {
  return folded.match(word) ?? [];
}

function identifiersOf(folded: string): string[] {
  const compounds = [...matches(folded, joined), ...matches(folded, lettersBeforeDigits)]
    .filter((found) => /\p{N}/u.test(found))
    // Numbers keep their signs: 2.5.5 is not 25.5.
    .map((found) => (/\p{L}/u.test(found) ? found.replace(/[-./_:@ ]/g, '') : found));
  return [...new Set(compounds), ...matches(folded, withSign).map((found) => found.replace(' ', ''))];
}

function matches(text: string, pattern: RegExp): string[] {
  return text.match(pattern) ?? [];
}

function count(words: string[]): Map<string, number> {
  const frequencies = new Map<string, number>();
  for (const each of words) frequencies.set(each, (frequencies.get(each) ?? 0) + 1);
  return frequencies;
}

function toSparseTerms(frequencies: Map<string, number>, weigh: (frequency: number) => number): SparseTerms {
  const weights = new Map<number, number>();
  for (const [term, frequency] of frequencies) {
    const index = hash(term);
    weights.set(index, (weights.get(index) ?? 0) + weigh(frequency));
  }
  const entries = [...weights].sort(([left], [right]) => left - right);
  return { indices: entries.map(([index]) => index), values: entries.map(([, value]) => value) };
}

/** 32-bit FNV-1a over UTF-16 code units. Stored with every point. */
function hash(term: string): number {
  let value = 0x811c9dc5;
  for (let i = 0; i < term.length; i++) value = Math.imul(value ^ term.charCodeAt(i), 0x01000193);
  return value >>> 0;
}
