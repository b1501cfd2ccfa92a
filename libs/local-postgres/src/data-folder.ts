import { randomUUID } from 'node:crypto';
import { chmod, mkdir, readdir, readFile, rename, rm, rmdir, stat, unlink, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { CannotOpenData, explainDataError } from './cannot-open-data';
import { findProcess, isRunning } from './processes';

export interface Owner {
  pid: number;
  startedAt: string;
  url?: string;
}

export class DataFolderInUse extends CannotOpenData {
  constructor(
    readonly path: string,
    readonly owner: Owner,
  ) {
    const where = owner.url ? `, which serves ${owner.url}` : '';
    super(
      `The data in ${path} is in use by process ${owner.pid}${where}. ` +
        `Use that one, or stop it (kill ${owner.pid}), or set PARLEY_DATA_DIR to another folder.`,
    );
  }
}

/**
 * Lock on a data folder for one process. The lock is the folder `parley.lock` with one randomly named file that
 * describes the owner. It is renamed into place whole, which fails while a lock with a file exists; a dead owner's file
 * is deleted by its name, which no later lock has. So there are never two owners.
 */
export class DataFolder {
  private constructor(
    readonly path: string,
    private readonly owner: Owner,
    private readonly lockFile: string,
  ) {}

  /** Creates the folder if necessary. Throws CannotOpenData; DataFolderInUse while the owner's process lives. */
  static async claim(folder: string): Promise<DataFolder> {
    const path = resolve(folder);
    return DataFolder.lock(path).catch(async (error: unknown) => {
      throw await explainDataError(path, error);
    });
  }

  private static async lock(path: string): Promise<DataFolder> {
    await makeDataFolder(path);
    const owner = await describeThisProcess();
    const name = `${randomUUID()}.json`;
    const draft = join(path, `parley.lock.${name}`);
    await mkdir(draft);
    await writeFile(join(draft, name), JSON.stringify(owner));
    try {
      while (!(await tryMove(draft, lockOf(path)))) await removeDeadLock(path);
    } finally {
      await rm(draft, { recursive: true, force: true });
    }
    return new DataFolder(path, owner, join(lockOf(path), name));
  }

  /** Stores the URL of this process for the error message of later claims. */
  async announce(url: string): Promise<void> {
    const draft = join(this.path, `parley.lock.${randomUUID()}`);
    await writeFile(draft, JSON.stringify({ ...this.owner, url }));
    await rename(draft, this.lockFile);
  }

  /**
   * Remedy where others may list or change this user's folder; the files in it are closed to them. Only advice: a folder
   * that existed before may serve other purposes, such as `/tmp`.
   */
  async findOpenness(): Promise<string | undefined> {
    const { uid, mode } = await stat(this.path);
    if (uid !== process.getuid?.() || (mode & 0o066) === 0) return undefined;
    const [open, closed] = [mode & 0o777, closedMode()].map((bits) => bits.toString(8));
    return `Other users may read or change the data folder ${this.path}, which has the mode ${open}: run chmod ${closed} ${this.path}`;
  }

  /** Releases the lock. Does nothing when another process holds it by now. */
  async release(): Promise<void> {
    await unlink(this.lockFile).catch(ignore('ENOENT'));
    await rmdir(lockOf(this.path)).catch(ignore('ENOENT', 'ENOTEMPTY', 'EEXIST'));
  }
}

/** Creates the folder, for this user only. */
export async function makeDataFolder(path: string): Promise<void> {
  const first = await mkdir(path, { recursive: true });
  if (first) await chmod(path, closedMode());
}

/** As root, others may pass through the folder, since Postgres may run as another user. */
function closedMode(): number {
  return process.getuid?.() === 0 ? 0o711 : 0o700;
}

async function describeThisProcess(): Promise<Owner> {
  const found = await findProcess(process.pid);
  return { pid: process.pid, startedAt: found!.startedAt };
}

async function tryMove(draft: string, lock: string): Promise<boolean> {
  try {
    await rename(draft, lock);
    return true;
  } catch (error) {
    ignore('ENOTEMPTY', 'EEXIST')(error);
    return false;
  }
}

async function removeDeadLock(path: string): Promise<void> {
  for (const name of await readdir(lockOf(path)).catch(() => [])) {
    const file = join(lockOf(path), name);
    const owner = await readOwner(file);
    if (owner && (await isRunning(owner))) throw new DataFolderInUse(path, owner);
    await unlink(file).catch(ignore('ENOENT'));
  }
}

/** Null when the file is gone, or was truncated by a crash of the machine: then its owner is dead. */
async function readOwner(file: string): Promise<Owner | null> {
  try {
    const { pid, startedAt, url } = JSON.parse(await readFile(file, 'utf8')) as Owner;
    return Number.isInteger(pid) && pid > 0 ? { pid, startedAt, url } : null;
  } catch {
    return null;
  }
}

function lockOf(path: string): string {
  return join(path, 'parley.lock');
}

function ignore(...codes: string[]): (error: unknown) => void {
  return (error) => {
    if (!codes.includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
  };
}
