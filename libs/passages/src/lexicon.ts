import type { SparseTerms } from './passage-index';

const k1 = 1.2;
const b = 0.75;
/**
 * Average passage length in words (about 800 characters of English, 6.2 per word with its space). Constant, because the
 * true mean changes with every write and would change the weights of stored points.
 */
const averageWords = 128;

/** Scripts without spaces between words: each character is a term. */
const unspaced =
  '[\\p{sc=Han}\\p{sc=Hiragana}\\p{sc=Katakana}\\p{sc=Thai}\\p{sc=Lao}\\p{sc=Khmer}\\p{sc=Myanmar}]\\p{M}*';
const word = new RegExp(`${unspaced}|(?:(?!${unspaced})[\\p{L}\\p{M}\\p{N}])+`, 'gu');

/**
 * Document terms with the BM25 part that depends only on the passage: saturated term frequency, normalised by length.
 * No stemming or stop words, which depend on the language: IDF already gives common words little weight.
 */
export function documentTerms(text: string): SparseTerms {
  const words = wordsOf(text);
  const lengthFactor = k1 * (1 - b + (b * words.length) / averageWords);
  const frequencies = count(words);
  return toSparseTerms(frequencies, (frequency) => (frequency * (k1 + 1)) / (frequency + lengthFactor));
}

/** Query terms, each with weight 1 regardless of repetition. The index multiplies by the IDF. */
export function queryTerms(text: string): SparseTerms {
  return toSparseTerms(count(wordsOf(text)), () => 1);
}

function wordsOf(text: string): string[] {
  return text.normalize('NFKC').toLowerCase().match(word) ?? [];
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

/** 32-bit FNV-1a over UTF-16 code units. Stored with every point: changing the hash requires a full reindex. */
function hash(term: string): number {
  let value = 0x811c9dc5;
  for (let i = 0; i < term.length; i++) value = Math.imul(value ^ term.charCodeAt(i), 0x01000193);
  return value >>> 0;
}
