import { randomUUID } from 'node:crypto';
import { chmod, chown, mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { readMajor } from '@parley/local-postgres/cluster-backup';
import { DataFolder, makeDataFolder } from '@parley/local-postgres/data-folder';
import { findClusterNeeds, recoverCluster } from '@parley/local-postgres/restored-cluster';
import type { User } from '@parley/local-postgres/runner';
import { CommandFailed } from '../output';
import { type ArchiveEntry, type ArchiveHead, headName, readArchive, textOf } from './archive';
import { Progress } from './progress';

const firstFile = /^[a-z][\w.-]*$/;
const partOfPath = /^[^/\\\0]+$/;

/**
 * Creates the data folder of an archive. It is assembled beside the target, checked by starting Postgres on it, then
 * renamed: a failure leaves the target unchanged.
 */
export async function restore(
  file: string,
  folder: string,
  write: (text: string) => void,
  signal: AbortSignal,
): Promise<string> {
  await checkFile(file);
  const target = resolve(folder);
  const owner = await checkEmpty(target);
  const draft = `${target}.restoring-${randomUUID().slice(0, 8)}`;
  try {
    await makeDataFolder(draft);
    if (owner) await takeAfter(owner, draft);
    await unpack(file, draft, write, signal);
    await recoverCluster(draft, signal);
    await flush(draft);
    await rename(draft, target).catch((error: Error) => {
      throw new CommandFailed(
        `Cannot rename the restored folder to ${target}, so nothing is restored: ${error.message}`,
      );
    });
    await flush(dirname(target));
    return `Restored ${file} to ${folder}. Start Parley with it: PARLEY_DATA_DIR=${folder} npm start`;
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
}

async function checkFile(file: string): Promise<void> {
  const found = await stat(file).catch((error: NodeJS.ErrnoException) => {
    throw new CommandFailed(error.code === 'ENOENT' ? `File ${file} not found.` : error.message);
  });
  if (!found.isFile()) throw new CommandFailed(`${file} is not a regular file.`);
}

async function unpack(file: string, draft: string, write: (text: string) => void, signal: AbortSignal): Promise<void> {
  const { owner: postgresOwner, major } = await findClusterNeeds(draft);
  const { uid, gid } = await stat(draft);
  const draftOwner = process.getuid?.() === 0 && uid !== 0 ? { uid, gid } : null;
  let bytes = 0;
  const progress = new Progress(write, () => bytes);
  progress.show('restoring');
  try {
    for await (const entry of readArchive(file, signal)) {
      if (entry.name === headName) {
        checkHead(file, await readHead(entry), major);
        continue;
      }
      const path = checkedPath(file, entry);
      const owner = path.startsWith('postgres') ? postgresOwner : draftOwner;
      if (entry.type === 'directory') await makeFolder(join(draft, path), owner);
      else bytes += await writeFile(join(draft, path), entry.content, owner);
      // Postgres flushes its own files before recovery.
      if (!path.startsWith('postgres/')) await flush(join(draft, path));
    }
  } finally {
    progress.end();
  }
  if ((await readMajor(draft)) !== major)
    throw new CommandFailed(`${file} is not a backup of Parley: it has no database.`);
}

async function readHead(entry: ArchiveEntry): Promise<Partial<ArchiveHead>> {
  const text = await textOf(entry.content);
  try {
    return (JSON.parse(text) ?? {}) as Partial<ArchiveHead>;
  } catch {
    return {};
  }
}

function checkHead(file: string, head: Partial<ArchiveHead>, major: number): void {
  if (head.format !== 1) {
    throw new CommandFailed(
      `${file} has format ${head.format}, which this version of Parley cannot read: use a newer version.`,
    );
  }
  if (head.postgres !== major) {
    throw new CommandFailed(
      `${file} has data of Postgres ${head.postgres}, but this is Postgres ${major}: restore it with the version of Parley ` +
        'that wrote it.',
    );
  }
}

/** Path traversal: only folders and files at the places that a backup uses are accepted. */
function checkedPath(file: string, { name, type }: ArchiveEntry): string {
  const path = type === 'directory' ? name.replace(/\/$/, '') : name;
  const [first = '', ...others] = path.split('/');
  const isKnown = others.length > 0 || type === 'directory' ? /^(postgres|blobs)$/.test(first) : firstFile.test(first);
  const isSafe = others.every((part) => partOfPath.test(part) && part !== '.' && part !== '..');
  if (!isKnown || !isSafe || (type !== 'file' && type !== 'directory') || first === 'parley.lock') {
    throw new CommandFailed(`${file} is not a backup of Parley: unexpected entry "${name}" (${type}).`);
  }
  return path;
}

async function makeFolder(path: string, owner: User | null): Promise<void> {
  const made = await mkdir(path, { recursive: true, mode: 0o700 });
  if (made && owner) await chown(path, owner.uid, owner.gid);
}

/** Creates a file with mode 0600; fails if it exists. */
async function writeFile(path: string, content: AsyncIterable<Buffer>, owner: User | null): Promise<number> {
  await makeFolder(dirname(path), owner);
  const file = await open(path, 'wx', 0o600);
  let bytes = 0;
  try {
    for await (const block of content) {
      await file.writeFile(block);
      bytes += block.length;
    }
    if (owner) await file.chown(owner.uid, owner.gid);
  } finally {
    await file.close();
  }
  return bytes;
}

/** Refuses a target that exists and is not an empty folder. Throws CommandFailed. */
async function checkEmpty(target: string) {
  const names = await readdir(target).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null;
    throw new CommandFailed(`Cannot restore to ${target}: ${error.message}`);
  });
  if (!names) {
    await mkdir(dirname(target), { recursive: true });
    return null;
  }
  if (names.length === 0) return stat(target);
  // Throws DataFolderInUse.
  if (names.includes('parley.lock')) await (await DataFolder.claim(target)).release();
  throw new CommandFailed(
    `${target} is not empty: choose another folder with --to, or rename ${basename(target)} first. Nothing was replaced.`,
  );
}

async function takeAfter({ uid, gid, mode }: { uid: number; gid: number; mode: number }, path: string): Promise<void> {
  if (process.getuid?.() === 0) await chown(path, uid, gid);
  await chmod(path, mode & 0o777);
}

async function flush(path: string): Promise<void> {
  const handle = await open(path);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
