import { stat } from 'node:fs/promises';
import { userInfo } from 'node:os';
import { dirname, resolve, sep } from 'node:path';

/** Start failure for a reason outside of the program, in the data folder or its Postgres: the message needs no stack trace. */
export class CannotOpenData extends Error {}

/** Codes of writes to an open file, which fail without a path. 53100 is that of Postgres, also for "wrote only 4096 of 8192 bytes". */
const codesOfWrites: Record<string, string> = { ENOSPC: 'ENOSPC', EDQUOT: 'EDQUOT', '53100': 'ENOSPC' };

/** Code of Node for errors in which Postgres quotes the system, in English as its environment says. */
const codesOfMessages = new Map([
  ['No space left on device', 'ENOSPC'],
  ['Disk quota exceeded', 'EDQUOT'],
  ['Read-only file system', 'EROFS'],
  ['Permission denied', 'EACCES'],
]);

/**
 * Refusals of the file system to this process or to Postgres, in one line: folder, user, reason and remedy. Returns other
 * errors, such as those of files elsewhere, unchanged.
 */
export async function explainDataError(dataFolder: string, error: unknown): Promise<unknown> {
  const folder = resolve(dataFolder);
  const { code, path } = refusalIn(folder, error);
  if (!code) return error;
  const { reason, remedy } = await explain(code, folder, path ?? folder, error as Error);
  return new CannotOpenData(
    `Cannot use the data folder ${folder} as user ${thisUser()}: ${reason}. ${remedy}, or set PARLEY_DATA_DIR to another folder.`,
    { cause: error },
  );
}

function refusalIn(folder: string, error: unknown): { code?: string; path?: string } {
  const { code, path } = error as NodeJS.ErrnoException;
  if (code && path) return isPartOf(folder, path) || isPartOf(path, folder) ? { code, path } : {};
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    const found = codeOf(cause);
    if (found) return { code: found };
  }
  return {};
}

function codeOf({ code = '', message }: NodeJS.ErrnoException): string | undefined {
  return codesOfWrites[code] ?? [...codesOfMessages].find(([quote]) => message.includes(quote))?.[1];
}

interface Explanation {
  reason: string;
  remedy: string;
}

async function explain(code: string, folder: string, path: string, { message }: Error): Promise<Explanation> {
  switch (code) {
    case 'EEXIST':
    case 'ENOTDIR':
      return { reason: `${(await findPlace(path)).place} is a file`, remedy: 'Remove it' };
    case 'EACCES':
    case 'EPERM':
      return explainDenial(folder, path);
    case 'EROFS':
      return { reason: 'its file system is read-only', remedy: 'Mount it for writing' };
    case 'ENOSPC':
      return { reason: 'no space is left on its disk', remedy: 'Free at least 200 MB' };
    case 'EDQUOT':
      return { reason: 'the disk quota of this user is used up', remedy: 'Free at least 200 MB' };
    default:
      return { reason: message, remedy: 'Repair it' };
  }
}

async function explainDenial(folder: string, path: string): Promise<Explanation> {
  const { place, uid, mode } = await findPlace(path);
  const reason = `${place} belongs to user ${uid} and has the mode ${(mode & 0o7777).toString(8)}`;
  const user = process.getuid?.();
  if (uid === user) return { reason, remedy: `Run chmod u+rwX ${place}` };
  const command = isPartOf(folder, place) ? `chown -R ${user} ${folder}` : `install -d -m 700 -o ${user} ${folder}`;
  return { reason, remedy: `Run ${command} as root` };
}

/** The path itself, or the first folder above it that exists. */
async function findPlace(path: string): Promise<{ place: string; uid: number; mode: number }> {
  const found = await stat(path).catch(() => undefined);
  return found ? { place: path, uid: found.uid, mode: found.mode } : findPlace(dirname(path));
}

function thisUser(): string {
  try {
    const { username, uid } = userInfo();
    return `${username} (${uid})`;
  } catch {
    return `${process.getuid?.()}, which has no name`;
  }
}

function isPartOf(folder: string, path: string): boolean {
  return path === folder || path.startsWith(folder.endsWith(sep) ? folder : folder + sep);
}
