import { execFile } from 'node:child_process';
import { stat } from 'node:fs/promises';
import { userInfo } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { CannotOpenData } from './cannot-open-data';
import { postgresEnvironment } from './postgres-environment';

export interface User {
  uid: number;
  gid: number;
}

/**
 * User that runs Postgres, which refuses to run as root. Root starts it as this user (`user`), or, where this user
 * cannot read the folder, in a user namespace that maps root to this user, without root's power over the files of
 * others.
 */
export type Runner = { kind: 'self' } | { kind: 'user'; user: User } | { kind: 'namespace'; user: User };

/**
 * Chooses the owner of the data, or of the folder without data, with `nobody` instead of root. Root's own data is
 * closed to `nobody`: it stays with the namespace that created it. Throws when no runner can access it.
 */
export async function findRunner(folder: string): Promise<Runner> {
  if (process.getuid?.() !== 0) return { kind: 'self' };

  const data = join(folder, 'postgres');
  const isNew = !(await findOwner(data));
  const path = isNew ? folder : data;
  const owner = await findOwner(path);
  const user = owner && owner.uid !== 0 ? owner : await findNobody();
  const barrier = await findBarrier(path, { kind: 'user', user });
  if (!barrier) return { kind: 'user', user };

  const namespace: Runner = { kind: 'namespace', user };
  if (!(await findBarrier(path, namespace)) && (await canRun(namespace))) return namespace;
  throw new CannotOpenData(barrierMessage(folder, barrier, barrier === data));
}

/**
 * initdb looks up the name of its user. A user id without a name, as in containers with an arbitrary one, becomes that of
 * `nobody` in a user namespace; the server itself needs no name.
 */
export async function findInitdbRunner(runner: Runner): Promise<Runner> {
  if (runner.kind !== 'self' || hasName()) return runner;
  const namespace: Runner = { kind: 'namespace', user: await findNobody() };
  if (await canRun(namespace)) return namespace;
  const [uid, gid] = [process.getuid?.(), process.getgid?.()];
  throw new CannotOpenData(
    `The user id ${uid} has no name on this machine, and Postgres needs one to create its data. ` +
      `Add the line "parley:x:${uid}:${gid}::/:/bin/false" to /etc/passwd, or start as a user with a name, ` +
      'or set DATABASE_URL to a Postgres server of your own.',
  );
}

function hasName(): boolean {
  try {
    return userInfo().username !== '';
  } catch {
    return false;
  }
}

/** Owner of the files of Postgres on disk. Null when it is the user of this process. */
export function findFileOwner(runner: Runner): User | null {
  switch (runner.kind) {
    case 'self':
      return null;
    case 'user':
      return runner.user;
    case 'namespace':
      return { uid: 0, gid: 0 };
  }
}

/** Command that runs the program as this runner; the program keeps the process id of the child. */
export function commandOf(runner: Runner, program: string, args: string[]) {
  if (runner.kind !== 'namespace') return { file: program, args, user: runner.kind === 'user' ? runner.user : {} };

  const { uid, gid } = runner.user;
  const namespace = ['--user', `--map-user=${uid}`, `--map-group=${gid}`];
  return { file: 'unshare', args: [...namespace, '--', program, ...args], user: {} };
}

/** First folder on the way to `path`, itself included, that this runner may not enter. Null when there is none. */
export async function findBarrier(path: string, runner: Runner): Promise<string | null> {
  const user = findFileOwner(runner);
  if (!user) return null;
  const parent = dirname(path);
  const barrier = parent === path ? null : await findBarrier(parent, runner);
  if (barrier) return barrier;

  const { uid, gid, mode } = await stat(path);
  const execute = uid === user.uid ? 0o100 : gid === user.gid ? 0o010 : 0o001;
  return mode & execute ? null : path;
}

/** False without the `unshare` of util-linux, and where it is denied, as in most containers. */
async function canRun(runner: Runner): Promise<boolean> {
  const { file, args } = commandOf(runner, 'true', []);
  return promisify(execFile)(file, args, { env: postgresEnvironment() }).then(
    () => true,
    () => false,
  );
}

async function findOwner(path: string): Promise<User | null> {
  const found = await stat(path).catch(() => null);
  return found && { uid: found.uid, gid: found.gid };
}

async function findNobody(): Promise<User> {
  return { uid: await idOf('-u'), gid: await idOf('-g') };
}

async function idOf(kind: '-u' | '-g'): Promise<number> {
  const { stdout } = await promisify(execFile)('id', [kind, 'nobody']);
  return Number(stdout);
}

function barrierMessage(folder: string, barrier: string, isData: boolean): string {
  return (
    `Postgres cannot run as root, its user may not enter ${barrier} on the way to ${folder}, ` +
    'and starting it in a user namespace is not possible here (unshare --user). ' +
    'Start as an ordinary user, or set PARLEY_DATA_DIR to a folder that other users may enter, ' +
    (isData
      ? `or change the owner of the data: chown -R nobody: ${barrier}`
      : `or let other users pass: chmod o+x ${barrier}`)
  );
}
