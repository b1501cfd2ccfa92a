import { execFile } from 'node:child_process';
import { realpath } from 'node:fs/promises';
import { promisify } from 'node:util';
import { startLocalPostgres } from './local-postgres';
import { postgresEnvironment } from './postgres-environment';
import { findPrograms } from './postgres-programs';
import { findFileOwner, findRunner, type User } from './runner';

/** Requirements for data files to restore: their owner (null: the user of this process) and their major version. */
export async function findClusterNeeds(folder: string): Promise<{ owner: User | null; major: number }> {
  const path = await realpath(folder);
  const runner = await findRunner(path);
  const { postgres } = await findPrograms(path, runner);
  const { stdout } = await promisify(execFile)(postgres, ['--version'], { env: postgresEnvironment() });
  return { owner: findFileOwner(runner), major: Number(/(\d+)/.exec(stdout)?.[1]) };
}

/** Lets Postgres recover restored data files, and stops it again. Throws when recovery fails. */
export async function recoverCluster(folder: string, signal: AbortSignal): Promise<void> {
  const postgres = await startLocalPostgres({ folder, signal });
  await postgres.stop();
}
