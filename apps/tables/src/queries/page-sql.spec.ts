import { keptPlans } from '@parley/testing/sent-statements';
import { createTestDatabase, type TestDatabase } from '@parley/testing/test-database';
import { columnsOf } from '../schema/columns';
import { tablesDatabase } from '../tables.module';
import { readFilter } from './filter-reader';
import { isIndexed } from './filter-sql';
import { isSmall, pageName, pageStatement } from './page-sql';
import { type Direction, readOrder } from './row-order';

const number = '7';
const rowCount = 40_000;
const schema = {
  type: 'object' as const,
  additionalProperties: true as const,
  properties: {
    share: { type: 'array' as const, 'x-zui': { index: 0 } },
    name: { type: 'string' as const, 'x-zui': { index: 1 } },
  },
};
const columns = columnsOf({ number, schema });

const shares: Record<string, (id: number) => boolean> = {
  nobody: () => false,
  one: (id) => id === 30_000,
  thousandth: (id) => id % 1000 === 7,
  hundredth: (id) => id % 100 === 7,
  tenth: (id) => id % 10 === 7,
  most: (id) => id % 10 !== 7,
  early: (id) => id > 300 && id < 350,
  late: (id) => id > 39_000,
  // A tenth of the rows of the first walk, then none for a long time.
  gap: (id) => (id < 1000 && id % 10 === 7) || id > 35_000,
};

let store: TestDatabase;

beforeAll(async () => {
  store = await createTestDatabase(tablesDatabase.migrations, tablesDatabase.schema, tablesDatabase.entities);
  await store.database.query('INSERT INTO table_state (number, next_row_id) VALUES ($1, $2)', [number, rowCount + 1]);
  const rows = Array.from({ length: rowCount }, (_entry, index) => ({
    [columns.get('share')!.key]: Object.keys(shares).filter((share) => shares[share]!(index + 1)),
    [columns.get('name')!.key]: `row ${index + 1}`,
  }));
  // Another table has the same words in the same partition. None of its rows may be returned.
  await store.database.query(
    `INSERT INTO row (table_number, id, data, key)
     SELECT number, id, data, row_key(data -> $2)
     FROM jsonb_array_elements($1::jsonb) WITH ORDINALITY AS entry (data, id), unnest(ARRAY[7, 8]::bigint[]) AS number`,
    [JSON.stringify(rows), columns.get('name')!.key],
  );
});

afterAll(() => store?.drop());

const queryOf = (filter: Record<string, unknown>, page: { direction: Direction; offset: number; limit: number }) => ({
  table: { number, version: 1 },
  filter: readFilter(filter, columns),
  keyOfKeyColumn: columns.get('name')!.key,
  order: readOrder(columns, 'id', page.direction),
  maxRowBytes: 4096,
  ...page,
});

function statementOf(filter: Record<string, unknown>, page: { direction: Direction; offset: number; limit: number }) {
  const values: unknown[] = [];
  const text = pageStatement(queryOf(filter, page), values);
  return { text, values };
}

async function idsOf(filter: Record<string, unknown>, page: { direction: Direction; offset: number; limit: number }) {
  const { text, values } = statementOf(filter, page);
  return (await store.database.query<{ id: number }>(text, values)).map(({ id }) => id);
}

describe('a page of all rows', () => {
  it.each([1, 10, 11, 100, 1000].flatMap((limit) => [0, 3].flatMap((offset) => [{ limit, offset }])))(
    'returns a page of as many rows as requested: %j',
    async (page) => {
      const ids = Array.from({ length: page.limit }, (_, index) => rowCount - page.offset - index);

      expect(await idsOf({}, { direction: 'desc', ...page })).toEqual(ids);
      expect(await idsOf({}, { direction: 'asc', ...page })).toEqual(ids.map((id) => rowCount + 1 - id));
    },
  );

  it('uses one plan for all first pages of similar length', async () => {
    await store.database.query('ANALYZE');

    for (const limit of [20, 21, 101, 21, 21, 60, 99, 100]) {
      const { text, values } = statementOf({}, { direction: 'desc', offset: 0, limit });
      const name = pageName(queryOf({}, { direction: 'desc', offset: 0, limit }));
      expect(await store.database.query(text, values, name)).toHaveLength(limit);
    }

    expect(await keptPlans(store.database, 'page-first-100-desc-whole')).toBe(2);
  });
});

describe('a page of rows selected by equality', () => {
  const pages = [
    { offset: 0, limit: 1 },
    { offset: 0, limit: 101 },
    { offset: 37, limit: 11 },
    { offset: 0, limit: 1001 },
    { offset: 1900, limit: 101 },
    { offset: 3000, limit: 5 },
  ].flatMap((page) => (['asc', 'desc'] as const).map((direction) => ({ ...page, direction })));

  it.each(Object.keys(shares))(
    'returns the same rows of a page selected by equality with each strategy: %s',
    async (share) => {
      const all = Array.from({ length: rowCount }, (_entry, index) => index + 1).filter(shares[share]!);

      for (const page of pages) {
        const ids = await idsOf({ share }, page);

        const ordered = page.direction === 'asc' ? all : all.toReversed();
        expect({ page, ids }).toEqual({ page, ids: ordered.slice(page.offset, page.offset + page.limit) });
      }
    },
  );

  it.each([
    ['most', 'near'],
    ['tenth', 'far'],
    ['one', 'indexed'],
    ['gap', 'indexed'],
  ])('uses for a page of %s the cheapest strategy: %s', async (share, way) => {
    const { text, values } = statementOf({ share }, { direction: 'asc', offset: 0, limit: 201 });

    const plan = await store.database.query<{ 'QUERY PLAN': string }>(`EXPLAIN (ANALYZE, COSTS OFF) ${text}`, values);

    const lines = plan.map((line) => line['QUERY PLAN']);
    const used = ['near', 'far', 'indexed'].filter((name) => {
      const index = lines.findIndex((line) => line.includes(`CTE ${name}`));
      return !/never executed|rows=0\.00/.test(lines[index + 1]!);
    });
    expect(used.at(-1)).toBe(way);
  });
});

it.each<[filter: Record<string, unknown>, offset: number, small: boolean]>([
  [{}, 2_000, true],
  [{}, 2_001, false],
  [{ name: 'row 1' }, 2_001, true],
  [{ name: 'row 1', share: { $regex: 'a' } }, 0, false],
  [{ share: 'one' }, 0, false],
])('needs a time limit, unless it is small, for the rows %j from %d: %s', (filter, offset, small) => {
  expect(isSmall(queryOf(filter, { direction: 'asc', offset, limit: 10 }))).toBe(small);
});

it.each<[filter: Record<string, unknown>, isIndexed: boolean]>([
  [{ share: 'one' }, true],
  [{ share: { $in: ['one', 'gap'] } }, true],
  [{ share: { $regex: 'a' } }, false],
  [{ share: 'one', name: { $regex: 'a' } }, true],
  [{ $or: [{ share: 'one' }, { share: 'gap' }] }, true],
  [{ $or: [{ share: 'one' }, { name: { $regex: 'a' } }] }, false],
  [{ $not: { share: 'one' } }, false],
])('uses the index over the data for the filter %j: %s', (filter, indexed) => {
  expect(isIndexed(readFilter(filter, columns))).toBe(indexed);
});
