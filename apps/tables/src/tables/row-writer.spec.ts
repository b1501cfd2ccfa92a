import { Database } from '@parley/persistence/database';
import { createEmptyDatabase, type EmptyDatabase } from '@parley/testing/test-database';
import fc from 'fast-check';
import { columnsOf } from '../schema/columns';
import { type TextRow, toRow } from './row.entity';
import { parsed, RowWriter } from './row-writer';

const names = ['name', 'a "quoted" name', 'größe', ...Array.from({ length: 9 }, (_, index) => `column ${index}`)];
// Columns with the indexes 3, 7 and 11 were removed.
const indexes = [0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14];
const properties = Object.fromEntries(
  names.map((name, at) => [name, { type: 'string', 'x-zui': { index: indexes[at] } }]),
);
const schema = { type: 'object', properties } as unknown as Parameters<typeof columnsOf>[0]['schema'];
const columns = [...columnsOf({ number: '77', schema }).values()];
const keys = columns.map(({ key }) => key);
const [first, second, third] = keys as [string, string, string];
const last = keys.at(-1)!;
const removed = ['24.1', '25.3', '25.7', '25.11', '25.15'] as const;
const writer = new RowWriter(columns);

let place: EmptyDatabase;
let database: Database;

beforeAll(async () => {
  place = await createEmptyDatabase();
  database = await Database.open({ url: place.url, schema: 'public', migrations: [], poolSize: 1 });
});

afterAll(async () => {
  await database?.close();
  await place?.drop();
});

afterEach(() => jest.restoreAllMocks());

/** Rows with these data as Postgres returns them. */
async function stored(...data: object[]): Promise<TextRow[]> {
  return database.query<TextRow>(
    `SELECT place::int AS id, now() AS created_at, now() AS updated_at, data, NULL::jsonb AS computed, NULL::text[] AS stale
     FROM jsonb_array_elements($1::jsonb) WITH ORDINALITY AS entry (data, place)`,
    [JSON.stringify(data)],
    undefined,
    'texts',
  );
}

const answered = (row: TextRow) => JSON.parse(writer.write(row)) as unknown;
const expected = (row: TextRow) => toRow(columns, parsed(row));

it('stores the columns of the test in the order of their keys, as Postgres has', async () => {
  const [row] = await stored(Object.fromEntries(keys.map((key) => [key, 1]).toReversed()));

  expect([...row!.data.matchAll(/"([^"]+)": /g)].map(([, key]) => key)).toEqual(keys);
});

it('writes plain rows without parsing them', async () => {
  const rows = await stored(
    {},
    { [first]: 'tea' },
    { [second]: 5, [last]: null },
    { [third]: ['a', 5], [last]: [] },
    Object.fromEntries(keys.map((key, index) => [key, [`text ${index}`, -1.5e-7, true, null, ''][index % 5]])),
  );
  const wanted = rows.map(expected);
  const parse = jest.spyOn(JSON, 'parse');

  const text = writer.writeAll(rows);

  expect(parse).not.toHaveBeenCalled();
  expect(JSON.parse(text)).toEqual(wanted);
  expect(writer.writeAll([])).toBe('[]');
});

const cases: Record<string, object> = {
  'a quote': { [first]: '"', [second]: 'a "word"' },
  'a backslash at the end': { [first]: '\\', [second]: '\\\\"' },
  'the key of another column': { [first]: `"${second}": 5, `, [second]: `x", "${last}": 6` },
  'only the key of another column': { [first]: second, [second]: `"${last}"` },
  'the text between two cells': { [first]: 'a, ', [second]: '", "' },
  'braces and brackets': { [first]: '{"a": [1]}', [second]: '[' },
  'control characters': { [first]: '\u0001\n\t\b\f\r', [second]: '\u2028 💬' },
  'nested values': { [first]: { [second]: 1 }, [second]: [{ [last]: 2 }], [last]: [] },
  'a list': { [first]: ['a', second, `"${last}": `, null], [second]: [] },
  'a cell of a removed column before all others': { [removed[0]]: 'old', [second]: 1 },
  'a cell of a removed column after a number': { [third]: 1, [removed[1]]: 2, [last]: 3 },
  'a cell of a removed column after a string': { [third]: 'a', [removed[1]]: 'b' },
  'a cell of a removed column after a quote': { [third]: '"', [removed[2]]: '"', [last]: 5 },
  'a cell of a removed column after all others': { [last]: true, [removed[4]]: 'a' },
  'only cells of removed columns': { [removed[0]]: 5, [removed[3]]: '6' },
};

it.each(Object.keys(cases))('writes what parsing and writing would: %s', async (name) => {
  const [row] = await stored(cases[name]!);

  expect(answered(row!)).toEqual(expected(row!));
});

it('reports the state of computed columns of a written row', async () => {
  const [row] = await stored({ [first]: 'a' });
  const computed = { ...row!, computed: JSON.stringify({ [first]: { status: 'computed' } }) };
  const stale = { ...row!, stale: [second] };

  expect(answered(computed)).toMatchObject({ name: 'a', computed: { name: { status: 'computed' } } });
  expect(answered(stale)).toMatchObject({ name: 'a', stale: ['a "quoted" name'] });
});

it('writes what parsing and writing would, whatever the cells contain', async () => {
  const piece = fc.constantFrom('"', '\\', ': ', ', ', '{', '}', '[', ']', first, second, last, removed[0], '\n', 'ä');
  const text = fc.oneof(
    fc.string({ unit: 'grapheme' }),
    fc.array(piece, { maxLength: 9 }).map((pieces) => pieces.join('')),
  );
  const scalar = fc.oneof(
    text,
    fc.integer(),
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.boolean(),
    fc.constant(null),
  );
  const value = fc.oneof(
    { weight: 9, arbitrary: scalar },
    fc.array(scalar),
    fc.dictionary(fc.constantFrom(first, second, 'x'), scalar),
  );
  const key = fc.oneof({ weight: 9, arbitrary: fc.constantFrom(...keys) }, fc.constantFrom(...removed));
  const data = fc
    .sample(fc.dictionary(key, value), 5000)
    .map((row) => JSON.parse(JSON.stringify(row).replaceAll('\\u0000', '')) as object);

  const rows = await stored(...data);

  for (const row of rows) expect(answered(row)).toEqual(expected(row));
});
