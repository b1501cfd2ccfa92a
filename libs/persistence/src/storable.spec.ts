import { toJsonb, toText } from './storable';

it.each([
  ['NUL', '\u0000', '\ufffd'],
  ['the first half of a character', '\ud83d', '\ufffd'],
  ['the second half of a character', '\udc00 tail', '\ufffd tail'],
  ['a whole character', '🦜', '🦜'],
  ['the six characters that spell an escape', '\\u0000', '\\u0000'],
  ['a backslash before NUL', '\\\u0000', '\\\ufffd'],
  ['other escapes', 'tab\t"quoted"\u0001', 'tab\t"quoted"\u0001'],
])('converts %s for jsonb, as a key and as a value', (_what, text, stored) => {
  expect(JSON.parse(toJsonb({ [text]: [text] }))).toEqual({ [stored]: [stored] });
});

it('replaces NUL and unpaired surrogates in text', () => {
  expect(toText('a\0b\ud83d🦜\udc00\0')).toBe('a\ufffdb\ufffd🦜\ufffd\ufffd');
});
