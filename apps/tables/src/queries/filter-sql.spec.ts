import type { ColumnSchema } from '@parley/contracts/tables/table-schema';
import { Database } from '@parley/persistence/database';
import { toJsonb } from '@parley/persistence/storable';
import { createDatabaseOfLanguage, type EmptyDatabase } from '@parley/testing/test-database';
import fc from 'fast-check';
import { columnsOf } from '../schema/columns';
import { tablesDatabase } from '../tables.module';
import { readFilter } from './filter-reader';
import { conditionOf } from './filter-sql';
import { Grouping, type GroupRow } from './grouping';
import { pageStatement } from './page-sql';
import { type Direction, orderTerms, readOrder } from './row-order';

type Json = null | boolean | number | string | Json[] | { [name: string]: Json };
type Row = { id: number; createdAt: string; updatedAt: string } & Record<string, Json>;
type Filter = Record<string, unknown>;

const number = '7';
const schemas = {
  name: { type: 'string' },
  price: { type: 'number' },
  sold: { type: 'boolean' },
  when: { type: 'string', format: 'date-time' },
  tags: { type: 'array' },
  meta: { type: 'object' },
  'dotted.name': { type: 'string' },
  nothing: { type: 'null' },
} as const;
const properties = Object.fromEntries(
  Object.entries(schemas).map(([name, schema], index): [string, ColumnSchema] => [
    name,
    { ...schema, 'x-zui': { index } },
  ]),
);
const columns = columnsOf({ number, schema: { type: 'object', properties, additionalProperties: true } });

let empty: EmptyDatabase;
let database: Database;

// An English database sorts `a` before `B` unless a statement asks for code points.
beforeAll(async () => {
  empty = await createDatabaseOfLanguage('en-US');
  database = await Database.open({ ...tablesDatabase, url: empty.url, poolSize: 2 });
  await database.migrate();
});

afterAll(async () => {
  await database?.close();
  await empty?.drop();
});

async function store(rows: Row[], keyColumn?: string): Promise<void> {
  await database.query('TRUNCATE row');
  const stored = rows.map(({ id, createdAt, updatedAt, ...values }) => {
    const present = Object.entries(values).filter(([, value]) => value !== null);
    const data = Object.fromEntries(present.map(([name, value]) => [columns.get(name)!.key, value]));
    return { id, createdAt, updatedAt, data };
  });
  await database.query(
    `INSERT INTO row (table_number, id, created_at, updated_at, data, key)
     SELECT $1, (entry ->> 'id')::int, (entry ->> 'createdAt')::timestamptz, (entry ->> 'updatedAt')::timestamptz,
       entry -> 'data', row_key(entry -> 'data' -> $3)
     FROM jsonb_array_elements($2::jsonb) AS entry`,
    [number, toJsonb(stored), columns.get(keyColumn ?? '')?.key ?? null],
  );
}

/** Ids of the rows that match each filter, and the number of rows for which its condition is null. */
async function ask(filters: Filter[]): Promise<{ ids: number[]; open: number }[]> {
  const values: unknown[] = [number];
  const conditions = filters.map((filter) => conditionOf(readFilter(filter, columns), values));
  const answers = filters.map(
    (_filter, index) => `jsonb_build_object(
      'ids', coalesce(jsonb_agg(id ORDER BY id) FILTER (WHERE c${index}), '[]'),
      'open', count(*) FILTER (WHERE c${index} IS NULL))`,
  );
  const [answer] = await database.query<{ all: { ids: number[]; open: number }[] }>(
    `SELECT jsonb_build_array(${answers.join(', ')}) AS all
     FROM (
       SELECT id, ${conditions.map((condition, index) => `${condition} AS c${index}`).join(', ')}
       FROM row WHERE table_number = $1 OFFSET 0) AS conditions`,
    values,
  );
  return answer!.all;
}

const pageLimit = 30;

async function page(filter: Filter, direction: Direction): Promise<number[]> {
  const values: unknown[] = [];
  const statement = pageStatement(
    {
      table: { number, version: 1 },
      filter: readFilter(filter, columns),
      keyOfKeyColumn: columns.get('name')!.key,
      order: readOrder(columns, 'id', direction),
      offset: 0,
      limit: pageLimit,
      maxRowBytes: 4096,
    },
    values,
  );
  return (await database.query<{ id: number }>(statement, values)).map(({ id }) => id);
}

/* Independent implementation of the filter language: no code shared with the compiler. */

function matches(row: Row, filter: Filter): boolean {
  return Object.entries(filter).every(([name, expected]) => {
    if (name === '$and') return (expected as Filter[]).every((entry) => matches(row, entry));
    if (name === '$or') return (expected as Filter[]).some((entry) => matches(row, entry));
    if (name === '$not') return !matches(row, expected as Filter);
    return holds(valueAt(row, name), expected as Json);
  });
}

function valueAt(row: Row, name: string): Json {
  const column = Object.keys(row).find((entry) => entry === name) ?? name.split('.')[0]!;
  const path = column === name ? [] : name.split('.').slice(1);
  return path.reduce<Json>((value, field) => {
    if (typeof value !== 'object' || value === null) return null;
    return (Object.hasOwn(value, field) ? (value as Record<string, Json>)[field] : null) ?? null;
  }, row[column] ?? null);
}

function holds(value: Json, expected: Json): boolean {
  const isOperators = isObject(expected) && Object.keys(expected).some((name) => name.startsWith('$'));
  if (!isOperators) return isEqualTo(value, expected);
  return Object.entries(expected).every(([operator, operand]) =>
    operates(value, operator, operand, expected.$options as string),
  );
}

function operates(value: Json, operator: string, operand: Json, options?: string): boolean {
  switch (operator) {
    case '$eq':
      return isEqualTo(value, operand);
    case '$ne':
      return !isEqualTo(value, operand);
    case '$in':
      return (operand as Json[]).some((choice) => isEqualTo(value, choice));
    case '$nin':
      return !(operand as Json[]).some((choice) => isEqualTo(value, choice));
    case '$gt':
      return someOf(value, (item) => isOrdered(item, operand) && order(item, operand) > 0);
    case '$gte':
      return someOf(value, (item) => isOrdered(item, operand) && order(item, operand) >= 0);
    case '$lt':
      return someOf(value, (item) => isOrdered(item, operand) && order(item, operand) < 0);
    case '$lte':
      return someOf(value, (item) => isOrdered(item, operand) && order(item, operand) <= 0);
    case '$exists':
      return (value !== null) === operand;
    case '$mod': {
      const [divisor, remainder] = operand as [number, number];
      // `=== 0` also for -0.
      return someOf(value, (item) => typeof item === 'number' && (Math.trunc(item) % divisor) - remainder === 0);
    }
    case '$size':
      return Array.isArray(value) && value.length === operand;
    case '$regex':
      return someOf(
        value,
        (item) => typeof item === 'string' && new RegExp(operand as string, options === 'i' ? 'iu' : 'u').test(item),
      );
    case '$options':
      return true;
    case '$not':
      return !holds(value, operand);
    default:
      throw new Error(`The test knows no ${operator}.`);
  }
}

function someOf(value: Json, test: (item: Json) => boolean): boolean {
  return Array.isArray(value) ? value.some(test) : test(value);
}

function isEqualTo(value: Json, expected: Json): boolean {
  if (expected === null) return value === null;
  return isSame(value, expected) || (Array.isArray(value) && value.some((item) => isSame(item, expected)));
}

function isSame(a: Json, b: Json): boolean {
  if (typeof a !== 'object' || a === null || typeof b !== 'object' || b === null)
    return isOrdered(a, b) ? order(a, b) === 0 : a === b;
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  const names = Object.keys(a);
  return (
    names.length === Object.keys(b).length &&
    names.every(
      (name) =>
        Object.hasOwn(b, name) && isSame((a as Record<string, Json>)[name]!, (b as Record<string, Json>)[name]!),
    )
  );
}

function isOrdered(a: Json, b: Json): boolean {
  return typeof a === typeof b && (typeof a === 'number' || typeof a === 'string');
}

function order(a: Json, b: Json): number {
  if (typeof a === 'number') return a - (b as number);
  const [left, right] = [a as string, b as string];
  if (isTime(left) && isTime(right)) return Date.parse(left) - Date.parse(right);
  return Buffer.compare(Buffer.from(left), Buffer.from(right));
}

function isTime(text: string): boolean {
  return /^\d{4}-\d\d-\d\d/.test(text);
}

function isObject(value: unknown): value is { [name: string]: Json } {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/* Few different values, so that filters match rows. */

const texts = fc.constantFrom(
  '',
  'a',
  'A',
  'ab',
  'b',
  'ß',
  'é',
  '\u{1F600}',
  '\uFFFD',
  "it's",
  '%',
  '"',
  '\\',
  '$1',
  '5',
  'true',
);
const numbers = fc.oneof(fc.integer({ min: -4, max: 6 }), fc.constantFrom(0.5, -0.5, 2.5, 1e21, -1e-7, 2 ** 31, 0));
const scalars: fc.Arbitrary<Json> = fc.oneof(texts, numbers, fc.boolean());
const times = fc.constantFrom(
  '2024-01-01T00:00:00.000Z',
  '2024-01-01T00:00:00.001Z',
  '2024-02-29T12:30:00.000Z',
  '1999-12-31T23:59:59.999Z',
);
const timeLiterals = fc.oneof(
  times,
  fc.constantFrom('2024-01-01', '2024-01-01T01:00:00+01:00', '2024-02-29T12:30Z', '2023-12-31T23:00:00-01:00'),
);
const inner: fc.Arbitrary<Json> = fc.oneof(
  scalars,
  fc.constant(null),
  fc.array(scalars, { maxLength: 2 }),
  fc.constantFrom<Json[]>({}, { a: 1 }, [], [[1], 'a']),
);
const arrays: fc.Arbitrary<Json> = fc.array(inner, { maxLength: 3 });
const objects: fc.Arbitrary<Json> = fc.dictionary(
  fc.constantFrom('a', 'b', '0', '__proto__', 'it"s'),
  fc.oneof(inner, fc.dictionary(fc.constantFrom('a', 'c'), inner, { maxKeys: 2 })),
  { maxKeys: 3, noNullPrototype: true },
);
const orNull = <T>(value: fc.Arbitrary<T>) => fc.option(value, { freq: 3 });

const rowValues = fc.record({
  name: orNull(texts),
  price: orNull(numbers),
  sold: orNull(fc.boolean()),
  when: orNull(times),
  tags: orNull(arrays),
  meta: orNull(objects),
  'dotted.name': orNull(texts),
  createdAt: times,
  updatedAt: times,
});
const tables = fc
  .array(rowValues, { minLength: 1, maxLength: 25 })
  .map((rows) => rows.map((row, index) => ({ ...row, id: index + 1 })));

const ids = fc.oneof(fc.integer({ min: -1, max: 26 }), fc.constantFrom(2.5, 1e15, -1e15, 2 ** 31));
const patterns = fc.constantFrom('a', '^a', 'b$', '^$', '[ab]+', 'A|b', '\\\\', '.', "'", '^\\d+$', '2024');

function conditionsFor(literals: fc.Arbitrary<Json>, more: fc.Arbitrary<Filter>[]): fc.Arbitrary<unknown> {
  const choices = fc.oneof(
    fc.array(orNull(literals), { maxLength: 3 }),
    fc.array(literals, { minLength: 21, maxLength: 25 }),
  );
  const one: fc.Arbitrary<Filter> = fc.oneof(
    fc.record({ $eq: orNull(literals) }),
    fc.record({ $ne: orNull(literals) }),
    fc.record({ $in: choices }),
    fc.record({ $nin: choices }),
    fc.record({ $exists: fc.boolean() }),
    ...more,
  );
  const several = fc.oneof(
    { weight: 3, arbitrary: one },
    { weight: 1, arbitrary: fc.tuple(one, one).map(([a, b]) => ({ ...a, ...b })) },
  );
  return fc.oneof(
    orNull(literals),
    several,
    several.map((conditions) => ({ $not: conditions })),
  );
}

const comparing = (literals: fc.Arbitrary<Json>): fc.Arbitrary<Filter> =>
  fc
    .tuple(fc.constantFrom('$gt', '$gte', '$lt', '$lte'), literals)
    .map(([operator, literal]) => ({ [operator]: literal }));
const divisible = fc.tuple(fc.constantFrom(1, 2, 3, -2), fc.integer({ min: -1, max: 2 })).map(($mod) => ({ $mod }));
const matching = fc.record({ $regex: patterns, $options: fc.constantFrom('i', 'c') }, { requiredKeys: ['$regex'] });
const sized = fc.record({ $size: fc.integer({ min: 0, max: 3 }) });

const inside = fc.constantFrom(
  'meta.a',
  'meta.b',
  'meta.0',
  'meta.__proto__',
  'meta.it"s',
  'meta.b.a',
  'meta.a.c',
  'meta.b.0',
  'tags.0',
  'tags.1.a',
  'tags.a',
);
const anything = conditionsFor(
  inner.filter((value) => value !== null),
  [comparing(fc.oneof(texts, numbers)), divisible, matching, sized],
);

function on(names: fc.Arbitrary<string>, conditions: fc.Arbitrary<unknown>): fc.Arbitrary<Filter> {
  return fc.tuple(names, conditions).map(([name, condition]) => ({ [name]: condition }));
}

const leaves = fc.oneof(
  on(fc.constantFrom('name', 'dotted.name'), conditionsFor(texts, [comparing(texts), matching])),
  on(fc.constant('price'), conditionsFor(numbers, [comparing(numbers), divisible])),
  on(fc.constant('sold'), conditionsFor(fc.boolean(), [])),
  on(fc.constantFrom('when', 'createdAt', 'updatedAt'), conditionsFor(timeLiterals, [comparing(timeLiterals)])),
  on(fc.constantFrom('name', 'dotted.name', 'when'), matching),
  on(fc.constant('tags'), anything),
  on(fc.constant('meta'), conditionsFor(objects, [])),
  on(inside, anything),
  on(fc.constant('id'), conditionsFor(ids, [comparing(ids), divisible])),
  on(fc.constant('nothing'), fc.constantFrom(null, { $exists: true }, { $ne: null }, { $in: [null] })),
);

const filters = fc.letrec<{ filter: Filter; nested: Filter }>((tie) => ({
  filter: fc.oneof({ weight: 4, arbitrary: leaves }, { weight: 2, arbitrary: tie('nested') }),
  nested: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    leaves,
    fc.record({ $and: fc.array(tie('filter'), { minLength: 1, maxLength: 3 }) }),
    fc.record({ $or: fc.array(tie('filter'), { minLength: 1, maxLength: 3 }) }),
    fc.record({ $not: tie('filter') }),
    fc.tuple(tie('filter'), tie('filter')).map(([a, b]) => ({ ...a, ...b })),
  ),
})).filter;

describe('a filter', () => {
  it('matches the same rows by a filter in SQL as in an independent implementation', async () => {
    let matching = 0;
    let asked = 0;
    await fc.assert(
      fc.asyncProperty(tables, fc.array(filters, { minLength: 40, maxLength: 40 }), async (rows, all) => {
        await store(rows);

        const answers = await ask(all);

        all.forEach((filter, index) => {
          const expected = rows.filter((row) => matches(row, filter)).map(({ id }) => id);
          expect({ filter, ...answers[index] }).toEqual({ filter, ids: expected, open: 0 });
          asked += 1;
          if (expected.length > 0 && expected.length < rows.length) matching += 1;
        });
      }),
      { numRuns: Number(process.env.FUZZ_CASES ?? 60) },
    );
    // Filters that match all rows or none would prove little.
    expect(matching).toBeGreaterThan(asked / 4);
  });
});

describe('a page', () => {
  it('finds the rows that match a filter, also by key and after more rows without values than a walk reads', async () => {
    const unique = tables.map((rows) =>
      rows.filter(({ name }, index) => name === null || rows.findIndex((row) => row.name === name) === index),
    );
    const fields = Object.fromEntries([...columns.keys()].map((name) => [name, null]));
    const empty = Array.from({ length: 1100 }, (_entry, index): Row => {
      return {
        ...fields,
        id: 100 + index,
        createdAt: '2024-01-01T00:00:00.000Z',
        updatedAt: '2024-01-01T00:00:00.000Z',
      };
    });
    await database.query('INSERT INTO table_state (number, next_row_id) VALUES ($1, 1200)', [number]);
    await fc.assert(
      fc.asyncProperty(unique, fc.array(filters, { minLength: 10, maxLength: 10 }), async (some, all) => {
        const rows = [...some, ...empty];
        await store(rows, 'name');

        for (const filter of all) {
          const matching = rows.filter((row) => matches(row, filter)).map(({ id }) => id);
          const found = { asc: await page(filter, 'asc'), desc: await page(filter, 'desc') };
          expect({ filter, found }).toEqual({
            filter,
            found: { asc: matching.slice(0, pageLimit), desc: matching.toReversed().slice(0, pageLimit) },
          });
        }
      }),
      { numRuns: Number(process.env.FUZZ_CASES ?? 40) },
    );
  });
});

describe('an order', () => {
  const names = ['id', 'name', 'dotted.name', 'price', 'sold', 'when', 'createdAt', 'updatedAt', 'meta.a', 'meta.b.a'];

  it('orders rows by their values: those without a value last, those with equal values by id', async () => {
    const orders = fc.tuple(fc.constantFrom(...names), fc.constantFrom<Direction>('asc', 'desc'));
    await fc.assert(
      fc.asyncProperty(tables, fc.array(orders, { minLength: 5, maxLength: 5 }), async (rows, all) => {
        await store(rows);

        for (const [name, direction] of all) {
          const values: unknown[] = [number];
          const terms = orderTerms(readOrder(columns, name, direction), values);
          const found = await database.query<{ id: number }>(
            `SELECT id FROM row WHERE table_number = $1 ORDER BY ${terms}`,
            values,
          );

          const plain = rows.toSorted((a, b) => compare(valueAt(a, name), valueAt(b, name), direction) || a.id - b.id);
          expect({ name, direction, ids: found.map(({ id }) => id) }).toEqual({
            name,
            direction,
            ids: plain.map(({ id }) => id),
          });
        }
      }),
      { numRuns: Number(process.env.FUZZ_CASES ?? 60) },
    );
  });

  function compare(a: Json, b: Json, direction: Direction): number {
    if (a === null || b === null) return Number(a === null) - Number(b === null);
    const ranks = rank(a) - rank(b);
    const sign = direction === 'asc' ? 1 : -1;
    return sign * (ranks === 0 ? orderOf(a, b) : ranks);
  }

  function rank(value: Json): number {
    return ['number', 'string', 'boolean', 'object'].indexOf(typeof value);
  }

  function orderOf(a: Json, b: Json): number {
    if (typeof a === 'object') return 0;
    return typeof a === 'boolean' ? Number(a) - Number(b) : order(a, b);
  }
});

it('finds the maximum of texts in a group by code point', async () => {
  const row = {
    ...Object.fromEntries([...columns.keys()].map((name) => [name, null])),
    createdAt: '2024-01-01',
    updatedAt: '2024-01-01',
  };
  await store(['a', 'B'].map((name, index) => ({ ...row, id: index + 1, name })));
  const values: unknown[] = [];

  const groups = Grouping.read(columns, { name: ['min', 'max'] }).statement('row', values);

  expect(await database.query<GroupRow>(groups, values)).toEqual([{ outputs: ['B', 'a'] }]);
});
