import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '@parley/testing/free-port';
import { run } from '@parley/testing/running-platform';
import { openPool } from './bare-sql';
import {
  type Candidate as AnyCandidate,
  compareOperation,
  httpLoad,
  type LoadRound,
  newDatabase,
  type Operation,
} from './operations';
import type { Result, Row } from './result';
import { compareSpeed } from './rounds';
import { blockName, columns, firstNewBlock, rowsInBlock, rowsOf } from './table-rows';
import { filledRows, operationsOf, record, startBare, startProduct } from './tables';
import { newLogFile, openEmbedded, poolSize, type Workbench } from './workbench';

type Pool = ReturnType<typeof openPool>;
type TableRow = ReturnType<typeof rowsOf>[number];

/** Operations of part `tables` that every side has, in the order in which they run: the inserts empty the table. */
const works: Record<string, { title: string; rows: number }> = {
  list: { title: `list of 20 rows of ${filledRows.toLocaleString('en-US')}, newest first`, rows: 1 },
  'insert-one': { title: 'insert of one row', rows: 1 },
  insert: { title: `${rowsInBlock.toLocaleString('en-US')} rows in a call`, rows: rowsInBlock },
};

/** Another back end with REST API and Postgres, installed by npm. */
interface Peer {
  name: string;
  /** Its npm package. */
  package: string;
  /** Program below `node_modules`. */
  program: string;
  /** Arguments of a first run that creates its tables. */
  install?: string[];
  start: string[];
  ready: RegExp;
  /** Table in Postgres. */
  table: string;
  env: (place: { databaseUrl: string; port: number; folder: string }) => Record<string, string>;
  headers: Record<string, string>;
  /** Creates the table with the ten columns through its API. */
  create: { path: string; body: object };
  /** Follows `create`, and fills the table with the rows in $1. */
  indexes: string[];
  fill: string;
  /** Method, path and body by work. */
  requests: Record<string, { line: string; body?: (rows: TableRow[]) => object }>;
}

const secret = 'bench-secret-of-forty-characters-or-more';
const names = Object.keys(columns)
  .map((name) => `"${name}"`)
  .join(', ');
const typeOf = ({ type, format }: { type: string; format?: string }) => (format ? 'date' : type);
const typed = (types: Record<string, string>) =>
  Object.entries(columns).map(([name, column]) => ({ name, type: types[typeOf(column)]! }));
const entries = `jsonb_to_recordset($1::jsonb) AS entry (${typed({
  string: 'text',
  number: 'float8',
  boolean: 'bool',
  date: 'timestamptz',
})
  .map(({ name, type }) => `"${name}" ${type}`)
  .join(', ')})`;

const parseTypes = { string: 'String', number: 'Number', boolean: 'Boolean', date: 'Date' };
const parseDate = (iso: string) => ({ __type: 'Date', iso });
const parseRow = (row: TableRow) => ({
  ...row,
  createdOn: parseDate(row.createdOn),
  seenOn: parseDate(row.seenOn),
});

const parseServer: Peer = {
  name: 'Parse Server',
  package: 'parse-server',
  program: 'parse-server/bin/parse-server',
  start: [],
  ready: /parse-server running/,
  table: '"Bench"',
  env: ({ databaseUrl, port, folder }) => ({
    PARSE_SERVER_APPLICATION_ID: 'bench',
    PARSE_SERVER_MASTER_KEY: secret,
    PARSE_SERVER_DATABASE_URI: `${databaseUrl}?max=${poolSize}`,
    PARSE_SERVER_HOST: '127.0.0.1',
    PARSE_SERVER_URL: `http://127.0.0.1:${port}/parse`,
    PARSE_SERVER_LOGS_FOLDER: folder,
    PORT: String(port),
  }),
  headers: { 'x-parse-application-id': 'bench', 'x-parse-master-key': secret },
  create: {
    path: '/parse/schemas/Bench',
    body: {
      className: 'Bench',
      fields: Object.fromEntries(typed(parseTypes).map(({ name, type }) => [name, { type }])),
    },
  },
  // Without the second one each list would sort the whole table.
  indexes: ['CREATE UNIQUE INDEX ON "Bench" (key)', 'CREATE INDEX ON "Bench" ("createdAt")'],
  fill: `INSERT INTO "Bench" ("objectId", "createdAt", "updatedAt", ${names})
    SELECT substr(md5(key), 1, 16), clock_timestamp(), clock_timestamp(), ${names} FROM ${entries}`,
  requests: {
    list: { line: 'GET /parse/classes/Bench?order=-createdAt&limit=20' },
    'insert-one': { line: 'POST /parse/classes/Bench', body: ([row]) => parseRow(row!) },
    insert: {
      line: 'POST /parse/batch',
      body: (rows) => ({
        requests: rows.map((row) => ({ method: 'POST', path: '/parse/classes/Bench', body: parseRow(row) })),
      }),
    },
  },
};

const directusTypes = { string: 'string', number: 'float', boolean: 'boolean', date: 'timestamp' };

const directus: Peer = {
  name: 'Directus',
  package: 'directus',
  // The program of the package `directus` itself looks for a newer version on the internet first.
  program: '@directus/api/dist/cli/run.js',
  install: ['bootstrap'],
  start: ['start'],
  ready: /Server started/,
  table: 'bench',
  env: ({ databaseUrl, port, folder }) => ({
    DB_CLIENT: 'pg',
    DB_CONNECTION_STRING: databaseUrl,
    DB_POOL__MIN: '0',
    DB_POOL__MAX: String(poolSize),
    SECRET: secret,
    ADMIN_EMAIL: 'bench@example.com',
    ADMIN_PASSWORD: secret,
    ADMIN_TOKEN: secret,
    HOST: '127.0.0.1',
    PORT: String(port),
    PUBLIC_URL: `http://127.0.0.1:${port}`,
    STORAGE_LOCAL_ROOT: join(folder, 'uploads'),
    EXTENSIONS_PATH: join(folder, 'extensions'),
    TELEMETRY: 'false',
    // As for Parley: a process that was suspended while another side was measured must not reject requests.
    PRESSURE_LIMITER_ENABLED: 'false',
  }),
  headers: { authorization: `Bearer ${secret}` },
  create: {
    path: '/collections',
    body: {
      collection: 'bench',
      schema: {},
      meta: {},
      fields: [
        { field: 'id', type: 'integer', schema: { is_primary_key: true, has_auto_increment: true } },
        ...typed(directusTypes).map(({ name, type }) => ({
          field: name,
          type,
          schema: { is_unique: name === 'key' },
        })),
      ],
    },
  },
  indexes: [],
  fill: `INSERT INTO bench (${names}) SELECT ${names} FROM ${entries}`,
  requests: {
    list: { line: 'GET /items/bench?sort=-id&limit=20' },
    'insert-one': { line: 'POST /items/bench', body: ([row]) => row! },
    insert: { line: 'POST /items/bench', body: (rows) => rows },
  },
};

const peers = [parseServer, directus];

/** Why a peer is left out, by one sentence for each that is not installed. */
export function missingPeers(folder: string): string[] {
  return peers
    .filter((peer) => !isInstalled(folder, peer))
    .map(({ name, package: id }) => `${name} was left out: ${folder}/node_modules has no package ${id}.`);
}

interface Candidate extends AnyCandidate {
  database: Pool;
  table: string;
  /** Why it does not take part, by work. */
  problems?: Record<string, string>;
}

/** Throughput of row operations beside Parse Server and Directus, each with a database of its own on one server. */
export async function benchPeers(bench: Workbench): Promise<Result[]> {
  const { options } = bench;
  const operations = operationsOf(bench).filter(({ name }) => name in works);
  const { database, recordings } = await record(bench);
  const product = { ...(await startProduct(bench, (env) => openEmbedded(bench, env))), table: 'row' };
  const bare = { ...(await startBare(bench, database, recordings)), table: 'row' };
  const others: Candidate[] = [];
  for (const peer of peers.filter((peer) => isInstalled(options.peers!, peer)))
    others.push(await startPeer(bench, peer, operations));

  const results: Result[] = [];
  for (const operation of operations) {
    const able = others.filter(({ problems }) => !problems?.[operation.name]);
    results.push(
      await compareOperation(bench, {
        mode: 'Embedded',
        operation,
        sides: [bare, product, ...able],
        aims: (of: (side: Candidate) => LoadRound[]) => [
          ...compareSpeed({ name: 'Parley / bare' }, of(product), of(bare)),
          ...able.flatMap((side) => compareSpeed({ name: `Parley / ${side.name}`, atLeast: 3 }, of(product), of(side))),
        ],
        notes: others.flatMap(({ name, problems }) =>
          problems?.[operation.name] ? [`${name} was left out: ${problems[operation.name]}`] : [],
        ),
        seconds: options.seconds,
        prepare: ({ database, table }) => database.query(`${operation.isFilling ? 'TRUNCATE' : 'VACUUM'} ${table}`),
      }),
    );
  }
  return [...results, summary(bench, operations, results)];
}

function summary({ options }: Workbench, operations: Operation[], results: Result[]): Result {
  return {
    title: `Parley beside other back ends; ${options.rounds} rounds of ${options.seconds} s in turns`,
    rows: results.map(({ rows, aims }, i): Row => {
      const { name, connections } = operations[i]!;
      const work = works[name]!;
      const unit = work.rows > 1 ? 'row/s' : 'request/s';
      const speeds = rows.map(({ name, figures }) => [name, figures[unit]!]);
      const ratios = aims.filter(({ name }) => !name.includes(',')).map(({ name, value }) => [name, value]);
      return {
        name: `${work.title}; ${unit}, ${connections} connections`,
        figures: Object.fromEntries([...speeds, ...ratios]) as Record<string, number>,
      };
    }),
    aims: [],
    notes: [
      'All sides have a pool of the same size, a unique index of the key, and an index for the order of the list.',
      'Only Parley has an index of every column. Parse Server stores the rows of a call one by one, in no transaction.',
    ],
    errors: [],
    rounds: {},
  };
}

function isInstalled(folder: string, { program }: Peer): boolean {
  return existsSync(join(folder, 'node_modules', program));
}

async function startPeer(bench: Workbench, peer: Peer, operations: Operation[]): Promise<Candidate> {
  const modules = join(bench.options.peers!, 'node_modules');
  const { version } = JSON.parse(readFileSync(join(modules, peer.package, 'package.json'), 'utf8')) as {
    version: string;
  };
  const { url: databaseUrl } = await newDatabase(bench);
  const port = await freePort();
  const env = { NODE_ENV: 'production', ...peer.env({ databaseUrl, port, folder: bench.folder }) };
  const program = join(modules, peer.program);
  if (peer.install) {
    const installing = bench.session.keep(run(program, env, peer.install));
    await installing.said(/Done/);
    await installing.ended;
  }
  const server = bench.session.keep(run(program, env, peer.start, newLogFile(bench)));
  await server.said(peer.ready);
  const url = `http://127.0.0.1:${port}`;

  const database = openPool({ databaseUrl, poolSize }, 'public');
  bench.session.keep({ stop: () => database.end() });
  await ask(url, peer, `POST ${peer.create.path}`, peer.create.body);
  for (const index of peer.indexes) await database.query(index);
  const problems = await findProblems(url, peer, database);
  await fill(peer, database);

  return {
    name: `${peer.name} ${version}`,
    url,
    layers: { server: [server.pid], postgres: [bench.postgresPid] },
    processes: { [peer.package]: server.pid },
    database,
    table: peer.table,
    problems,
    run: httpLoad(
      url,
      operations.map((operation): Operation => {
        const { line, body } = peer.requests[operation.name]!;
        return {
          ...operation,
          line: () => line,
          headers: peer.headers,
          body: body && ((block) => body(rowsOf(block, operation.rows))),
        };
      }),
    ),
  };
}

/**
 * Sends each request once. Returns a problem for each work that the peer does not do: a batch answers 200 even if it
 * refused all rows, so the rows are counted.
 */
async function findProblems(url: string, peer: Peer, database: Pool): Promise<Record<string, string>> {
  const problems: Record<string, string> = {};
  const stored = async () =>
    (await database.query<{ count: number }>(`SELECT count(*)::int FROM ${peer.table}`)).rows[0]!.count;
  for (const [number, work] of ['insert', 'insert-one', 'list'].entries()) {
    const { rows } = works[work]!;
    const { line, body } = peer.requests[work]!;
    try {
      const before = await stored();
      const answer = await ask(url, peer, line, body?.(rowsOf(blockName(firstNewBlock - 1 - number), rows)));
      const added = (await stored()) - before;
      const shown = JSON.stringify(answer).split('"Customer ').length - 1;
      if (body ? added !== rows : shown !== Math.min(20, before))
        throw new Error(`${line}: ${added} rows stored, ${shown} shown`);
    } catch (error) {
      problems[work] = (error as Error).message;
    }
  }
  await database.query(`TRUNCATE ${peer.table}`);
  return problems;
}

async function fill({ table, fill: statement }: Peer, database: Pool): Promise<void> {
  for (let block = 0; block < filledRows / rowsInBlock; block++)
    await database.query(statement, [JSON.stringify(rowsOf(blockName(block)))]);
  await database.query(`VACUUM ANALYZE ${table}`);
}

async function ask(url: string, { name, headers }: Peer, line: string, body?: object): Promise<unknown> {
  const [method, path] = line.split(' ') as [string, string];
  const response = await fetch(`${url}${path}`, {
    method,
    headers: body ? { ...headers, 'content-type': 'application/json' } : headers,
    body: body && JSON.stringify(body),
  });
  if (!response.ok) throw new Error(`${name}, ${line}: ${response.status} ${await response.text()}`);
  return response.json();
}
