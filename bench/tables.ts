import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { startDistributed } from '@parley/testing/running-platform';
import { copyDatabase, createEmptyDatabase, type EmptyDatabase } from '@parley/testing/test-database';
import { type BareOptions, BareSql, openPool, type Recording } from './bare-sql';
import type { Layers } from './cpu';
import { httpRequest, type LoadResult, runLanes, runLoad } from './load';
import { PostgresTap } from './postgres-tap';
import type { Aim, Result } from './result';
import { type Round, type Side, compareSpeed, takeTurns, timed, toRow } from './rounds';
import { blockName, cityName, columns, fillTable, firstNewBlock, rowsInBlock, rowsOf } from './table-rows';
import { newLogFile, openBare, openBot, openEmbedded, poolSize, productEnv, type Workbench } from './workbench';

type Platform = Awaited<ReturnType<typeof openEmbedded>>;
type Pool = ReturnType<typeof openPool>;
type LoadRound = LoadResult & Round;

const tableName = 'BenchTable';
const filledRows = 100_000;
const warmUpSeconds = 1;
/** Of requests with many rows. */
const bulkConnections = 4;

const singleInsertNote =
  'Each statement of the baseline waits for the commit of the one before; the product puts what waits into one.';

/** A request to a table that is sent again and again, each time for another `given`. */
interface Operation {
  name: string;
  title: string;
  /** Behind the table's own path. */
  path: string;
  given: (index: number) => string;
  body: (given: string) => object;
  /** That one request writes, and that are counted then. */
  rows: number;
  connections: number;
  /** The table is emptied before each round. */
  isFilling?: boolean;
}

const newBlock = (index: number) => blockName(firstNewBlock + index);

function operationsOf({ options: { connections } }: Workbench): Operation[] {
  const insert = (name: string, rows: number, lanes: number): Operation => ({
    name,
    title: `POST /v1/tables/{table}/rows with ${rows === 1 ? 'one row' : `${rows} rows`} of ten columns`,
    path: '/rows',
    given: newBlock,
    body: (block) => ({ rows: rowsOf(block, rows) }),
    rows,
    connections: lanes,
    isFilling: true,
  });
  return [
    {
      name: 'find',
      title: `POST /v1/tables/{table}/rows/find, a page of 20 by a filter over ${filledRows.toLocaleString('en-US')} rows`,
      path: '/rows/find',
      given: cityName,
      body: (city) => ({ filter: { city, quantity: { $lt: 25 } }, limit: 20 }),
      rows: 1,
      connections,
    },
    {
      name: 'upsert',
      title: `POST /v1/tables/{table}/rows/upsert, ${rowsInBlock} rows by key that are there among ${filledRows.toLocaleString('en-US')}`,
      path: '/rows/upsert',
      given: newBlock,
      // Always the same rows, since the baseline knows the ids of those alone.
      body: (note) => ({ keyColumn: 'key', rows: rowsOf(blockName(0)).map((row) => ({ ...row, note })) }),
      rows: rowsInBlock,
      connections: bulkConnections,
    },
    insert('insert', rowsInBlock, bulkConnections),
    insert('insert-one', 1, connections),
  ];
}

/** One who takes turns at all operations. */
interface Candidate extends Side {
  database: Pool;
  run(operation: Operation, seconds: number): Promise<LoadResult>;
}

/** Rows in and out of a table beside Fastify and `pg` with the same statements, and beside those alone. */
export async function benchTablesEmbedded(bench: Workbench): Promise<Result[]> {
  const { database, recordings } = await record(bench);
  const product = await startProduct(bench, 'Parley, embedded', (env) => openEmbedded(bench, env));
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
      await compare(bench, `Embedded mode: ${operation.title}`, operation, sides, (of) => [
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
  const product = await startProduct(bench, 'Parley, distributed', async (env) =>
    bench.session.keep(await startDistributed({ env: { ...productEnv(bench), ...env }, logFile: newLogFile(bench) })),
  );
  const bare = await startBare(bench, database, recordings);

  const results: Result[] = [];
  for (const operation of operationsOf(bench)) {
    results.push(
      await compare(bench, `Distributed mode: ${operation.title}`, operation, [product, bare], (of) =>
        compareSpeed({ name: 'distributed / bare', atLeast: 0.4 }, of(product), of(bare)),
      ),
    );
  }
  return results;
}

async function compare(
  { session, options }: Workbench,
  title: string,
  operation: Operation,
  sides: Candidate[],
  aims: (of: (side: Candidate) => LoadRound[]) => Aim[],
): Promise<Result> {
  const turns = await takeTurns(session, sides, options.rounds, async (side, isWarmUp) => {
    await side.database.query(operation.isFilling ? 'TRUNCATE row' : 'VACUUM row');
    await side.run(operation, warmUpSeconds);
    return timed(side, async () =>
      inRows(operation, await side.run(operation, isWarmUp ? warmUpSeconds : options.seconds)),
    );
  });
  const of = (side: Candidate) => turns[sides.indexOf(side)]!;
  const unit = operation.rows > 1 ? 'row' : 'request';
  return {
    title: `${title}; ${operation.connections} connections, ${options.rounds} rounds of ${options.seconds} s`,
    rows: sides.map((side) =>
      toRow(side, of(side), unit, { 'p50 ms': ({ p50Ms }) => p50Ms, 'p99 ms': ({ p99Ms }) => p99Ms }),
    ),
    aims: aims(of),
    notes: operation.rows === 1 && operation.isFilling ? [singleInsertNote] : [],
    errors: sides.flatMap((side) =>
      of(side).flatMap(({ firstError }) => (firstError ? [`${side.name}: ${firstError}`] : [])),
    ),
    rounds: Object.fromEntries(sides.map((side) => [side.name, of(side)])),
  };
}

function inRows({ rows }: Operation, result: LoadResult): LoadResult {
  return { ...result, count: result.count * rows, perSecond: result.perSecond * rows };
}

/** A filled table of a new bot, and how it is asked. */
async function openTable(platform: Platform, databaseUrl: string, name = tableName, rows = filledRows) {
  const { id, headers, client } = await openBot(platform);
  await client.createTable({ name, schema: { type: 'object', properties: columns }, keyColumn: 'key' });
  await fillTable(databaseUrl, id, name, rows);
  return { client, headers };
}

async function startProduct(
  bench: Workbench,
  name: string,
  start: (env: Record<string, string>) => Promise<Platform & { nats?: { pid: number } }>,
): Promise<Candidate> {
  const database = await newDatabase(bench);
  const platform = await start({ DATABASE_URL: database.url });
  const { headers } = await openTable(platform, database.url);
  const { standalone, gateway, tables, admin, ...others } = platform.pids;
  const layers: Layers = standalone
    ? { standalone: [standalone] }
    : {
        gateway: [gateway!],
        tables: [tables!],
        admin: [admin!],
        'other apps': Object.values(others),
        nats: [platform.nats!.pid],
      };
  const side = {
    name,
    url: platform.url,
    layers: { ...layers, postgres: [bench.postgresPid] },
    processes: platform.pids,
  };
  const line = ({ path }: Operation) => `POST /v1/tables/${tableName}${path}`;
  return { ...side, database: openDatabase(bench, database), run: httpLoad(side, line, () => headers) };
}

async function startBare(bench: Workbench, database: EmptyDatabase, recordings: Recordings): Promise<Candidate> {
  const file = join(bench.folder, 'bare-tables.json');
  const options: BareOptions<string> = { databaseUrl: database.url, poolSize, recordings };
  // Too long for a variable of the environment.
  await writeFile(file, JSON.stringify(options));
  const { pid, url } = await openBare(bench, 'bare-tables', { BARE_OPTIONS_FILE: file });
  const layers = { bare: [pid], postgres: [bench.postgresPid] };
  const side = { name: 'bare Fastify + pg', url, layers, processes: { bare: pid } };
  const line = ({ name }: Operation) => `POST /${name}`;
  return { ...side, database: openDatabase(bench, database), run: httpLoad(side, line, (given) => ({ given })) };
}

/** Bodies are those of one request with its given replaced, so that the generator has little to do. */
function httpLoad(
  { url }: Side,
  line: (operation: Operation) => string,
  headers: (given: string) => Record<string, string>,
): Candidate['run'] {
  let sent = 0;
  return (operation, seconds) => {
    const model = operation.given(0);
    const body = JSON.stringify(operation.body(model));
    const next = () => {
      const given = operation.given(++sent);
      return httpRequest(line(operation), headers(given), body.replaceAll(model, given));
    };
    return runLoad({ url, next, connections: operation.connections, seconds });
  };
}

function sqlSide(bench: Workbench, name: string, database: EmptyDatabase, recordings: Recordings): Candidate {
  const pool = openDatabase(bench, database);
  let sent = 0;
  return {
    name,
    url: '',
    layers: { postgres: [bench.postgresPid] },
    processes: {},
    database: pool,
    run: (operation, seconds) => {
      const sql = new BareSql(pool, recordings[operation.name]!);
      const lane = async () => void (await sql.run(operation.given(++sent)));
      return runLanes(Array<typeof lane>(operation.connections).fill(lane), seconds);
    },
  };
}

type Recordings = Record<string, Recording>;

/** What each operation runs on a table of 100,000 rows, and the database with it for those that will run the same. */
async function record(bench: Workbench): Promise<{ database: EmptyDatabase; recordings: Recordings }> {
  const database = await newDatabase(bench);
  const tap = bench.session.keep(await PostgresTap.start(database.url));
  const platform = await openEmbedded(bench, { DATABASE_URL: tap.url });
  const recordings: Recordings = {};
  let asked = 0;
  try {
    const { headers } = await openTable(platform, database.url);
    for (const { name, path, given, body } of operationsOf(bench)) {
      const ask = async (one: string) => {
        const response = await fetch(`${platform.url}/v1/tables/${tableName}${path}`, {
          method: 'POST',
          headers: { ...headers, 'content-type': 'application/json' },
          body: JSON.stringify(body(one)),
        });
        const answer = (await response.json()) as { errors?: string[] };
        if (!response.ok || answer.errors) throw new Error(`${name} was answered by ${JSON.stringify(answer)}`);
        return answer as object;
      };
      // The first request finds out what the service remembers for the next.
      await ask(given(++asked));
      tap.clear();
      const seen = given(++asked);
      const answer = await ask(seen);
      const units = tap.unitsWith(seen);
      if (units.length === 0) throw new Error(`The tap has not seen ${name}.`);
      recordings[name] = { units, given: seen, answer };
    }
    return { database, recordings };
  } finally {
    await platform.stop();
  }
}

async function newDatabase({ session }: Workbench): Promise<EmptyDatabase> {
  const database = await createEmptyDatabase();
  session.keep({ stop: () => database.drop() });
  return database;
}

function openDatabase({ session }: Workbench, { url: databaseUrl }: EmptyDatabase): Pool {
  const pool = openPool({ databaseUrl, poolSize }, 'tables');
  session.keep({ stop: () => pool.end() });
  return pool;
}
