import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startLocalPostgres } from '@parley/local-postgres/local-postgres';
import { EmbeddingServer } from '@parley/testing/embedding-server';
import { run } from '@parley/testing/running-platform';
import { Fleet } from '../fleet';
import type { LoadTarget } from '../recorded-requests';
import { MemoryCgroup } from './memory-cgroup';

export const targetModes = ['distributed', 'embedded'] as const;
export type TargetMode = (typeof targetModes)[number];

export const cgroupMissing =
  'needs permission to create a memory control group (as root, with /sys/fs/cgroup writable)';

/** Platform, which may have a memory limit. */
export interface BombTarget extends LoadTarget {
  /** Limits the files worker in the distributed mode, and the whole platform including Postgres in the embedded one. */
  cgroup?: MemoryCgroup;
  /** False when a process of the platform has ended or was replaced. */
  isAlive(): boolean;
  output(): string;
  stop(): Promise<void>;
}

export interface TargetOptions {
  /** Memory limit in MiB. Throws when this process may not create a memory control group. */
  memoryMb?: number;
  /** Value of `RUNNER_ISOLATION`. */
  isolation?: string;
}

export async function startTarget(
  mode: TargetMode,
  { memoryMb, isolation = 'auto' }: TargetOptions,
): Promise<BombTarget> {
  const cgroup = memoryMb === undefined ? undefined : await MemoryCgroup.create(memoryMb * 2 ** 20);
  if (memoryMb !== undefined && !cgroup) throw new Error(`This ${cgroupMissing}.`);
  const undo: (() => Promise<unknown>)[] = [() => cgroup?.remove() ?? Promise.resolve()];
  const stop = async () => {
    for (const step of undo.splice(0).reverse()) await step();
  };
  try {
    const folder = await mkdtemp(join(tmpdir(), 'parley-bombs-'));
    undo.push(() => rm(folder, { recursive: true, force: true }));
    // As root, Postgres runs as another user, which must pass through the folder.
    await chmod(folder, 0o711);
    const embeddings = await EmbeddingServer.start();
    undo.push(() => embeddings.stop());
    const env = {
      ...{ EMBEDDINGS_URL: embeddings.url, SWEEP_INTERVAL_MS: '500', LOG_LEVEL: 'warn' },
      RUNNER_ISOLATION: isolation,
    };
    const started = mode === 'distributed' ? startDistributedPlatform : startEmbeddedPlatform;
    return { ...(await started(folder, cgroup, env, undo)), cgroup, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

type Started = Omit<BombTarget, 'cgroup' | 'stop'>;

async function startDistributedPlatform(
  folder: string,
  cgroup: MemoryCgroup | undefined,
  env: Record<string, string>,
  undo: (() => Promise<unknown>)[],
): Promise<Started> {
  const postgres = await startLocalPostgres({ folder, settings: { max_connections: 100 } });
  undo.push(() => postgres.stop());
  const fleet = await Fleet.start({ databaseUrl: postgres.url, env });
  undo.push(() => fleet.stop());
  const worker = fleet.the('files-worker');
  await worker.end('SIGTERM');
  await worker.launch();
  await cgroup?.add(worker.pid);
  await worker.ready();
  const { url, token, workspaceId } = fleet;
  const pids = fleet.all.map(({ pid }) => pid);
  const isAlive = () => fleet.all.every(({ isRunning, pid }, index) => isRunning && pid === pids[index]);
  return { url, token, workspaceId, isAlive, output: () => [...fleet.ended, ...fleet.warnings].join('\n') };
}

async function startEmbeddedPlatform(
  folder: string,
  cgroup: MemoryCgroup | undefined,
  env: Record<string, string>,
  undo: (() => Promise<unknown>)[],
): Promise<Started> {
  const platform = run('dist/apps/standalone/src/main.js', { ...env, PORT: '0', PARLEY_DATA_DIR: folder });
  let isAlive = true;
  void platform.ended.then(() => (isAlive = false));
  undo.push(() => platform.stop());
  await cgroup?.add(platform.pid);
  await platform.said(/Parley is ready/);
  const credentials = JSON.parse(await readFile(join(folder, 'credentials.json'), 'utf8')) as LoadTarget;
  const { url, token, workspaceId } = credentials;
  return { url, token, workspaceId, isAlive: () => isAlive, output: () => platform.output() };
}
