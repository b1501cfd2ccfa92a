import { createHash } from 'node:crypto';
import { documentTerms, lexiconVersion, queryTerms } from './lexicon';

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

it('lists unique unsigned 32-bit indices in ascending order', () => {
  const { indices, values } = documentTerms('one two three two one, eins zwei drei, один два три');

  expect(indices).toHaveLength(9);
  expect(values).toHaveLength(9);
  expect(indices).toEqual([...new Set(indices)].sort((a, b) => a - b));
  expect(indices.every((index) => Number.isInteger(index) && index >= 0 && index < 2 ** 32)).toBe(true);
});

it('keeps its hashes stable, because they are stored', () => {
  // Published test vectors of 32-bit FNV-1a.
  expect(queryTerms('a').indices).toEqual([0xe40c292c]);
  expect(queryTerms('foobar').indices).toEqual([0xbf9cf968]);
});

it('adds up the weights of two words with the same hash', () => {
  const collision = queryTerms('costarring liquid');

  expect(collision).toEqual({ indices: queryTerms('liquid').indices, values: [2] });
});

it('weighs words by BM25 with k1 = 1.2, b = 0.75 and an average length of 128 words', () => {
  const filler = (count: number) => Array.from({ length: count }, (_, i) => `w${i}`).join(' ');

  expect(weightOf(`parley ${filler(127)}`, 'parley')).toBeCloseTo(1);
  expect(weightOf(`parley parley parley ${filler(125)}`, 'parley')).toBeCloseTo((3 * 2.2) / (3 + 1.2));
  expect(weightOf('parley', 'parley')).toBeCloseTo(2.2 / (1 + 1.2 * (0.25 + 0.75 / 128)));
});

it('saturates the weight of a word repeated a thousand times', () => {
  expect(weightOf('spam '.repeat(1000), 'spam')).toBeLessThan(2.2);
});

it('gives each distinct word of a query the weight 1', () => {
  expect(queryTerms('to be or not to be').values).toEqual([1, 1, 1, 1]);
});

it.each([
  ['letters of either case', 'Straße', 'STRASSE'],
  ['accented and plain letters', 'Ångström, déjà vu, Ёлка', 'angstrom deja vu елка'],
  ['Arabic with vowel signs and without', 'أُسْرَة', 'اسره'],
  ['composed and decomposed letters', 'caf\u00e9', 'cafe\u0301'],
  ['full-width and plain letters', 'ＡＰＩ', 'api'],
  ['words in whatever punctuation', '«conv_01»', 'conv 01'],
  ['with soft hyphens', 'Dampf\u00adschiff', 'Dampfschiff'],
])('treats the words %s alike', (_, one, other) => {
  expect(queryTerms(one)).toEqual(queryTerms(other));
});

it.each([
  ['E-4012', ['e4012', 'E 4012', 'E-4012']],
  ['AB-1234/5', ['ab1234', 'AB 1234', 'ab12345']],
  ['firmware 2.5.5', ['2.5.5']],
  ['mail ann_2@example.com', ['ann_2@example.com']],
  ['50 % off', ['50%', '50 %']],
  ['C++ primer', ['c++']],
])('finds an identifier in "%s" by each of its spellings', (document, spellings) => {
  const { indices } = documentTerms(document);
  const parts = new Set(queryTerms(document.replace(/[^\p{L}\p{N}]+/gu, ' , ')).indices);

  for (const spelling of spellings) {
    const whole = queryTerms(spelling).indices.filter((term) => !parts.has(term));
    expect(whole.length).toBeGreaterThan(0);
    expect(indices).toEqual(expect.arrayContaining(whole));
  }
});

it('distinguishes versions whose numbers have the same digits', () => {
  const term = (version: string) =>
    queryTerms(version).indices.find((each) => !queryTerms('2 5 25').indices.includes(each));

  expect(term('2.5.5')).not.toBe(term('25.5'));
});

it('keeps kana with a voicing mark apart from those without', () => {
  expect(queryTerms('が')).not.toEqual(queryTerms('か'));
});

it('finds a word in a sentence of a script without spaces', () => {
  const sentence = documentTerms('機械学習は楽しい');

  expect(queryTerms('学習').indices).toHaveLength(2);
  expect(sentence.indices).toEqual(expect.arrayContaining(queryTerms('学習').indices));
});

it('finds no terms in text without words', () => {
  expect(documentTerms(' \n… --- !?')).toEqual({ indices: [], values: [] });
  expect(queryTerms('')).toEqual({ indices: [], values: [] });
});

it('changes the terms of a text only with a new version of the lexicon', () => {
  const text =
    'E-4012, AB-1234/5 2.5.5 50 % C++ GRÖSSE Größe Ångström أُسْرَة 東京タワー ภาษาไทย ＡＰＩ v1.2 ann_2@example.com the the';

  const terms = createHash('sha256')
    .update(JSON.stringify(documentTerms(text)))
    .digest('hex')
    .slice(0, 16);

  expect([lexiconVersion, terms]).toEqual([2, '642486da4b3da6d6']);
});
