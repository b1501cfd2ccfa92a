import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from './free-port';
import { NatsServer } from './nats-server';
import { createPlatformDatabase } from './test-database';

const startTimeoutMs = 120_000;
const stopTimeoutMs = 20_000;

export interface RunningPlatform {
  url: string;
  /** Personal access token of the first account. */
  token: string;
  workspaceId: string;
  secretKey: string;
  /** Process id of each app; in embedded mode only of `standalone`. */
  pids: Record<string, number>;
  stop(): Promise<void>;
}

type Environment = Record<string, string>;

/** Variables of each process that a test starts. The cache of compiled code saves a quarter of the time of a start. */
export function baseEnvironment(): NodeJS.ProcessEnv {
  const { PATH, HOME, NODE_COMPILE_CACHE } = process.env;
  return { PATH, HOME, NODE_COMPILE_CACHE, COMPLETIONS_SCRIPT_FILE: resolve('test/support/model-script.json') };
}

/** Embedded mode as by `npm start`, on a database of the test run unless `ownPostgres` is set. */
export async function startEmbedded(
  options: { env?: Environment; dataDir?: string; ownPostgres?: boolean; logFile?: string } = {},
): Promise<RunningPlatform> {
  const folder = options.dataDir ?? (await mkdtemp(join(tmpdir(), 'parley-embedded-')));
  const database = options.ownPostgres ? undefined : await createPlatformDatabase();
  const env = {
    PORT: '0',
    PARLEY_DATA_DIR: folder,
    ...(database ? { DATABASE_URL: database.url } : {}),
    ...options.env,
  };
  const process_ = run('dist/apps/standalone/src/main.js', env, [], options.logFile);
  const stop = async () => {
    await process_.stop();
    await database?.drop();
    if (!options.dataDir) await rm(folder, { recursive: true, force: true });
  };
  await process_.said(/Parley is ready/).catch(stopped(stop));
  const credentials = JSON.parse(await readFile(join(folder, 'credentials.json'), 'utf8')) as Omit<
    RunningPlatform,
    'pids' | 'stop'
  >;
  return {
    ...credentials,
    secretKey: (await readFile(join(folder, 'secret.key'), 'utf8')).split('\n')[0]!,
    pids: { standalone: process_.pid },
    stop,
  };
}

/** Distributed mode: one process per app, over a real NATS server, which is open or secured as in `deploy/nats`. */
export async function startDistributed(
  options: { env?: Environment; logFile?: string; isSecured?: true; ownUser?: string } = {},
): Promise<RunningPlatform & { nats: NatsServer }> {
  const folder = await mkdtemp(join(tmpdir(), 'parley-distributed-'));
  const [nats, database] = await Promise.all([
    options.isSecured ? NatsServer.startSecured(options.ownUser) : NatsServer.start(),
    createPlatformDatabase(),
  ]);
  const stateFile = join(folder, 'state.json');
  const env = {
    NATS_URL: nats.url,
    ...nats.access,
    DATABASE_URL: database.url,
    DATABASE_POOL_SIZE: '5',
    PARLEY_DATA_DIR: folder,
    STATE_FILE: stateFile,
    ...(await freePorts()),
    SHUTDOWN_GRACE_MS: '50',
    LOG_LEVEL: 'warn',
    ...options.env,
  };
  const process_ = run('tools/distributed.mjs', env, [], options.logFile);
  const stop = async () => {
    await process_.stop();
    await nats.stop();
    await database.drop();
    await rm(folder, { recursive: true, force: true });
  };
  await process_.said(/Parley is ready/).catch(stopped(stop));
  const state = JSON.parse(await readFile(stateFile, 'utf8')) as {
    url: string;
    token: string;
    secretKey: string;
    apps: Record<string, { pid: number }>;
  };
  return {
    url: state.url,
    token: state.token,
    secretKey: state.secretKey,
    workspaceId: await firstWorkspace(state.url, state.token),
    pids: Object.fromEntries(Object.entries(state.apps).map(([name, { pid }]) => [name, pid])),
    nats,
    stop,
  };
}

/** Port variables that `tools/distributed.mjs` reads. */
async function freePorts(): Promise<Environment> {
  const apps = ['', 'ADMIN_', 'HUB_', 'FILES_', 'FILES_WORKER_', 'TABLES_', 'CHAT_'];
  return Object.fromEntries(await Promise.all(apps.map(async (app) => [`${app}PORT`, String(await freePort())])));
}

/**
 * Runs a compiled program with this environment. A log file keeps long output out of
 * the memory of this process.
 */
export function run(script: string, env: Environment, args: string[] = [], logFile?: string) {
  const log = logFile === undefined ? undefined : openSync(logFile, 'w');
  const child = spawn(process.execPath, [script, ...args], {
    env: { ...baseEnvironment(), ...env },
    stdio: ['ignore', log ?? 'pipe', log ?? 'pipe'],
  });
  if (log !== undefined) closeSync(log);
  let piped = '';
  child.stdout?.on('data', (data: Buffer) => (piped += data.toString()));
  child.stderr?.on('data', (data: Buffer) => (piped += data.toString()));
  const output = () => (logFile === undefined ? piped : readFileSync(logFile, 'utf8'));
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  return {
    pid: child.pid!,
    ended,
    output,
    said: async (text: RegExp) => {
      const deadline = Date.now() + startTimeoutMs;
      while (!text.test(output())) {
        if (hasEnded(child) || Date.now() > deadline)
          throw new Error(`${script} did not print ${text.source}:\n${output()}`);
        await sleep(20);
      }
    },
    stop: async () => {
      child.kill('SIGTERM');
      const timer = setTimeout(() => child.kill('SIGKILL'), stopTimeoutMs);
      await ended;
      clearTimeout(timer);
    },
  };
}

function stopped(stop: () => Promise<void>) {
  return async (error: unknown) => {
    await stop();
    throw error;
  };
}

function hasEnded(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null;
}

export async function firstWorkspace(url: string, token: string): Promise<string> {
  const response = await fetch(`${url}/v1/admin/workspaces`, { headers: { authorization: `Bearer ${token}` } });
  if (!response.ok) throw new Error(`GET /v1/admin/workspaces returned ${response.status}: ${await response.text()}`);
  const { workspaces } = (await response.json()) as { workspaces: { id: string }[] };
  return workspaces[0]!.id;
}
