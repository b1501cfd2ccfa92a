import { execFile } from 'node:child_process';
import { stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';

export interface UnprivilegedUser {
  uid: number;
  gid: number;
}

/**
 * Who runs Postgres, which refuses to run as root: the owner of its data when that is somebody else, or else `nobody`.
 * Undefined when this process is not root: it runs Postgres itself.
 */
export async function findUnprivilegedUser(folder: string): Promise<UnprivilegedUser | undefined> {
  if (process.getuid?.() !== 0) return undefined;

  for (const path of [join(folder, 'postgres'), folder]) {
    const owner = await stat(path).catch(() => null);
    if (owner && owner.uid !== 0) return { uid: owner.uid, gid: owner.gid };
  }
  return { uid: await idOf('-u'), gid: await idOf('-g') };
}

/** The first folder on the way to `path` (or that itself) which this user may not enter, or null when there is none. */
export async function findBarrier(path: string, user: UnprivilegedUser | undefined): Promise<string | null> {
  if (!user) return null;
  const parent = dirname(path);
  const barrier = parent === path ? null : await findBarrier(parent, user);
  if (barrier) return barrier;

  const { uid, gid, mode } = await stat(path);
  const execute = uid === user.uid ? 0o100 : gid === user.gid ? 0o010 : 0o001;
  return mode & execute ? null : path;
}

async function idOf(kind: '-u' | '-g'): Promise<number> {
  const { stdout } = await promisify(execFile)('id', [kind, 'nobody']);
  return Number(stdout);
}
