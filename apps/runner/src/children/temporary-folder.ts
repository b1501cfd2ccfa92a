import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { lstat, readdir, rm, stat, statfs } from 'node:fs/promises';
import { join } from 'node:path';

export const folderMb = 64;
export const folderBytes = folderMb * 2 ** 20;
export const folderFiles = 5_000;
const bytesPerBlock = 512;

export interface FolderUsage {
  bytes: number;
  files: number;
}

/** The only folder that the process of a bundle may write to. */
export interface TemporaryFolder {
  /** Undefined while the process has none: before its start and after its end. */
  usage(pid: number): Promise<FolderUsage | undefined>;
  remove(): Promise<void>;
}

/** Limit that the folder exceeds, if it does. */
export function exceededLimit({ bytes, files }: FolderUsage): string | undefined {
  if (bytes > folderBytes) return `${folderMb} MiB`;
  return files > folderFiles ? `${folderFiles.toLocaleString('en')} files` : undefined;
}

/** Folder on the disk of the runner. Deleted files count as long as the process holds them open. */
export class DiskFolder implements TemporaryFolder {
  constructor(private readonly path: string) {}

  async usage(pid: number): Promise<FolderUsage> {
    const usage = { bytes: 0, files: 0 };
    await addFolder(usage, this.path);
    await addDeletedFiles(usage, pid);
    return usage;
  }

  /** Removes folders without permissions and paths of any length too, which `rm` of Node does not. */
  async remove(): Promise<void> {
    try {
      await rm(this.path, { recursive: true, force: true });
    } catch {
      const script = 'chmod -R u+rwX -- "$1"; rm -rf -- "$1"';
      const remover = spawn('/bin/sh', ['-c', script, 'sh', this.path], { stdio: ['ignore', 'ignore', 'pipe'] });
      let errors = '';
      remover.stderr.setEncoding('utf8').on('data', (text: string) => (errors = (errors + text).slice(0, 1_000)));
      const [code] = (await once(remover, 'close')) as [number | null];
      if (code !== 0) throw new Error(`The temporary folder ${this.path} cannot be removed: ${errors}`);
    }
  }
}

/** The `/tmp` of a mount namespace: memory that ends with the process. Its size is limited by the kernel. */
export const namespaceFolder: TemporaryFolder = {
  async usage(pid) {
    const used = await unlessGone(statfs(`/proc/${pid}/root/tmp`), 'EACCES');
    // While the namespace is made, the process still sees the folder of the machine.
    if (!used || used.blocks * used.bsize !== folderBytes) return undefined;
    return { bytes: (used.blocks - used.bfree) * used.bsize, files: used.files - used.ffree };
  },
  remove: () => Promise.resolve(),
};

/** Stops counting beyond the limit. */
async function addFolder(usage: FolderUsage, folder: string): Promise<void> {
  const entries = (await unlessGone(readdir(folder, { withFileTypes: true }))) ?? [];
  for (const entry of entries) {
    usage.files += 1;
    if (usage.files > folderFiles) return;
    const path = join(folder, entry.name);
    if (entry.isDirectory()) await addFolder(usage, path);
    else usage.bytes += ((await unlessGone(lstat(path)))?.blocks ?? 0) * bytesPerBlock;
  }
}

/** On Linux, as far as this process may see the open files of the other one. */
async function addDeletedFiles(usage: FolderUsage, pid: number): Promise<void> {
  const descriptors = await readdir(`/proc/${pid}/fd`).catch(() => []);
  for (const descriptor of descriptors) {
    const file = await stat(`/proc/${pid}/fd/${descriptor}`).catch(() => undefined);
    if (file?.isFile() && file.nlink === 0) usage.bytes += file.blocks * bytesPerBlock;
  }
}

async function unlessGone<T>(reading: Promise<T>, ...codes: string[]): Promise<T | undefined> {
  try {
    return await reading;
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    if (['ENOENT', 'ENOTDIR', 'ESRCH', ...codes].includes(code)) return undefined;
    throw error;
  }
}
