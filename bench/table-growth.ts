import { createEmptyDatabase } from '@parley/testing/test-database';
import { openPool } from './bare-sql';
import { httpRequest, type LoadResult, runLoad } from './load';
import type { Aim, Result, Row } from './result';
import { type Side, alternate } from './rounds';
import { median, pairedRatio } from './statistics';
import { blockName, cityName, columns, fillTable, firstNewBlock, rowsInBlock, rowsOf } from './table-rows';
import { openBot, openEmbedded, poolSize, type Workbench } from './workbench';

const sizes = [10_000, 100_000, 1_000_000];
const secondsOfReads = 1;
/** Short, so that the table size stays nearly the same. The rows are deleted after each round. */
const secondsOfInserts = 0.2;

/** Request that is compared across table sizes, one at a time. */
interface GrowthQuery {
  name: string;
  /** Maximum ratio of the latency in the largest and in the smallest table. */
  aim: number;
  isInsert?: boolean;
  /** Path suffix and body for a table of the given number of rows. */
  request: (rows: number) => { path: string; body?: object };
}

const find = (filter?: object) => ({ path: '/rows/find', body: { filter } });
const anyOf = (count: number) => Math.floor(Math.random() * count);
const anyBlock = (rows: number) => blockName(anyOf(rows / rowsInBlock));
let inserted = 0;

const queries: GrowthQuery[] = [
  {
    name: `insert of ${rowsInBlock} rows`,
    aim: 1.5,
    isInsert: true,
    request: () => ({ path: '/rows', body: { rows: rowsOf(blockName(firstNewBlock + ++inserted)) } }),
  },
  { name: 'get by id', aim: 1.5, request: (rows) => ({ path: `/row?id=${1 + anyOf(rows)}` }) },
  { name: 'find by key column', aim: 1.5, request: (rows) => find({ key: `${anyBlock(rows)}/${anyOf(rowsInBlock)}` }) },
  { name: 'first page', aim: 1.5, request: () => find() },
  {
    name: 'equality that one row has',
    aim: 3,
    request: (rows) => find({ name: `Customer ${anyBlock(rows)} number ${anyOf(rowsInBlock)}` }),
  },
  { name: 'equality that 1 row in 100 has', aim: 3, request: () => find({ city: cityName(anyOf(100)) }) },
  { name: 'equality that 1 row in 2 has', aim: 3, request: () => find({ isActive: true }) },
];

interface Candidate extends Side {
  query: GrowthQuery;
  rows: number;
}

/** Latency of each request in tables of 10,000, 100,000 and 1,000,000 rows. */
export async function benchTableGrowth(bench: Workbench): Promise<Result[]> {
  const { session, options } = bench;
  const database = await createEmptyDatabase();
  session.keep({ stop: () => database.drop() });
  const platform = await openEmbedded(bench, { DATABASE_URL: database.url });
  const { id: botId, headers, client } = await openBot(platform);
  for (const rows of sizes) {
    const name = tableOf(rows);
    await client.createTable({ name, schema: { type: 'object', properties: columns }, keyColumn: 'key' });
    await fillTable(database.url, botId, name, rows);
  }
  const pool = openPool({ databaseUrl: database.url, poolSize }, 'tables');
  session.keep({ stop: () => pool.end() });

  const sides = queries.flatMap((query) =>
    sizes.map((rows): Candidate => ({
      name: `${query.name}, ${formatted(rows)} rows`,
      url: platform.url,
      layers: {},
      processes: platform.pids,
      query,
      rows,
    })),
  );
  const measured = await alternate(session, sides, options.rounds, async ({ url, query, rows }) => {
    const next = () => {
      const { path, body } = query.request(rows);
      const line = `${body ? 'POST' : 'GET'} /v1/tables/${tableOf(rows)}${path}`;
      return httpRequest(line, headers, body && JSON.stringify(body));
    };
    const seconds = query.isInsert ? secondsOfInserts : Math.min(secondsOfReads, options.seconds);
    const result = await runLoad({ url, next, connections: 1, seconds });
    if (query.isInsert) {
      const number = 'SELECT number FROM "table" WHERE name = $1';
      await pool.query(`DELETE FROM row WHERE table_number = (${number}) AND id > $2`, [tableOf(rows), rows]);
      await pool.query('VACUUM row');
    }
    return result;
  });

  const msOf = (query: GrowthQuery, rows: number) => {
    const index = sides.findIndex((side) => side.query === query && side.rows === rows);
    return measured[index]!.map(({ perSecond }: LoadResult) => 1000 / perSecond);
  };
  return [
    {
      title: `Embedded mode: requests to tables of ten columns by their size; one at a time, ${options.rounds} rounds`,
      rows: queries.map((query): Row => ({
        name: query.name,
        figures: Object.fromEntries(sizes.map((rows) => [`ms, ${formatted(rows)} rows`, median(msOf(query, rows))])),
      })),
      aims: queries.map((query): Aim => {
        const ratio = pairedRatio(msOf(query, sizes.at(-1)!), msOf(query, sizes[0]!));
        const { median: value, lowest, highest } = ratio;
        return { name: `${query.name}, largest / smallest`, value, spread: [lowest, highest], below: query.aim };
      }),
      notes: [],
      errors: sides.flatMap(({ name }, i) =>
        measured[i]!.flatMap(({ firstError }) => (firstError ? [`${name}: ${firstError}`] : [])),
      ),
      rounds: Object.fromEntries(sides.map(({ name }, i) => [name, measured[i]!])),
    },
  ];
}

function tableOf(rows: number): string {
  return `Bench${rows}Table`;
}

function formatted(count: number): string {
  return count.toLocaleString('en-US');
}
