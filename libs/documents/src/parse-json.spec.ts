import fc from 'fast-check';
import { parseJson, parseJsonLines } from './parse-json';
import { readJson } from './read-json';

const texts = (json: string) => Array.from(parseJson(json), ({ text }) => text);

it('writes a block for each array element, with a line for each value', () => {
  const json =
    '[{"name": "Ann", "at": {"city": "Rome"}, "tags": ["a", "b"]}, {"name": "Bob", "on": [{"x": 1}, {"x": 2}]}]';

  expect(texts(json)).toEqual(['name: Ann\nat:\n  city: Rome\ntags: a, b', 'name: Bob\non:\n  - x: 1\n  - x: 2']);
});

it('writes a block for each nested object or array, and one for adjacent scalars', () => {
  expect(texts('{"title": "T", "year": 2024, "authors": ["A", "B"], "more": {"x": null}, "end": true}')).toEqual([
    'title: T\nyear: 2024',
    'authors: A, B',
    'more:\n  x: null',
    'end: true',
  ]);
});

it.each([
  ['"just \\u00e9 \\"text\\"\\n"', ['just é "text"\n']],
  ['12345678901234567890.10', ['12345678901234567890.10']],
  ['{"a": 1, "a": 2}', ['a: 1\na: 2']],
  ['[[], {}]', ['[]', '{}']],
  ['{"a":1}\n{"a":2}', ['a: 1', 'a: 2']],
  ['[["a", "b"], ["c"]]', ['a, b', 'c']],
  ['// of\n{ /* "x": 1, */ "a": "// b", // c\n "d": [1, /* 2 */ 3,], } // end', ['a: // b', 'd: 1, 3']],
  ['{"a": NaN, "b": [Infinity, -Infinity]}', ['a: NaN', 'b: Infinity, -Infinity']],
])('keeps every value of %s', (json, expected) => {
  expect(texts(json)).toEqual(expected);
});

it.each([
  '{"a": }',
  '{"a": 1',
  '[1, 2',
  '{"a" 1}',
  '{a: 1}',
  '[1 2]',
  '"open',
  'nope',
  '[1]]',
  '{"a": "\\x"}',
  '[,]',
  '[1,,]',
  '{,}',
  '/* open',
])('refuses as JSON %s', (json) => {
  expect(() => texts(`\n\n${json}`)).toThrow(/not valid JSON: line 3, /);
});

it.each([
  ['[\n  1,\n  yes\n]', 'line 3, character 3: expected a value, but found "yes"'],
  ['{"a" 1}', 'line 1, character 6: expected a colon, but found "1"'],
  ["{'a': 1}", 'line 1, character 2: expected a name in double quotes, but found "\'"'],
  ['[1 2]', 'line 1, character 4: expected a comma or "]", but found "2"'],
  ['{"a": 1', 'line 1, character 8: expected a comma or "}", but the file ends there'],
  ['["a', 'line 1, character 2: expected a string with a closing quote, but found "\u0022"'],
])('reports the error and its position for %s', (json, problem) => {
  expect(() => texts(json)).toThrow(problem);
});

it.each<[string, unknown, string[]]>([
  [
    'GeoJSON',
    {
      type: 'FeatureCollection',
      features: [
        { type: 'Feature', properties: { name: 'Pier 3' }, geometry: { type: 'Point', coordinates: [1.5, 2] } },
        { type: 'Feature', properties: { name: 'Quay' }, geometry: { coordinates: [[[0, 1]], [[2, 3]]] } },
      ],
    },
    [
      'type: FeatureCollection',
      'features:\n  type: Feature\n  properties:\n    name: Pier 3\n  geometry:\n    type: Point\n    coordinates: 1.5, 2',
      'features:\n  type: Feature\n  properties:\n    name: Quay\n  geometry:\n    coordinates: 0, 1, 2, 3',
    ],
  ],
  [
    'records below two names',
    { data: { boats: [{ id: 'A-1' }, { id: 'A-2' }] } },
    ['data:\n  boats:\n    id: A-1', 'data:\n  boats:\n    id: A-2'],
  ],
  [
    'lists within lists of records',
    [{ legs: [{ to: 'B', via: [{ x: 1 }, { x: 2 }] }, { to: 'C' }], end: 1 }],
    ['legs:\n  - to: B\n    via:\n      - x: 1\n      - x: 2\n  - to: C\nend: 1'],
  ],
  ['values after a nested object', { a: { b: { c: 1 }, d: 2 } }, ['a:\n  b:\n    c: 1\n  d: 2']],
  [
    'long values of a list',
    { notes: ['The light is lit at dusk, and put out at dawn, every single day of it.', 'short'] },
    ['notes: The light is lit at dusk, and put out at dawn, every single day of it., short'],
  ],
])('writes the path of the values of %s once a record', (_, value, expected) => {
  expect(texts(JSON.stringify(value))).toEqual(expected);
});

it('repeats the names above a value where a record is divided', () => {
  const value = {
    server: { tls: Object.fromEntries(Array.from({ length: 100 }, (_, i) => [`option${i}`, `v${i}`.repeat(9)])) },
  };
  const blocks = texts(JSON.stringify(value));

  expect(blocks.length).toBeGreaterThan(2);
  for (const block of blocks) {
    expect(block).toMatch(/^server:\n {2}tls:\n {4}option\d/);
    expect(block.length).toBeLessThan(1_000);
  }
});

it('does not repeat a deep path in each block', () => {
  const deep = `${'{"a":'.repeat(900)}[${'1,'.repeat(5_000)}1]${'}'.repeat(900)}`;

  expect(texts(deep).join('').length).toBeLessThan(10 * deep.length);
  expect(texts(deep)[1]).toMatch(/^(?: *a:\n){10} *a: 1, 1/);
});

it('reports progress of reading JSON', () => {
  const parts: number[] = [];

  for (const block of parseJson(JSON.stringify(['a', 'b', 'c', 'd']), (part) => parts.push(part))) void block;

  expect(parts.length).toBeGreaterThan(1);
  expect(parts).toEqual(parts.toSorted((a, b) => a - b));
  expect(parts[0]).toBeGreaterThan(0);
  expect(parts.at(-1)).toBeLessThanOrEqual(1);
});

it('reads a million comments', () => {
  expect(texts(`${'// a\n/* b */'.repeat(1_000_000)}1`)).toEqual(['1']);
});

it('refuses a value that is nested a million deep', () => {
  expect(() => texts('['.repeat(1_000_000))).toThrow(/nested deeper/);
});

it('reads a string of 20 MB', () => {
  const text = 'a \\" '.repeat(4_000_000);

  expect(texts(`{"long": "${text}"}`)[0]).toHaveLength(16_000_000 + 'long: '.length);
});

it('does not repeat a long name in the path of each value below it', () => {
  const name = 'n'.repeat(100_000);

  const [text] = texts(`[{"${name}": [${'1,'.repeat(1000)}1]}]`);

  expect(text).toContain(name);
  expect(text!.length).toBeLessThan(250_000);
});

it('finds every scalar of arbitrary JSON', () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 5 }), fc.constantFrom(undefined, 2), (value, indentation) => {
      const scalars: string[] = [];
      const collect = (one: unknown): void => {
        if (typeof one === 'object' && one !== null && Object.keys(one).length > 0) Object.values(one).forEach(collect);
        else scalars.push(typeof one === 'string' ? one : JSON.stringify(one));
      };
      collect(value);

      const read = Array.from(readJson(JSON.stringify(value, null, indentation)), ({ text }) => text);

      expect(read).toEqual(scalars);
    }),
    { numRuns: 500 },
  );
});

it('writes a block for each line, and keeps an invalid line unchanged', () => {
  const jsonl = '{"a": 1, "b": {"c": "x"}}\n\n{"a": 2}\n// a note\n{"a": "cut of';

  expect(Array.from(parseJsonLines([jsonl]), ({ text }) => text)).toEqual([
    'a: 1\nb:\n  c: x',
    'a: 2',
    '// a note',
    '{"a": "cut of',
  ]);
});
