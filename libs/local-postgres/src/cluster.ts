import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chown, mkdtemp, open, readdir, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { CannotOpenData } from './cannot-open-data';
import { postgresEnvironment } from './postgres-environment';
import type { PostgresPrograms } from './postgres-programs';
import { commandOf, findFileOwner, findInitdbRunner, type Runner, type User } from './runner';

export interface Cluster {
  data: string;
  password: string;
}

export const superuser = 'parley';

/** Opens the data files in `<folder>/postgres`, or creates them atomically: a kill leaves none. */
export async function openCluster(
  folder: string,
  programs: PostgresPrograms,
  runner: Runner,
  signal: AbortSignal,
): Promise<Cluster> {
  const data = join(folder, 'postgres');
  const passwordFile = join(folder, 'postgres.password');
  if (!(await readdir(folder)).includes('postgres')) {
    await createCluster(folder, data, passwordFile, programs, runner, signal);
  }
  return { data, password: await readPassword(passwordFile) };
}

async function createCluster(
  folder: string,
  data: string,
  passwordFile: string,
  programs: PostgresPrograms,
  runner: Runner,
  signal: AbortSignal,
): Promise<void> {
  const initdbRunner = await findInitdbRunner(runner);
  await removeDrafts(folder);
  const owner = findFileOwner(runner);
  await writePassword(passwordFile, owner);
  const draft = await mkdtemp(join(folder, 'postgres.new-'));
  if (owner) await chown(draft, owner.uid, owner.gid);
  // The built-in locale handles letters of all scripts and needs no locale of the machine.
  const locale = ['--encoding=UTF8', '--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8'];
  // Nobody can guess a random password, so that more iterations would only slow down each new connection.
  const access = [
    '--auth=scram-sha-256',
    '--set=scram_iterations=1',
    `--username=${superuser}`,
    `--pwfile=${passwordFile}`,
  ];
  const { file, args, user } = commandOf(initdbRunner, programs.initdb, [`--pgdata=${draft}`, ...locale, ...access]);
  await promisify(execFile)(file, args, { cwd: folder, env: postgresEnvironment(), signal, ...user }).catch(
    (error: Error & { stderr?: string }) => {
      if (!error.stderr) throw error;
      throw new CannotOpenData(`Postgres could not create its data in ${folder}:\n${error.stderr.trim()}`);
    },
  );
  await rename(draft, data);
  await syncFolder(folder);
}

/** Deletes what killed starts have left. A draft that its initdb still writes to is left to the next start. */
async function removeDrafts(folder: string): Promise<void> {
  const drafts = (await readdir(folder)).filter((name) => name.startsWith('postgres.new-'));
  for (const draft of drafts) await rm(join(folder, draft), { recursive: true, force: true }).catch(() => undefined);
}

/** Every user of the machine can reach the loopback address: the password keeps them out. */
async function writePassword(path: string, owner: User | null): Promise<void> {
  await rm(path, { force: true });
  const file = await open(path, 'wx', 0o600);
  await file.writeFile(randomBytes(24).toString('base64url'));
  if (owner) await file.chown(owner.uid, owner.gid);
  await file.sync();
  await file.close();
}

async function readPassword(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    throw new CannotOpenData(`Cannot read ${path}, the password of the database beside it: restore this file.`, {
      cause: error,
    });
  }
}

async function syncFolder(path: string): Promise<void> {
  const folder = await open(path);
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}
