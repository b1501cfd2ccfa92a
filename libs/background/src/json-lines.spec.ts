import { JsonLines, writeLines } from './json-lines';

const many = <T>(count: number, entry: (index: number) => T) =>
  Array.from({ length: count }, (_, index) => entry(index));
const textOf = (value: object) => Buffer.from([...writeLines(value)].join(''));
const read = (text: string | Buffer) => new JsonLines([Buffer.from(text)]).parse();

/** As JSON, to compare the order of names as well. */
async function expectRoundTrip(value: object): Promise<void> {
  const { parts } = await JsonLines.of(value);
  expect(JSON.stringify(await new JsonLines(parts).parse()) === JSON.stringify(value)).toBe(true);
}

const values: [string, object][] = [
  ['an empty object', {}],
  ['a list', [1, 'two', null, true, [], {}]],
  ['long texts', { a: 'ä😀"\\\n'.repeat(200_000), b: { c: ['x'.repeat(300_000), 'y'] } }],
  ['a text whose surrogate pairs are split', { a: `x${'😀'.repeat(200_000)}` }],
  ['many names', Object.fromEntries(many(50_000, (index) => [`name ${index}`, index]))],
  ['many rows', { rows: many(20_000, (index) => ({ index, text: 'x'.repeat(index % 1_000) })) }],
  ['large values between small ones', { a: 1, b: many(20_000, String), c: 2, d: many(20_000, String), e: 3 }],
  ['large values in large lists', many(3, () => many(3, () => many(9_000, (index) => ({ index }))))],
  ['names of prototypes', JSON.parse(`{"__proto__":{"a":"${'x'.repeat(300_000)}"},"constructor":{"b":1}}`) as object],
  ['a long text named __proto__', JSON.parse(`{"__proto__":"${'x'.repeat(300_000)}"}`) as object],
  ['entries that are undefined', { a: undefined, b: [undefined, 1] }],
];

it.each(values)('carries %s in a line', async (_what, value) => {
  await expectRoundTrip(value);
});

it('reads lines that arrive in parts of any size', async () => {
  const value = { text: 'ä😀'.repeat(100), list: many(10, String) };
  const bytes = textOf(value);

  for (const size of [1, 7, 100]) {
    const parts = many(Math.ceil(bytes.length / size), (index) => bytes.subarray(index * size, (index + 1) * size));
    expect(await new JsonLines(parts).parse()).toEqual(value);
  }
});

it.each(values)('writes %s in lines of limited length and number of values', (_what, value) => {
  const lines = [...writeLines(value)];

  expect(Math.max(...lines.map(({ length }) => length))).toBeLessThan(800_000);
  expect(Math.max(...lines.map((line) => line.split(',').length))).toBeLessThan(10_000);
});

it.each([
  ['nothing', ''],
  ['a value without a line break', '[[],{}]'],
  ['a cut line', '[[],{"a":""}]\n[["a"],"x'],
  ['no JSON', 'a\n'],
  ['a value that is no line', '{}\n'],
  ['null', 'null\n'],
  ['a first line for another place', '[["a"],{}]\n'],
  ['a text as a whole', '[[],"a"]\n'],
  ['a place that is missing', '[[],{}]\n[["a"],{}]\n'],
  ['a place in a text', '[[],{"a":"b"}]\n[["a",0],"c"]\n'],
  ['a text that continues a list', '[[],{"a":[]}]\n[["a"],"b"]\n'],
  ['a list that continues an object', '[[],{"a":{}}]\n[["a"],[1]]\n'],
  ['a text that continues the whole', '[[],{}]\n[[],"a"]\n'],
])('refuses the line %s', async (_what, text) => {
  await expect(read(text)).rejects.toThrow();
});

it.each(['[[],{}]\n[["__proto__"],{"polluted":1}]\n', '[[],{}]\n[["constructor","prototype"],{"polluted":1}]\n'])(
  'changes no prototype for the line %j',
  async (text) => {
    await expect(read(text)).rejects.toThrow('missing');
    expect({}).not.toHaveProperty('polluted');
  },
);
