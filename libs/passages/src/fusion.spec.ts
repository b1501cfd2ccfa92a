import { fuse } from './fusion';
import { queryTerms } from './lexicon';

const near = (id: string, cosine: number) => ({ item: { id }, cosine });
const worded = (id: string, bm25: number, cosine?: number) => ({ item: { id }, bm25, cosine });
const ofWords = (words: string, points = 100) => ({ terms: queryTerms(words), points });
/** Bound of BM25 for two words among 100 points: the weight 2.2, and the rarity ln(1 + 100.5 / 0.5), of each. */
const highest = 2 * 2.2 * Math.log(202);
const silent = { terms: { indices: [], values: [] }, points: 0 };

const ranked = (...parameters: Parameters<typeof fuse>) =>
  fuse(...parameters).map(({ item, score }) => [item.id, Number(score.toFixed(6))]);

it('scores by 1 - (1 - cosine) * (1 - share of words) ** 1.5', () => {
  const candidates = { nearest: [near('a', 0.6)], worded: [worded('a', highest / 4)] };

  expect(ranked(candidates, ofWords('blue whale'), 10)).toEqual([['a', Number((1 - 0.4 * 0.75 ** 1.5).toFixed(6))]]);
});

it('gives an equal vector the score 1, and the cosine to a candidate without words', () => {
  const candidates = { nearest: [near('same', 1), near('near', 0.5), near('opposite', -0.5)], worded: [] };

  expect(ranked(candidates, silent, 10)).toEqual([
    ['same', 1],
    ['near', 0.5],
    ['opposite', -0.5],
  ]);
});

it('uses the cosine of a worded candidate that is not among the nearest, or 0 if it is unknown', () => {
  const candidates = {
    nearest: [near('near', 0.5)],
    worded: [worded('far', highest / 2, 0.25), worded('unknown', highest / 2)],
  };

  expect(ranked(candidates, ofWords('blue whale'), 10)).toEqual([
    ['far', Number((1 - 0.75 * 0.5 ** 1.5).toFixed(6))],
    ['unknown', Number((1 - 0.5 ** 1.5).toFixed(6))],
    ['near', 0.5],
  ]);
});

it('gives a word more weight in a short query and in a small corpus', () => {
  const scoreOf = (words: string, points?: number) =>
    fuse({ nearest: [near('a', 0)], worded: [worded('a', 5)] }, ofWords(words, points), 1)[0]!.score;

  expect(scoreOf('whale')).toBeGreaterThan(scoreOf('blue whale'));
  expect(scoreOf('whale', 10)).toBeGreaterThan(scoreOf('whale', 1_000));
});

it('returns at most the limit and breaks ties by id', () => {
  const candidates = { nearest: [near('b', 0.5), near('c', 0.5), near('a', 0.5)], worded: [] };

  expect(fuse(candidates, silent, 2).map(({ item }) => item.id)).toEqual(['a', 'b']);
});
