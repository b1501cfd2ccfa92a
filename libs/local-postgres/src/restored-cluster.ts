import { execFile } from 'node:child_process';
import { realpath } from 'node:fs/promises';
import { promisify } from 'node:util';
import { startLocalPostgres } from './local-postgres';
import { postgresEnvironment } from './postgres-environment';
import { findPrograms } from './postgres-programs';
import { findFileOwner, findRunner, type User } from './runner';

/** For a folder without data: who must own those that are put there, null for this process, and of which major version. */
export async function findClusterNeeds(folder: string): Promise<{ owner: User | null; major: number }> {
  const path = await realpath(folder);
  const runner = await findRunner(path);
  const { postgres } = await findPrograms(path, runner);
  const { stdout } = await promisify(execFile)(postgres, ['--version'], { env: postgresEnvironment() });
  return { owner: findFileOwner(runner), major: Number(/(\d+)/.exec(stdout)?.[1]) };
}

/** Lets Postgres make restored data files consistent, and stops it again. Throws when it does not take them. */
export async function recoverCluster(folder: string, signal: AbortSignal): Promise<void> {
  const postgres = await startLocalPostgres({ folder, signal });
  await postgres.stop();
}
