import { countStructures, countValues } from './json-values';

const count = (text: string, max = 1_000) => countValues(Buffer.from(text), max);

it.each([
  ['1', 1],
  ['{}', 1],
  ['[]', 1],
  ['[ ]', 1],
  ['[1]', 2],
  ['[1,2,3]', 4],
  ['{"a":1,"b":[]}', 3],
  ['{"a":{"b":{"c":[{},{},[]]}}}', 7],
  ['{ "a" : [ 1 , "x" ] , "b" : null }', 5],
])('%s holds %d values', (text, values) => {
  expect(count(text)).toBe(values);
});

it('ignores punctuation and escaped quotes in strings', () => {
  const text = JSON.stringify({ a: '[1,2,{"b":3}]', '{,"': ['\\', '\\"', 'ä,😀'] });

  expect(count(text)).toBe(6);
});

it('counts lists, objects and names of fields', () => {
  const text = JSON.stringify({ a: [1, 2, 3, {}], 'b:{[': 'c:{["', d: [[]] });

  expect(countStructures(Buffer.from(text), 100)).toBe(8);
  expect(countStructures(Buffer.from('[['), 100)).toBe(2);
  expect(countStructures(Buffer.from('['.repeat(1_000)), 10)).toBe(11);
});

it('stops counting above the maximum', () => {
  expect(count(`[${'{},'.repeat(1_000_000)}1]`, 10)).toBe(11);
});

it.each(['', '[', '{"a":', '"', '"\\', ']]]]', ',,,'])('terminates for invalid JSON: %j', (text) => {
  expect(count(text)).toBeLessThanOrEqual(4);
});
