import { toAsciiJson } from './ascii-json';

it.each([
  ['accents', { text: 'é' }, '{"text":"\\u00e9"}'],
  ['characters outside the basic plane', { text: '😀' }, '{"text":"\\ud83d\\ude00"}'],
  ['keys', { 'clé\u2028': 1 }, '{"cl\\u00e9\\u2028":1}'],
  ['the delete character', ['\u007f~'], '["\\u007f~"]'],
  ['control characters and quotes', ['\n"\\'], '["\\n\\"\\\\"]'],
  ['half of a surrogate pair', ['\ud83d'], '["\\ud83d"]'],
])('escapes in JSON %s', (_, value, text) => {
  expect(toAsciiJson(value)).toBe(text);
  expect(JSON.parse(text)).toEqual(value);
});
