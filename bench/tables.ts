import { startDistributed } from '@parley/testing/running-platform';
import { copyDatabase, type EmptyDatabase } from '@parley/testing/test-database';
import { BareSql, openPool } from './bare-sql';
import { runConcurrently } from './load';
import {
  type Candidate as AnyCandidate,
  compareOperation,
  httpLoad,
  type LoadRound,
  newDatabase,
  type Operation,
  productSide,
  type Recordings,
  recordOperations,
  startBareOperations,
} from './operations';
import type { Aim, Result } from './result';
import { compareSpeed } from './rounds';
import { blockName, cityName, columns, fillTable, firstNewBlock, rowsInBlock, rowsOf } from './table-rows';
import { newLogFile, openBot, openEmbedded, poolSize, productEnv, type Workbench } from './workbench';
import { onTappedPlatform } from './tapped-platform';

type Platform = Awaited<ReturnType<typeof openEmbedded>>;
type Pool = ReturnType<typeof openPool>;

const tableName = 'BenchTable';
export const filledRows = 100_000;
const bulkConnections = 4;

const singleInsertNote =
  'Each statement of the baseline waits for the previous commit; the product combines waiting rows into one statement.';

interface TableOperation extends Operation {
  /** Empties the table before each round. */
  isFilling?: boolean;
}

const newBlock = (index: number) => blockName(firstNewBlock + index);

export function operationsOf(
  { options: { connections } }: Workbench,
  headers: Record<string, string> = {},
): TableOperation[] {
  const line = (path: string) => () => `POST /v1/tables/${tableName}${path}`;
  const insert = (name: string, rows: number, connections: number): TableOperation => ({
    name,
    title: `POST /v1/tables/{table}/rows with ${rows === 1 ? 'one row' : `${rows} rows`} of ten columns`,
    line: line('/rows'),
    headers,
    given: newBlock,
    body: (block) => ({ rows: rowsOf(block, rows) }),
    rows,
    connections,
    isFilling: true,
  });
  return [
    {
      name: 'find',
      title: `POST /v1/tables/{table}/rows/find, a page of 20 by a filter over ${filledRows.toLocaleString('en-US')} rows`,
      line: line('/rows/find'),
      headers,
      given: cityName,
      body: (city) => ({ filter: { city, quantity: { $lt: 25 } }, limit: 20 }),
      connections,
    },
    {
      name: 'list',
      title: `POST /v1/tables/{table}/rows/find, the newest 20 of ${filledRows.toLocaleString('en-US')} rows`,
      line: line('/rows/find'),
      headers,
      given: () => 'the same page each time',
      body: () => ({ orderBy: 'id', orderDirection: 'desc', limit: 20 }),
      statements: /FROM row\b/,
      connections,
    },
    {
      name: 'upsert',
      title: `POST /v1/tables/{table}/rows/upsert, ${rowsInBlock} existing rows by key among ${filledRows.toLocaleString('en-US')}`,
      line: line('/rows/upsert'),
      headers,
      given: newBlock,
      // Always the same rows, because the baseline knows only the ids of these.
      body: (note) => ({ keyColumn: 'key', rows: rowsOf(blockName(0)).map((row) => ({ ...row, note })) }),
      rows: rowsInBlock,
      connections: bulkConnections,
    },
    insert('insert', rowsInBlock, bulkConnections),
    insert('insert-one', 1, connections),
  ];
}

interface Candidate extends AnyCandidate {
  database: Pool;
}

/** Throughput of row operations compared to Fastify and `pg` with the same statements, and to the statements alone. */
export async function benchTablesEmbedded(bench: Workbench): Promise<Result[]> {
  const { database, recordings } = await record(bench);
  const product = await startProduct(bench, (env) => openEmbedded(bench, env));
  const withoutIndex = await copyDatabase(database);
  bench.session.keep({ stop: () => withoutIndex.drop() });
  const bare = await startBare(bench, database, recordings);
  const sql = sqlSide(bench, 'its SQL alone', database, recordings);
  const bareIndex = sqlSide(bench, 'its SQL alone, without the GIN index', withoutIndex, recordings);
  await bareIndex.database.query('DROP INDEX row_data');

  const results: Result[] = [];
  for (const operation of operationsOf(bench)) {
    const sides = [product, bare, sql, ...(operation.isFilling ? [bareIndex] : [])];
    results.push(
      await compare(bench, 'Embedded', operation, sides, (of) => [
        ...compareSpeed({ name: 'embedded / bare', atLeast: 0.6 }, of(product), of(bare)),
        ...compareSpeed({ name: 'embedded / SQL alone' }, of(product), of(sql)),
        ...(operation.isFilling ? compareSpeed({ name: 'SQL with GIN / without' }, of(sql), of(bareIndex)) : []),
      ]),
    );
  }
  return results;
}

export async function benchTablesDistributed(bench: Workbench): Promise<Result[]> {
  const { database, recordings } = await record(bench);
  const product = await startProduct(bench, async (env) =>
    bench.session.keep(await startDistributed({ env: { ...productEnv(bench), ...env }, logFile: newLogFile(bench) })),
  );
  const bare = await startBare(bench, database, recordings);

  const results: Result[] = [];
  for (const operation of operationsOf(bench)) {
    results.push(
      await compare(bench, 'Distributed', operation, [product, bare], (of) =>
        compareSpeed({ name: 'distributed / bare', atLeast: 0.4 }, of(product), of(bare)),
      ),
    );
  }
  return results;
}

function compare(
  bench: Workbench,
  mode: 'Embedded' | 'Distributed',
  operation: TableOperation,
  sides: Candidate[],
  aims: (of: (side: Candidate) => LoadRound[]) => Aim[],
): Promise<Result> {
  const { isFilling, rows } = operation;
  return compareOperation(bench, {
    mode,
    operation,
    sides,
    aims,
    notes: rows === 1 && isFilling ? [singleInsertNote] : [],
    seconds: bench.options.seconds,
    prepare: ({ database }) => database.query(isFilling ? 'TRUNCATE row' : 'VACUUM row'),
  });
}

async function openTable(platform: Platform, databaseUrl: string, name = tableName, rows = filledRows) {
  const { id, headers, client } = await openBot(platform);
  await client.createTable({ name, schema: { type: 'object', properties: columns }, keyColumn: 'key' });
  await fillTable(databaseUrl, id, name, rows);
  return { client, headers };
}

export async function startProduct(
  bench: Workbench,
  start: (env: Record<string, string>) => Promise<Platform & { nats?: { pid: number } }>,
): Promise<Candidate> {
  const database = await newDatabase(bench);
  const platform = await start({ DATABASE_URL: database.url });
  const { headers } = await openTable(platform, database.url);
  const run = httpLoad(platform.url, operationsOf(bench, headers));
  return { ...productSide(bench, 'tables', platform), database: openDatabase(bench, database), run };
}

export async function startBare(bench: Workbench, database: EmptyDatabase, recordings: Recordings): Promise<Candidate> {
  const options = { databaseUrl: database.url, schema: 'tables', recordings };
  const side = await startBareOperations(bench, options, operationsOf(bench));
  return { ...side, database: openDatabase(bench, database) };
}

function sqlSide(bench: Workbench, name: string, database: EmptyDatabase, recordings: Recordings): Candidate {
  const pool = openDatabase(bench, database);
  const operations = operationsOf(bench);
  let sent = 0;
  return {
    name,
    url: '',
    layers: { postgres: [bench.postgresPid] },
    processes: {},
    database: pool,
    run: (operation, seconds) => {
      const { given, connections } = operations.find((one) => one.name === operation)!;
      const sql = new BareSql(pool, recordings[operation]!);
      const worker = async () => void (await sql.run(given(++sent)));
      return runConcurrently(Array<typeof worker>(connections).fill(worker), seconds);
    },
  };
}

export async function record(bench: Workbench): Promise<{ database: EmptyDatabase; recordings: Recordings }> {
  const database = await newDatabase(bench);
  return onTappedPlatform(bench, database.url, async ({ platform, tap }) => {
    const { headers } = await openTable(platform, database.url);
    return { database, recordings: await recordOperations(tap, platform.url, operationsOf(bench, headers)) };
  });
}

function openDatabase({ session }: Workbench, { url: databaseUrl }: EmptyDatabase): Pool {
  const pool = openPool({ databaseUrl, poolSize }, 'tables');
  session.keep({ stop: () => pool.end() });
  return pool;
}
