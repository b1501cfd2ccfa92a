import { countValues, ValueCounter } from './json-values';

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
])('counts in %s %d values', (text, values) => {
  expect(count(text)).toBe(values);
});

it('ignores punctuation and escaped quotes in strings', () => {
  const text = JSON.stringify({ a: '[1,2,{"b":3}]', '{,"': ['\\', '\\"', 'ä,😀'] });

  expect(count(text)).toBe(6);
});

it('stops counting values above the maximum', () => {
  expect(count(`[${'{},'.repeat(1_000_000)}1]`, 10)).toBe(11);
});

it.each(['', '[', '{"a":', '"', '"\\', ']]]]', ',,,'])(
  'terminates the count of values for invalid JSON: %j',
  (text) => {
    expect(count(text)).toBeLessThanOrEqual(4);
  },
);

it('counts the same values in chunks of any size', () => {
  const bytes = Buffer.from(JSON.stringify({ a: '[1,"\\', b: ['\\"', '\\\\', { c: [] }], 'ä,"': {} }));
  const { values, structures } = new ValueCounter().add(bytes);

  for (let size = 1; size < bytes.length; size += 1) {
    const counter = new ValueCounter();
    for (let from = 0; from < bytes.length; from += size) counter.add(bytes.subarray(from, from + size));
    expect(counter).toMatchObject({ values, structures });
  }
  expect({ values, structures }).toEqual({ values: 8, structures: 9 });
});
