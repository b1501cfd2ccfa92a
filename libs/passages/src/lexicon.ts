import type { SparseTerms } from './passage-index';

const k1 = 1.2;
const b = 0.75;
/**
 * Words of a passage of usual length (some 800 characters of English, 6.2 a word with its space). Fixed, because the
 * true mean moves with every write and would change the weights of points that are stored already.
 */
const averageWords = 128;

/** Scripts that put no space between words: each character is a term of its own, and a match is a run of them. */
const unspaced =
  '[\\p{sc=Han}\\p{sc=Hiragana}\\p{sc=Katakana}\\p{sc=Thai}\\p{sc=Lao}\\p{sc=Khmer}\\p{sc=Myanmar}]\\p{M}*';
const word = new RegExp(`${unspaced}|(?:(?!${unspaced})[\\p{L}\\p{M}\\p{N}])+`, 'gu');

/**
 * Terms of a passage with the part of BM25 that depends on it alone: frequency, saturated, against its length.
 * No stemming and no stop words, which would tie the index to one language: IDF makes common words light.
 */
export function documentTerms(text: string): SparseTerms {
  const words = wordsOf(text);
  const lengthFactor = k1 * (1 - b + (b * words.length) / averageWords);
  const frequencies = count(words);
  return toSparseTerms(frequencies, (frequency) => (frequency * (k1 + 1)) / (frequency + lengthFactor));
}

/** Terms of a query, each of weight 1 however often it stands there. The index brings in the IDF. */
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

/** Terms that share a hash share an entry, which has the sum of their weights. */
function toSparseTerms(frequencies: Map<string, number>, weigh: (frequency: number) => number): SparseTerms {
  const weights = new Map<number, number>();
  for (const [term, frequency] of frequencies) {
    const index = hash(term);
    weights.set(index, (weights.get(index) ?? 0) + weigh(frequency));
  }
  const entries = [...weights].sort(([left], [right]) => left - right);
  return { indices: entries.map(([index]) => index), values: entries.map(([, value]) => value) };
}

/** FNV-1a of 32 bits over UTF-16 code units. Stored with every point: another hash needs every passage indexed again. */
function hash(term: string): number {
  let value = 0x811c9dc5;
  for (let i = 0; i < term.length; i++) value = Math.imul(value ^ term.charCodeAt(i), 0x01000193);
  return value >>> 0;
}
