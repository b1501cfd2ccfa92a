import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { clientOf } from '@parley/testing/api';
import { run, type RunningPlatform, startDistributed, startEmbedded } from '@parley/testing/running-platform';
import { createEmptyDatabase } from '@parley/testing/test-database';
import type { BareOptions } from './bare-sql';
import type { Layers } from './cpu';
import { httpRequest } from './load';
import type { Options, Part } from './options';
import { fileInput } from './recording';
import type { Aim, Result } from './result';
import { type Round, type Side, takeTurns, toRow } from './rounds';
import type { Session } from './session';
import { pairedRatio } from './statistics';

/** The default of DATABASE_POOL_SIZE, for the product and its baselines. */
const poolSize = 10;
const seededFiles = 100;

/** What the run has at hand. */
export interface Bench {
  session: Session;
  options: Options;
  /** For logs, removed at the end. */
  folder: string;
  postgresPid: number;
  recordings: BareOptions['recordings'];
}

type Operation = 'read' | 'write';
/** A side that is ready for both operations. */
type Candidate = Omit<Side, 'next'> & Record<Operation, () => string>;

const titles: Record<Operation, string> = {
  read: 'GET /v1/files/{id}, a cheap read',
  write: 'PUT /v1/files with a new key, a single-row write',
};

/** Requests a second of the embedded mode beside Fastify and `pg` alone. */
export async function benchEmbedded(bench: Bench): Promise<Result[]> {
  const product = await startEmbeddedSide(bench);
  const bare = await startBareApi(bench);
  return compare(bench, 'embedded mode', [product, bare], (ratio) => [
    { name: 'embedded / bare', ...ratio(product, bare), atLeast: 0.6, ambition: 0.7 },
  ]);
}

/** Requests a second of the distributed mode beside the same work over bare NATS, and beside Fastify and `pg` alone. */
export async function benchDistributed(bench: Bench): Promise<Result[]> {
  const { product, natsUrl, natsPid } = await startDistributedSide(bench);
  const floor = await startFloor(bench, natsUrl, natsPid);
  const bare = await startBareApi(bench);
  return compare(bench, 'distributed mode', [product, floor, bare], (ratio) => [
    { name: 'distributed / NATS floor', ...ratio(product, floor), atLeast: 0.7, ambition: 0.75 },
    { name: 'distributed / bare', ...ratio(product, bare) },
  ]);
}

type RatioOf = (side: Candidate, baseline: Candidate) => Pick<Aim, 'value' | 'spread'>;

async function compare(
  { session, options }: Bench,
  mode: string,
  candidates: Candidate[],
  aims: (ratio: RatioOf) => Aim[],
): Promise<Result[]> {
  const results: Result[] = [];
  for (const operation of (['read', 'write'] as const).filter((part: Part) => options.only.includes(part))) {
    const sides = candidates.map((candidate) => ({ ...candidate, next: candidate[operation] }));
    const turns = [...(await takeTurns(session, sides, options)).values()];
    const perSecond = (side: Candidate) => turns[candidates.indexOf(side)]!.map((round) => round.perSecond);
    const ratio: RatioOf = (side, baseline) => {
      const { median, lowest, highest } = pairedRatio(perSecond(side), perSecond(baseline));
      return { value: median, spread: [lowest, highest] };
    };
    results.push({
      part: `${operation}, ${mode}`,
      title: `${mode}: ${titles[operation]}; ${options.connections} connections, ${options.rounds} rounds of ${options.seconds} s`,
      rows: sides.map((side, i) => toRow(side, turns[i]!)),
      aims: aims(ratio),
      errors: sides.flatMap((side, i) => errorsOf(side, turns[i]!)),
      notes: [],
      rounds: Object.fromEntries(sides.map(({ name }, i) => [name, turns[i]!])),
    });
  }
  return results;
}

function errorsOf({ name }: Side, rounds: Round[]): string[] {
  const count = rounds.reduce((total, { errors }) => total + errors, 0);
  const first = rounds.find(({ firstError }) => firstError)?.firstError;
  return count > 0 ? [`${name}: ${count} requests failed; the first: ${first}`] : [];
}

async function startEmbeddedSide(bench: Bench): Promise<Candidate> {
  const { session, folder, postgresPid } = bench;
  const env = { LOG_LEVEL: 'info', DATABASE_POOL_SIZE: String(poolSize) };
  const platform = session.keep(await startEmbedded({ env, logFile: join(folder, 'embedded.log') }));
  const layers = { standalone: [platform.pids['standalone']!], postgres: [postgresPid] };
  return productSide('Parley, embedded', platform, layers);
}

async function startDistributedSide(bench: Bench) {
  const { session, folder, postgresPid } = bench;
  const env = { LOG_LEVEL: 'info', DATABASE_POOL_SIZE: String(poolSize) };
  const platform = session.keep(await startDistributed({ env, logFile: join(folder, 'distributed.log') }));
  const { gateway, files, admin, ...others } = platform.pids;
  const natsPid = platform.nats.pid;
  const layers = {
    gateway: [gateway!],
    files: [files!],
    admin: [admin!],
    'other apps': Object.values(others),
    nats: [natsPid],
    postgres: [postgresPid],
  };
  return { product: await productSide('Parley, distributed', platform, layers), natsUrl: platform.nats.url, natsPid };
}

async function productSide(name: string, platform: RunningPlatform, layers: Layers): Promise<Candidate> {
  const { bot } = await clientOf(platform).createBot({});
  const { url, token, workspaceId, pids } = platform;
  const headers = { authorization: `Bearer ${token}`, 'x-bot-id': bot.id, 'x-workspace-id': workspaceId };
  return candidate({ name, url, layers, own: Object.values(pids) }, headers);
}

async function startBareApi(bench: Bench): Promise<Candidate> {
  const env = { BARE_OPTIONS: JSON.stringify(await bareOptions(bench)) };
  const { pid, url } = await startBare(bench, 'bare-api', env);
  const layers = { bare: [pid], postgres: [bench.postgresPid] };
  return candidate({ name: 'bare Fastify + pg', url, layers, own: [pid] });
}

async function startFloor(bench: Bench, natsUrl: string, natsPid: number): Promise<Candidate> {
  const env = { NATS_URL: natsUrl, BARE_OPTIONS: JSON.stringify(await bareOptions(bench)) };
  const service = await startBare(bench, 'bare-service', env);
  const gateway = await startBare(bench, 'bare-gateway', env);
  const layers = { gateway: [gateway.pid], service: [service.pid], nats: [natsPid], postgres: [bench.postgresPid] };
  return candidate({ name: 'bare Fastify + NATS + pg', url: gateway.url, layers, own: [gateway.pid, service.pid] });
}

/** A database of its own with the product's schema. */
async function bareOptions({ session, recordings }: Bench): Promise<BareOptions> {
  const database = await createEmptyDatabase();
  session.keep({ stop: () => database.drop() });
  const migrated = spawnSync(process.execPath, ['dist/apps/cli/src/migrate.js'], {
    env: { PATH: process.env['PATH'], DATABASE_URL: database.url },
    encoding: 'utf8',
  });
  if (migrated.status !== 0) throw new Error(`The baseline's database was not migrated:\n${migrated.stderr}`);
  return { databaseUrl: database.url, poolSize, recordings };
}

async function startBare({ session }: Bench, name: string, env: Record<string, string>) {
  const program = session.keep(run(`dist/bench/${name}.js`, env));
  await program.said(/Listening.*\n/);
  return { pid: program.pid, url: /http:\S+/.exec(program.output())?.[0] ?? '' };
}

/** Declares the files that are read, and prepares the requests. */
async function candidate(side: Omit<Side, 'next'>, headers: Record<string, string> = {}): Promise<Candidate> {
  let made = 0;
  const key = () => `bench/${process.pid}/${++made}.md`;
  const reads: string[] = [];
  for (let i = 0; i < seededFiles; i++) {
    const response = await fetch(`${side.url}/v1/files`, {
      method: 'PUT',
      headers: { ...headers, 'content-type': 'application/json' },
      body: JSON.stringify(fileInput(key())),
    });
    if (!response.ok) throw new Error(`${side.name} answered ${response.status}: ${await response.text()}`);
    const { file } = (await response.json()) as { file: { id: string } };
    reads.push(httpRequest(`GET /v1/files/${file.id}`, headers));
  }
  let read = 0;
  return {
    ...side,
    read: () => reads[++read % reads.length]!,
    write: () => httpRequest('PUT /v1/files', headers, JSON.stringify(fileInput(key()))),
  };
}
