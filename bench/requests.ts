import { spawnSync } from 'node:child_process';
import { startDistributed } from '@parley/testing/running-platform';
import { createEmptyDatabase } from '@parley/testing/test-database';
import type { BareOptions } from './bare-sql';
import { httpRequest, type LoadOptions, type LoadResult, runLoad } from './load';
import type { Options } from './options';
import { fileInput, record } from './recording';
import type { Aim, Result } from './result';
import { type Round, type Side, compareSpeed, alternate, ratioOf, timed, toRow } from './rounds';
import { newLogFile, openBare, openBot, openEmbedded, poolSize, productEnv, type Workbench } from './workbench';

const seededFiles = 100;
/** Time until the code is compiled and the pools are full. */
const firstWarmUpSeconds = 3;
const warmUpSeconds = 0.5;
/** Requests a second with which the processor time of the gateway is compared: half of what this machine answers. */
const fixedRate = 1_500;

type Operation = 'read' | 'write';
export type Candidate = Side & Record<Operation, () => string>;
type LoadRound = LoadResult & Round;

const titles: Record<Operation, string> = {
  read: 'GET /v1/files/{id}, a cheap read',
  write: 'PUT /v1/files with a new key, a single-row write',
};

/** Throughput of the embedded mode (requests per second) compared to Fastify and `pg` alone. */
export async function benchEmbedded(bench: Workbench): Promise<Result[]> {
  const recordings = await record(bench.session);
  const product = await startEmbeddedSide(bench);
  const bare = await startBareApi(bench, recordings);
  return compare(bench, 'Embedded mode', [product, bare], (of) =>
    compareSpeed({ name: 'embedded / bare', atLeast: 0.6, ambition: 0.7 }, of(product), of(bare)),
  );
}

/**
 * Throughput of the distributed mode (requests per second) compared to the same work over bare NATS, and to Fastify and
 * `pg` alone.
 */
export async function benchDistributed(bench: Workbench): Promise<Result[]> {
  const recordings = await record(bench.session);
  const { product, nats } = await startDistributedSide(bench);
  const floor = await startFloor(bench, recordings, nats);
  const bare = await startBareApi(bench, recordings);
  const results = await compare(bench, 'Distributed mode', [product, floor, bare], (of) => [
    ...compareSpeed({ name: 'distributed / NATS floor', atLeast: 0.7, ambition: 0.75 }, of(product), of(floor)),
    ...compareSpeed({ name: 'distributed / bare' }, of(product), of(bare)),
  ]);
  return bench.options.only.includes('read') ? [...results, await benchGateway(bench, product, floor)] : results;
}

/**
 * Processor time of the gateway for a request at a fixed rate. Under full load it depends on the speed of the others: a
 * process that receives more requests sleeps less, and reads and writes several at once.
 */
async function benchGateway({ session, options }: Workbench, product: Candidate, floor: Candidate): Promise<Result> {
  const sides = [product, floor];
  const measured = await alternate(session, sides, options.rounds, (side, isWarmUp) =>
    measure(side, 'read', { ...options, perSecond: fixedRate }, isWarmUp),
  );
  const gatewayUs = ({ cpu, count }: Round) => cpu.us['gateway']! / count;
  const ratio = ratioOf(gatewayUs, measured[0]!, measured[1]!);
  const aims = [{ name: "processor time of the gateway / floor's", ...ratio, below: 1.5, ambition: 1.25 }];
  return toResult(`Distributed mode: ${titles.read}; ${fixedRate} requests/s`, options, sides, measured, aims);
}

async function compare(
  { session, options }: Workbench,
  mode: string,
  sides: Candidate[],
  aims: (of: (side: Candidate) => Round[]) => Aim[],
): Promise<Result[]> {
  const results: Result[] = [];
  for (const operation of (['read', 'write'] as const).filter((part) => options.only.includes(part))) {
    const measured = await alternate(session, sides, options.rounds, (side, isWarmUp) =>
      measure(side, operation, options, isWarmUp),
    );
    const found = aims((side) => measured[sides.indexOf(side)]!);
    results.push(
      toResult(`${mode}: ${titles[operation]}`, options, sides, measured, found, {
        'p50 ms': ({ p50Ms }) => p50Ms,
        'p99 ms': ({ p99Ms }) => p99Ms,
        'body bytes': ({ bodyBytes, count }) => bodyBytes / count,
      }),
    );
  }
  return results;
}

function toResult(
  work: string,
  { connections, rounds, seconds }: Options,
  sides: Candidate[],
  measured: LoadRound[][],
  aims: Aim[],
  figures: Record<string, (round: LoadRound) => number> = {},
): Result {
  return {
    title: `${work}; ${connections} connections, ${rounds} rounds of ${seconds} s`,
    rows: sides.map((side, index) => toRow(side, measured[index]!, 'request', figures)),
    aims,
    notes: [],
    errors: sides.flatMap((side, index) => errorsOf(side, measured[index]!)),
    rounds: Object.fromEntries(sides.map(({ name }, index) => [name, measured[index]!])),
  };
}

async function measure(
  side: Candidate,
  operation: Operation,
  { connections, seconds, perSecond }: Pick<LoadOptions, 'connections' | 'seconds' | 'perSecond'>,
  isWarmUp: boolean,
): Promise<LoadRound> {
  const { url } = side;
  const load = (duration: number) => runLoad({ url, next: side[operation], connections, seconds: duration, perSecond });
  await load(isWarmUp ? Math.min(firstWarmUpSeconds, seconds) : warmUpSeconds);
  return timed(side, () => load(isWarmUp ? warmUpSeconds : seconds));
}

function errorsOf({ name }: Side, rounds: LoadRound[]): string[] {
  const count = rounds.reduce((total, { errors }) => total + errors, 0);
  const first = rounds.find(({ firstError }) => firstError)?.firstError;
  return count > 0 ? [`${name}: ${count} requests failed; the first: ${first}`] : [];
}

export async function startEmbeddedSide(bench: Workbench): Promise<Candidate> {
  const platform = await openEmbedded(bench);
  const { url, pids } = platform;
  const layers = { standalone: [pids['standalone']!], postgres: [bench.postgresPid] };
  const side = { name: 'Parley, embedded', url, layers, processes: pids };
  return candidate(side, (await openBot(platform)).headers);
}

export async function startDistributedSide(bench: Workbench) {
  const options = { env: productEnv(bench), logFile: newLogFile(bench) };
  const platform = bench.session.keep(await startDistributed(options));
  const { url, pids } = platform;
  const { gateway, files, admin, ...others } = pids;
  const nats = { url: platform.nats.url, pid: platform.nats.pid };
  const layers = {
    gateway: [gateway!],
    files: [files!],
    admin: [admin!],
    'other apps': Object.values(others),
    nats: [nats.pid],
    postgres: [bench.postgresPid],
  };
  const side = { name: 'Parley, distributed', url, layers, processes: pids };
  return { product: await candidate(side, (await openBot(platform)).headers), nats };
}

async function startBareApi(bench: Workbench, recordings: BareOptions['recordings']): Promise<Candidate> {
  const env = { BARE_OPTIONS: JSON.stringify(await bareOptions(bench, recordings)) };
  const { pid, url } = await openBare(bench, 'bare-api', env);
  const layers = { bare: [pid], postgres: [bench.postgresPid] };
  return candidate({ name: 'bare Fastify + pg', url, layers, processes: { bare: pid } });
}

async function startFloor(
  bench: Workbench,
  recordings: BareOptions['recordings'],
  nats: { url: string; pid: number },
): Promise<Candidate> {
  const env = { NATS_URL: nats.url, BARE_OPTIONS: JSON.stringify(await bareOptions(bench, recordings)) };
  const service = await openBare(bench, 'bare-service', env);
  const gateway = await openBare(bench, 'bare-gateway', env);
  const layers = { gateway: [gateway.pid], service: [service.pid], nats: [nats.pid], postgres: [bench.postgresPid] };
  return candidate({
    name: 'bare Fastify + NATS + pg',
    url: gateway.url,
    layers,
    processes: { gateway: gateway.pid, service: service.pid },
  });
}

async function bareOptions({ session }: Workbench, recordings: BareOptions['recordings']): Promise<BareOptions> {
  const database = await createEmptyDatabase();
  session.keep({ stop: () => database.drop() });
  const migrated = spawnSync(process.execPath, ['dist/apps/cli/src/migrate.js'], {
    env: { PATH: process.env['PATH'], DATABASE_URL: database.url },
    encoding: 'utf8',
  });
  if (migrated.status !== 0) throw new Error(`The migration of the baseline's database failed:\n${migrated.stderr}`);
  return { databaseUrl: database.url, poolSize, recordings };
}

async function candidate(side: Side, headers: Record<string, string> = {}): Promise<Candidate> {
  let made = 0;
  const newFile = () => JSON.stringify(fileInput(`bench/${process.pid}/${++made}.md`));
  const reads: string[] = [];
  for (let i = 0; i < seededFiles; i++) {
    const response = await fetch(`${side.url}/v1/files`, {
      method: 'PUT',
      headers: { ...headers, 'content-type': 'application/json' },
      body: newFile(),
    });
    if (!response.ok) throw new Error(`${side.name} answered ${response.status}: ${await response.text()}`);
    const { file } = (await response.json()) as { file: { id: string } };
    reads.push(httpRequest(`GET /v1/files/${file.id}`, headers));
  }
  let read = 0;
  return {
    ...side,
    read: () => reads[++read % reads.length]!,
    write: () => httpRequest('PUT /v1/files', headers, newFile()),
  };
}
