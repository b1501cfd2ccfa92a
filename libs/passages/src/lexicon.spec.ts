import { documentTerms, queryTerms } from './lexicon';

const weightOf = (text: string, word: string) => {
  const { indices, values } = documentTerms(text);
  return values[indices.indexOf(queryTerms(word).indices[0]!)] ?? 0;
};

it('finds the same terms in a document and in a query', () => {
  const document = documentTerms('The Gateway holds no business rule.');
  const query = queryTerms('gateway RULE');

  expect(query.indices).toHaveLength(2);
  expect(document.indices).toEqual(expect.arrayContaining(query.indices));
});

it('lists unsigned 32-bit indices in ascending order, none twice', () => {
  const { indices, values } = documentTerms('one two three two one, eins zwei drei, один два три');

  expect(indices).toHaveLength(9);
  expect(values).toHaveLength(9);
  expect(indices).toEqual([...new Set(indices)].sort((a, b) => a - b));
  expect(indices.every((index) => Number.isInteger(index) && index >= 0 && index < 2 ** 32)).toBe(true);
});

it('keeps its hashes for ever, since they are stored', () => {
  // The published test vectors of FNV-1a, 32 bits.
  expect(queryTerms('a').indices).toEqual([0xe40c292c]);
  expect(queryTerms('foobar').indices).toEqual([0xbf9cf968]);
});

it('sums the weights of two words that share a hash', () => {
  const collision = queryTerms('costarring liquid');

  expect(collision).toEqual({ indices: queryTerms('liquid').indices, values: [2] });
});

it('weighs a word by BM25 with k1 1.2, b 0.75 and 128 words as the usual length', () => {
  const filler = (count: number) => Array.from({ length: count }, (_, i) => `w${i}`).join(' ');

  expect(weightOf(`parley ${filler(127)}`, 'parley')).toBeCloseTo(1);
  expect(weightOf(`parley parley parley ${filler(125)}`, 'parley')).toBeCloseTo((3 * 2.2) / (3 + 1.2));
  expect(weightOf('parley', 'parley')).toBeCloseTo(2.2 / (1 + 1.2 * (0.25 + 0.75 / 128)));
});

it('gains little from a word that is repeated a thousand times', () => {
  expect(weightOf('spam '.repeat(1000), 'spam')).toBeLessThan(2.2);
});

it('gives each distinct word of a query the weight 1', () => {
  expect(queryTerms('to be or not to be').values).toEqual([1, 1, 1, 1]);
});

it.each([
  ['letters of either case', 'Straße', 'STRASSE'.replace('SS', 'ß')],
  ['composed and decomposed letters', 'caf\u00e9', 'cafe\u0301'],
  ['full-width and plain letters', 'ＡＰＩ', 'api'],
  ['words in whatever punctuation', '«conv_01»', 'conv 01'],
])('treats %s alike', (_, one, other) => {
  expect(queryTerms(one)).toEqual(queryTerms(other));
});

it('finds a word inside a sentence of a script without spaces', () => {
  const sentence = documentTerms('機械学習は楽しい');

  expect(queryTerms('学習').indices).toHaveLength(2);
  expect(sentence.indices).toEqual(expect.arrayContaining(queryTerms('学習').indices));
});

it('finds no terms where there are no words', () => {
  expect(documentTerms(' \n… --- !?')).toEqual({ indices: [], values: [] });
  expect(queryTerms('')).toEqual({ indices: [], values: [] });
});
