import { spawnSync } from 'node:child_process';
import { chown, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** First of the user ids of bots' processes: above those of people and of services, below those of containers. */
const firstUserId = 61_000;

/** Options that keep the process of a bot apart from others. */
export interface Isolation {
  /** Private folder, the only one that the process may write to. */
  folder: string;
  nodeOptions: string[];
  /** Command that starts Node with fewer rights. */
  wrapper: string[];
}

const permissionFlag = process.allowedNodeEnvironmentFlags.has('--permission')
  ? '--permission'
  : '--experimental-permission';
/** Newer versions of Node also refuse the network unless it is allowed. */
const networkFlags = process.allowedNodeEnvironmentFlags.has('--allow-net') ? ['--allow-net'] : [];

/** The permission model does not know SQLite, which opens any file. */
const databaseFlags = process.allowedNodeEnvironmentFlags.has('--experimental-sqlite')
  ? ['--no-experimental-sqlite']
  : [];

const isRoot = process.getuid?.() === 0;
const hasSetpriv = spawnSync('setpriv', ['--pdeathsig', 'KILL', 'true']).status === 0;

/**
 * Isolation of a new process. Node's permission model refuses files outside of its folder, child processes, threads and
 * native code. On Linux, the process also ends with this one at once and never gains rights; if this process is root, it
 * has a user id of its own.
 * @param place number of the process among those that run
 */
export async function isolate(program: string, place: number): Promise<Isolation> {
  const folder = await mkdtemp(join(tmpdir(), 'parley-bot-'));
  const userId = String(firstUserId + place);
  if (isRoot && hasSetpriv) await chown(folder, Number(userId), Number(userId));
  const user = ['--reuid', userId, '--regid', userId, '--clear-groups', '--bounding-set', '-all', '--inh-caps', '-all'];
  return {
    folder,
    nodeOptions: [
      permissionFlag,
      ...networkFlags,
      ...databaseFlags,
      `--allow-fs-read=${program}`,
      `--allow-fs-read=${folder}/*`,
      `--allow-fs-write=${folder}/*`,
      '--no-warnings',
    ],
    wrapper: hasSetpriv ? ['setpriv', '--pdeathsig', 'KILL', '--no-new-privs', ...(isRoot ? user : [])] : [],
  };
}

export async function removeFolder(folder: string): Promise<void> {
  await rm(folder, { recursive: true, force: true });
}
