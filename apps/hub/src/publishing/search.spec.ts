import fc from 'fast-check';
import { compare } from 'semver';
import { hasWord, searchedWords, searchQuery, searchVector, wordsOf } from './search-words';
import { versionKey } from './version-key';

describe('the words of a text', () => {
  it.each([
    ['Google Sheets', ['google', 'sheets']],
    ['acme/google-sheets_2', ['acme', 'google', 'sheets', '2']],
    ['sendEvent', ['sendevent', 'send', 'event']],
    ['parseURLNow', ['parseurlnow', 'parse', 'url', 'now']],
    ['Überweisung', ['überweisung']],
    ['!? …', []],
  ])('splits %j into the words %j', (text, words) => {
    expect([...wordsOf(text)].sort()).toEqual([...words].sort());
  });

  it('searches by the first 20 words, each once', () => {
    const words = Array.from({ length: 30 }, (_entry, index) => `w${index}`);

    expect(searchedWords(['W0', ...words].join(' '))).toEqual(words.slice(0, 20));
  });

  it('matches words by prefix', () => {
    expect(hasWord('Google Sheets', searchedWords('she'))).toBe(true);
    expect(hasWord('Google Sheets', searchedWords('heets'))).toBe(false);
    expect(hasWord('sendEvent', searchedWords('EVE'))).toBe(true);
  });

  it('drops words at the end above the limit of Postgres', () => {
    const actions = Array.from({ length: 1000 }, (_, index) => `${'é'.repeat(400)}${index}`);

    const vector = searchVector({ name: 'tea', title: '', description: 'kettle', actions, interfaces: [] });

    expect(Buffer.byteLength(vector)).toBeLessThanOrEqual(500_000);
    expect(Buffer.byteLength(vector)).toBeGreaterThan(490_000);
    expect(vector).toMatch(/^'tea':1A 'kettle':2D 'é+0':3C .*C$/u);
  });

  it('writes words without syntax of tsvector', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (text) => {
        const vector = searchVector({
          name: text,
          title: text,
          description: text,
          actions: [text],
          interfaces: [text],
        });

        expect(vector).toMatch(/^('[\p{L}\p{N}\p{M}]+':\d+[ABCD]( |$))*$/u);
        expect(searchQuery(searchedWords(text))).toMatch(/^('[\p{L}\p{N}\p{M}]+':\*( & |$))*$/u);
      }),
    );
  });
});

const identifier = fc.oneof(fc.nat(3), fc.constantFrom('a', 'b', 'beta', 'beta1', 'be-ta', 'A', '0a'));
const version = fc
  .tuple(fc.nat(12), fc.nat(12), fc.nat(12), fc.array(identifier, { maxLength: 3 }))
  .map(([major, minor, patch, rest]) => `${major}.${minor}.${patch}${rest.length > 0 ? `-${rest.join('.')}` : ''}`);

describe('the key of a version', () => {
  it('orders keys of versions as semver does', () => {
    fc.assert(
      fc.property(version, version, (a, b) => {
        const [left, right] = [versionKey(a), versionKey(b)];

        expect(left < right ? -1 : left > right ? 1 : 0).toBe(compare(a, b));
      }),
      { numRuns: 1000 },
    );
  });
});
