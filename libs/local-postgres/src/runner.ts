import { execFile } from 'node:child_process';
import { stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { postgresEnvironment } from './postgres-environment';

export interface User {
  uid: number;
  gid: number;
}

/**
 * Who runs Postgres, which refuses to run as root. Root's ways are to start it as this user, or, where this user may not
 * go, as root that only appears as this user: in a user namespace, without root's power over the files of others.
 */
export type Runner = { kind: 'self' } | { kind: 'user'; user: User } | { kind: 'namespace'; user: User };

/**
 * The owner of the data decides, or that of the folder while there are none, with `nobody` in the place of root. Root's
 * own data are closed to `nobody`: they stay with the namespace that made them. Throws when no runner gets at them.
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
  throw new Error(barrierMessage(folder, barrier, barrier === data));
}

/** Who owns the files of Postgres on disk. Null when everything is this process's own. */
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

/** What to spawn so that this runner runs the program, under the process id of the child in any case. */
export function commandOf(runner: Runner, program: string, args: string[]) {
  if (runner.kind !== 'namespace') return { file: program, args, user: runner.kind === 'user' ? runner.user : {} };

  const { uid, gid } = runner.user;
  const namespace = ['--user', `--map-user=${uid}`, `--map-group=${gid}`];
  return { file: 'unshare', args: [...namespace, '--', program, ...args], user: {} };
}

/** The first folder on the way to `path` (or that itself) which this runner may not enter, or null when there is none. */
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

/** False where there is no `unshare` (or not that of util-linux), and where it is refused, as in most containers. */
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
    `Postgres does not run as root, the user that runs it may not enter ${barrier} on the way to ${folder}, ` +
    'and root cannot pass for an ordinary user here (unshare --user). ' +
    'Start as an ordinary user, or set PARLEY_DATA_DIR to a folder that other users may enter, ' +
    (isData ? `or give the data away: chown -R nobody: ${barrier}` : `or let them pass: chmod o+x ${barrier}`)
  );
}
