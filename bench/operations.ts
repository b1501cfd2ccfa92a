import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { RunningPlatform } from '@parley/testing/running-platform';
import { createEmptyDatabase, type EmptyDatabase } from '@parley/testing/test-database';
import type { BareOperations, Recording } from './bare-sql';
import type { Layers } from './cpu';
import { httpRequest, type LoadResult, runLoad } from './load';
import type { PostgresTap } from './postgres-tap';
import type { Aim, Result } from './result';
import { type Round, type Side, alternate, timed, toRow } from './rounds';
import { openBare, poolSize, type Workbench } from './workbench';

/** Request template that is sent repeatedly, each time with another `given`. All givens have the same length. */
export interface Operation {
  name: string;
  title: string;
  line: (given: string) => string;
  headers: Record<string, string>;
  given: (index: number) => string;
  /** Matches its statements, if they do not contain the given. */
  statements?: RegExp;
  body?: (given: string) => object;
  connections: number;
  /** Rows written per request. If set, throughput is counted in rows. */
  rows?: number;
}

export type Recordings = Record<string, Recording>;
export type LoadRound = LoadResult & Round;

export interface Candidate extends Side {
  run(operation: string, seconds: number): Promise<LoadResult>;
}

export interface Comparison<C extends Candidate> {
  mode: 'Embedded' | 'Distributed';
  operation: Operation;
  sides: C[];
  aims: (of: (side: C) => LoadRound[]) => Aim[];
  notes?: string[];
  seconds: number;
  prepare?: (side: C) => Promise<unknown>;
}

const longestWarmUp = 1;

export async function compareOperation<C extends Candidate>(
  { session, options: { rounds } }: Workbench,
  { mode, operation, sides, aims, notes = [], seconds, prepare }: Comparison<C>,
): Promise<Result> {
  const { name, title, rows = 1, connections } = operation;
  const warmUpSeconds = Math.min(longestWarmUp, seconds / 2);
  const measured = await alternate(session, sides, rounds, async (side, isWarmUp) => {
    await prepare?.(side);
    await side.run(name, warmUpSeconds);
    return timed(side, async () => inRows(rows, await side.run(name, isWarmUp ? warmUpSeconds : seconds)));
  });
  const of = (side: C) => measured[sides.indexOf(side)]!;
  return {
    title: `${mode} mode: ${title}; ${connections} connections, ${rounds} rounds of ${seconds} s`,
    rows: sides.map((side) =>
      toRow(side, of(side), rows > 1 ? 'row' : 'request', {
        'p50 ms': ({ p50Ms }) => p50Ms,
        'p99 ms': ({ p99Ms }) => p99Ms,
      }),
    ),
    aims: aims(of),
    notes,
    errors: sides.flatMap((side) =>
      of(side).flatMap(({ firstError }) => (firstError ? [`${side.name}: ${firstError}`] : [])),
    ),
    rounds: Object.fromEntries(sides.map((side) => [side.name, of(side)])),
  };
}

function inRows(rows: number, result: LoadResult): LoadResult {
  return { ...result, count: result.count * rows, perSecond: result.perSecond * rows };
}

export function productSide(
  { postgresPid }: Workbench,
  service: string,
  { url, pids, nats }: RunningPlatform & { nats?: { pid: number } },
): Side {
  const { standalone, gateway, admin, [service]: own, ...others } = pids;
  const layers: Layers = standalone
    ? { standalone: [standalone] }
    : {
        gateway: [gateway!],
        [service]: [own!],
        admin: [admin!],
        'other apps': Object.values(others),
        nats: [nats!.pid],
      };
  return {
    name: `Parley, ${standalone ? 'embedded' : 'distributed'}`,
    url,
    layers: { ...layers, postgres: [postgresPid] },
    processes: pids,
  };
}

export async function startBareOperations(
  bench: Workbench,
  options: Omit<BareOperations, 'poolSize'>,
  operations: Operation[],
): Promise<Candidate> {
  const side = await startBare(bench, 'bare-operations', options);
  const bare = operations.map((operation): Operation => ({
    ...operation,
    line: () => `${operation.body ? 'POST' : 'GET'} /${operation.name}`,
    headers: { given: operation.given(0) },
  }));
  return { ...side, run: httpLoad(side.url, bare) };
}

export async function startBare(
  bench: Workbench,
  program: string,
  options: Omit<BareOperations, 'poolSize'>,
): Promise<Side> {
  const file = join(bench.folder, `${program}.json`);
  // Too long for an environment variable.
  await writeFile(file, JSON.stringify({ ...options, poolSize }));
  const { pid, url } = await openBare(bench, program, { BARE_OPTIONS_FILE: file });
  return {
    name: 'bare Fastify + pg',
    url,
    layers: { bare: [pid], postgres: [bench.postgresPid] },
    processes: { bare: pid },
  };
}

/** Builds one request and replaces its given, to keep the cost of the generator low. */
export function httpLoad(url: string, operations: Operation[]): Candidate['run'] {
  let sent = 0;
  return (name, seconds) => {
    const { line, headers, given, body, connections } = operations.find((operation) => operation.name === name)!;
    const model = given(0);
    const request = httpRequest(line(model), headers, body && JSON.stringify(body(model)));
    const next = () => request.replaceAll(model, given(++sent));
    return runLoad({ url, next, connections, seconds });
  };
}

export async function recordOperations(tap: PostgresTap, url: string, operations: Operation[]): Promise<Recordings> {
  const recordings: Recordings = {};
  let sent = 0;
  for (const operation of operations) {
    const { name, given, statements } = operation;
    // Warm-up: the first request fills the caches of the service.
    await ask(url, operation, given(++sent));
    tap.clear();
    const seen = given(++sent);
    const answer = await ask(url, operation, seen);
    const units = statements ? tap.unitsLike(statements) : tap.unitsWith(seen);
    if (units.length === 0) throw new Error(`The Postgres tap recorded no statements for ${name}.`);
    recordings[name] = { units, given: seen, answer };
  }
  return recordings;
}

export async function ask(url: string, { name, line, headers, body }: Operation, given: string): Promise<object> {
  const [method, path] = line(given).split(' ') as [string, string];
  const response = await fetch(`${url}${path}`, {
    method,
    headers: body ? { ...headers, 'content-type': 'application/json' } : headers,
    body: body && JSON.stringify(body(given)),
  });
  const answer = (await response.json()) as { errors?: string[] };
  if (!response.ok || answer.errors) throw new Error(`${name} failed: ${JSON.stringify(answer)}`);
  return answer;
}

export async function newDatabase({ session }: Workbench): Promise<EmptyDatabase> {
  const database = await createEmptyDatabase();
  session.keep({ stop: () => database.drop() });
  return database;
}
