import { highestTermWeight } from './lexicon';
import type { SparseTerms } from './passage-index';

/**
 * Weight of words against meaning, chosen on bench/retrieval: see docs/search.md.
 */
const wordExponent = 1.5;

/** Candidates of one search, best first: the nearest by cosine, and those with the highest BM25 scores. */
export interface Candidates<Item> {
  nearest: { item: Item; cosine: number }[];
  /** The cosine of a worded candidate may be missing: it was written or removed during the search. */
  worded: { item: Item; cosine?: number; bm25: number }[];
}

/** Size of the corpus that the words are rare or common in, and the words themselves. */
export interface Corpus {
  terms: SparseTerms;
  points: number;
}

export function candidatesPerSide(limit: number): number {
  return Math.max(100, limit);
}

/**
 * Orders candidates by relevance, then id. Relevance treats meaning and words as independent evidence: 1 - (1 - cosine)
 * * (1 - share of words) ** 1.5. It is 1 for an equal vector and at least the cosine; unlike ranks, it does not depend
 * on the other candidates.
 */
export function fuse<Item extends { id: string }>(
  { nearest, worded }: Candidates<Item>,
  corpus: Corpus,
  limit: number,
): { item: Item; score: number; words: number }[] {
  const bm25Of = new Map(worded.map(({ item, bm25 }) => [item.id, bm25]));
  const cosines = new Map(worded.map(({ item, cosine = 0 }) => [item.id, { item, cosine }]));
  for (const each of nearest) cosines.set(each.item.id, each);
  const highest = highestScore(corpus);
  return [...cosines.values()]
    .map(({ item, cosine }) => {
      const share = Math.min(1, (bm25Of.get(item.id) ?? 0) / highest);
      const words = 1 - (1 - share) ** wordExponent;
      return { item, score: 1 - (1 - cosine) * (1 - words), words };
    })
    .sort((a, b) => b.score - a.score || (a.item.id < b.item.id ? -1 : 1))
    .slice(0, limit);
}

/** Upper bound of BM25: each term is the only one of its kind in the corpus, and as frequent as can be. */
function highestScore({ terms, points }: Corpus): number {
  const weight = terms.values.reduce((sum, value) => sum + value, 0);
  return weight * highestTermWeight * inverseDocumentFrequency(0, points) || 1;
}

/** In the non-negative form of Lucene and Qdrant. */
export function inverseDocumentFrequency(documentFrequency: number, points: number): number {
  return Math.log(1 + (points - documentFrequency + 0.5) / (documentFrequency + 0.5));
}
