import { randomBytes, randomUUID } from 'node:crypto';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { startLocalPostgres } from '@parley/local-postgres/local-postgres';
import { clientOf } from '@parley/testing/api';
import { run, type RunningPlatform, startEmbedded } from '@parley/testing/running-platform';
import type { Options } from './options';
import { type Session } from './session';

/** What the parts of the run work with. */
export interface Workbench {
  session: Session;
  options: Options;
  /** For data and logs; removed at the end. */
  folder: string;
  postgresPid: number;
}

/** Connections of the product to Postgres for each service, by default; the baselines may have as many. */
export const poolSize = 10;

/** A Postgres with the settings of the embedded mode's, under which commits wait for the disk. Stopped with the session. */
export async function openWorkbench(session: Session, options: Options): Promise<Workbench> {
  const folder = await mkdtemp(join(tmpdir(), 'parley-bench-'));
  session.keep({ stop: () => rm(folder, { recursive: true, force: true }) });
  // The user that runs Postgres has to pass when this one is root.
  await chmod(folder, 0o711);
  const postgres = session.keep(await startLocalPostgres({ folder }));
  // Where @parley/testing makes its databases.
  process.env['TEST_DATABASE_URL'] = postgres.url;
  process.env['TEST_RUN_ID'] = randomBytes(4).toString('hex');
  return { session, options, folder, postgresPid: postgres.pid! };
}

/** The embedded mode with everything on. Its log goes to a file. */
export async function openEmbedded(bench: Workbench, env: Record<string, string> = {}, preloads: string[] = []) {
  const options = { env: { ...productEnv(bench, preloads), ...env }, logFile: newLogFile(bench) };
  return bench.session.keep(await startEmbedded(options));
}

export function newLogFile({ folder }: Workbench): string {
  return join(folder, `${randomUUID()}.log`);
}

/** What a process of the product is measured with: everything on. Node loads the programs of ours that are named first. */
export function productEnv({ options: { profile } }: Workbench, preloads: string[] = []): Record<string, string> {
  const programs = [...preloads, ...(profile ? ['profile'] : [])];
  return {
    LOG_LEVEL: 'info',
    DATABASE_POOL_SIZE: String(poolSize),
    NODE_OPTIONS: programs.map((name) => `--require ${resolve(`dist/bench/${name}.js`)}`).join(' '),
    ...(profile ? { CPU_PROFILES: resolve(profile) } : {}),
  };
}

/** Headers that a request for a bot's files needs, and the public client for it. */
export async function openBot(platform: RunningPlatform) {
  const { bot } = await clientOf(platform).createBot({});
  const { token, workspaceId } = platform;
  return {
    id: bot.id,
    headers: { authorization: `Bearer ${token}`, 'x-bot-id': bot.id, 'x-workspace-id': workspaceId },
    client: clientOf(platform, bot.id),
  };
}

/** A baseline, as a process of its own. */
export async function openBare({ session }: Workbench, name: string, env: Record<string, string>) {
  const program = session.keep(run(`dist/bench/${name}.js`, env));
  await program.said(/Listening.*\n/);
  return { pid: program.pid, url: /http:\S+/.exec(program.output())?.[0] ?? '' };
}
