import { chown, mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { endingWithParent } from '@parley/child-processes/ending-with-parent';
import type { ProcessLimits } from '@parley/child-processes/limited-process';
import { bubblewrap, programPath, temporaryPath } from './bubblewrap';
import { DiskFolder, namespaceFolder, type TemporaryFolder } from './temporary-folder';

export const isolationModes = ['process', 'bwrap'] as const;
export type IsolationMode = (typeof isolationModes)[number];

/** First of the user ids of bots' processes: above those of people and of services, below those of containers. */
const firstUserId = 61_000;
const pidDescriptor = 5;

/** Options and folder that keep the process of a bot apart from others. */
export interface Isolation {
  limits: Pick<ProcessLimits, 'program' | 'cwd' | 'nodeOptions' | 'wrapper' | 'pidDescriptor'>;
  env: Record<string, string>;
  folder: TemporaryFolder;
}

/**
 * The network, whose addresses the host program checks, and the files of `optionsOf`. The permission model does not know SQLite,
 * which opens any file. It refuses calls of native libraries, but what needs no door gets none.
 */
const permissions = ['--permission', '--allow-net', '--no-experimental-sqlite', '--no-experimental-ffi'];

const isRoot = process.getuid?.() === 0;
const hasSetpriv = endingWithParent().length > 0;
/** Whether each process of code has a user id of its own, in the mode `process` too. */
export const hasOwnUserIds = isRoot && hasSetpriv;

/**
 * Isolation of a new process. Node's permission model refuses files outside of its folder, child processes, threads and
 * native code. On Linux, the process also ends with this one at once and never gains rights; if this process is root, it
 * has a user id of its own. `bwrap` adds namespaces.
 * @param place number of the process among those that run
 */
export async function isolate(mode: IsolationMode, program: string, place: number): Promise<Isolation> {
  const userId = firstUserId + place;
  const wrapper = hasSetpriv ? [...endingWithParent(), '--no-new-privs', ...userOptions(userId)] : [];
  if (mode === 'bwrap') {
    const command = [...wrapper, ...bubblewrap(program, pidDescriptor)];
    return {
      limits: { program: programPath, ...optionsOf(programPath, temporaryPath), wrapper: command, pidDescriptor },
      env: environmentOf(temporaryPath),
      folder: namespaceFolder,
    };
  }
  const path = await mkdtemp(join(tmpdir(), 'parley-bot-'));
  if (hasOwnUserIds) await chown(path, userId, userId);
  return {
    limits: { program, cwd: path, ...optionsOf(program, path), wrapper },
    env: environmentOf(path),
    folder: new DiskFolder(path),
  };
}

function userOptions(userId: number): string[] {
  if (!isRoot) return [];
  const id = String(userId);
  return ['--reuid', id, '--regid', id, '--clear-groups', '--bounding-set', '-all', '--inh-caps', '-all'];
}

function optionsOf(program: string, folder: string): { nodeOptions: string[] } {
  const readable = [program, `${folder}/*`].map((path) => `--allow-fs-read=${path}`);
  const writable = `--allow-fs-write=${folder}/*`;
  return { nodeOptions: [...permissions, ...readable, writable, '--no-warnings'] };
}

function environmentOf(folder: string): Record<string, string> {
  return { HOME: folder, TMPDIR: folder };
}
