import { randomBytes } from 'node:crypto';
import { type FileHandle, open, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const prefix = 'parley-spool-';

/** Temporary file that is unlinked at once: the system frees it when it is closed, also when the process is killed. */
export async function openSpoolFile(folder = tmpdir()): Promise<FileHandle> {
  const path = join(folder, `${prefix}${randomBytes(12).toString('hex')}`);
  const file = await open(path, 'wx+', 0o600);
  // Another process may have taken it for an abandoned one.
  await rm(path, { force: true });
  return file;
}

/** Removes spool files of processes that were killed between creating and unlinking them. Such a file is empty. */
export async function removeAbandonedSpoolFiles(folder = tmpdir()): Promise<void> {
  const names = (await readdir(folder)).filter((name) => name.startsWith(prefix));
  await Promise.all(
    names.map(async (name) => {
      const path = join(folder, name);
      const found = await stat(path).catch(ignoreMissing);
      if (found?.size === 0) await rm(path, { force: true });
    }),
  );
}

function ignoreMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error;
}
