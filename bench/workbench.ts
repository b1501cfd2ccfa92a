import { randomBytes, randomUUID } from 'node:crypto';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { startLocalPostgres } from '@parley/local-postgres/local-postgres';
import { clientOf } from '@parley/testing/api';
import { run, type RunningPlatform, startEmbedded } from '@parley/testing/running-platform';
import type { Options } from './options';
import { type Session } from './session';

export interface Workbench {
  session: Session;
  options: Options;
  folder: string;
  postgresPid: number;
}

/** Default connections of a service to Postgres; also used by the baselines. */
export const poolSize = 10;

/** Starts a Postgres with the settings of the embedded mode, including synchronous commits. Stopped with the session. */
export async function openWorkbench(session: Session, options: Options): Promise<Workbench> {
  const folder = await mkdtemp(join(tmpdir(), 'parley-bench-'));
  session.keep({ stop: () => rm(folder, { recursive: true, force: true }) });
  // Lets the Postgres user enter the folder when this process runs as root.
  await chmod(folder, 0o711);
  const postgres = session.keep(await startLocalPostgres({ folder }));
  process.env['TEST_DATABASE_URL'] = postgres.url;
  process.env['TEST_RUN_ID'] = randomBytes(4).toString('hex');
  return { session, options, folder, postgresPid: postgres.pid! };
}

/** Starts the embedded mode with all features. Its log goes to a file. */
export async function openEmbedded(bench: Workbench, env: Record<string, string> = {}, preloads: string[] = []) {
  const options = { env: { ...productEnv(bench, preloads), ...env }, logFile: newLogFile(bench) };
  return bench.session.keep(await startEmbedded(options));
}

export function newLogFile({ folder }: Workbench): string {
  return join(folder, `${randomUUID()}.log`);
}

/** Environment of the measured processes. `preloads` are loaded by `--require`. */
export function productEnv({ options: { profile } }: Workbench, preloads: string[] = []): Record<string, string> {
  const programs = [...preloads, ...(profile ? ['profile'] : [])];
  return {
    LOG_LEVEL: 'info',
    DATABASE_POOL_SIZE: String(poolSize),
    // A process that was suspended while another side was measured must not reject requests as overloaded.
    MAX_LOOP_DELAY_MS: '60000',
    NODE_OPTIONS: programs.map((name) => `--require ${resolve(`dist/bench/${name}.js`)}`).join(' '),
    ...(profile ? { CPU_PROFILES: resolve(profile) } : {}),
  };
}

export async function openBot(platform: RunningPlatform) {
  const { bot } = await clientOf(platform).createBot({});
  const { token, workspaceId } = platform;
  return {
    id: bot.id,
    headers: { authorization: `Bearer ${token}`, 'x-bot-id': bot.id, 'x-workspace-id': workspaceId },
    client: clientOf(platform, bot.id),
  };
}

export async function openBare({ session }: Workbench, name: string, env: Record<string, string>) {
  const program = run(`dist/bench/${name}.js`, env);
  let isStopping = false;
  session.keep({ stop: () => ((isStopping = true), program.stop()) });
  void program.ended.then(() => {
    if (!isStopping) process.stderr.write(`${name} has ended:\n${program.output()}\n`);
  });
  await program.said(/Listening.*\n/);
  return { pid: program.pid, url: /http:\S+/.exec(program.output())?.[0] ?? '' };
}
