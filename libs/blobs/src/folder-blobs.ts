import { randomUUID } from 'node:crypto';
import { constants, createReadStream } from 'node:fs';
import { access, copyFile, mkdir, open, readdir, rename, rm, rmdir, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { BlobMissing, type BlobStore, type ByteRange, checkKey } from './blob-store';
import { tellingRefusals } from './refused-writes';

const incoming = 'incoming';
/** A writer whose source gives nothing for a minute is cut: what did not grow for an hour has no writer. */
const abandonedAfterMs = 3_600_000;
const placeAttempts = 10;

/** Blobs as files of one folder, which several processes may share. */
export class FolderBlobs implements BlobStore {
  private readonly folder: string;

  /** @param onWritesRefused is called for each blob that the file system had no room for */
  constructor(
    folder: string,
    private readonly onWritesRefused?: () => void,
  ) {
    this.folder = resolve(folder);
  }

  async write(key: string, source: AsyncIterable<Uint8Array>): Promise<void> {
    await this.make(this.path(key), async (temporary) => {
      // Opened before the source is asked: a stream that opens late would make the file after it was removed.
      const file = await open(temporary, 'wx');
      await pipeline(source, file.createWriteStream({ flush: true }));
    });
  }

  async read(key: string, range?: ByteRange): Promise<Readable> {
    const stream = createReadStream(this.path(key), range);
    await new Promise<void>((resolve, reject) => {
      stream.once('open', () => resolve());
      stream.once('error', (error) => {
        reject(isMissing(error) ? new BlobMissing(`There is no blob ${key}.`) : error);
      });
    });
    return stream;
  }

  /** By reference where the file system can, else the system copies. */
  async copy(fromKey: string, toKey: string): Promise<void> {
    const source = this.path(fromKey);
    await this.make(this.path(toKey), async (temporary) => {
      await copyFile(source, temporary, constants.COPYFILE_FICLONE).catch((error: unknown) => {
        throw isMissing(error) ? new BlobMissing(`There is no blob ${fromKey}.`) : error;
      });
      await flush(temporary);
    });
  }

  async delete(key: string): Promise<void> {
    const path = this.path(key);
    await rm(path, { force: true });
    await removeIfEmpty(dirname(path));
  }

  async list(prefix: string): Promise<string[]> {
    return (await this.entries(prefix)).map((entry) => entry.name);
  }

  async deletePrefix(prefix: string): Promise<void> {
    // Something may be placed below while it is removed: then it is removed as well.
    await rm(this.path(prefix), { recursive: true, force: true, maxRetries: 5, retryDelay: 20 });
  }

  async removeAbandoned(): Promise<void> {
    for (const { name } of await this.entries(incoming)) {
      const path = join(this.folder, incoming, name);
      const { mtimeMs } = await stat(path).catch(() => ({ mtimeMs: Infinity }));
      if (mtimeMs < Date.now() - abandonedAfterMs) await rm(path, { force: true });
    }
  }

  async count(prefix: string): Promise<number> {
    const entries = await this.entries(prefix);
    const below = await Promise.all(
      entries.map(async (entry) => (entry.isDirectory() ? this.count(`${prefix}/${entry.name}`) : 1)),
    );
    return below.reduce((sum, count) => sum + count, 0);
  }

  async ready(): Promise<void> {
    await mkdir(join(this.folder, incoming), { recursive: true });
    await access(this.folder, constants.W_OK);
  }

  close(): void {}

  /** The blob is what `fill` puts in the temporary file, durably; when that fails, nothing is left. */
  private make(path: string, fill: (temporary: string) => Promise<void>): Promise<void> {
    return tellingRefusals(() => this.makeOnce(path, fill), this.onWritesRefused);
  }

  private async makeOnce(path: string, fill: (temporary: string) => Promise<void>): Promise<void> {
    const temporary = join(this.folder, incoming, randomUUID());
    await mkdir(dirname(temporary), { recursive: true });
    try {
      await fill(temporary);
      await this.place(temporary, path);
    } catch (error) {
      await rm(temporary, { force: true });
      throw error;
    }
  }

  /** A folder that was removed meanwhile, as empty or with its bot, is made again. A name is durable once its folder is flushed. */
  private async place(temporary: string, path: string): Promise<void> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        const made = await mkdir(dirname(path), { recursive: true });
        await rename(temporary, path);
        await flushFolders(dirname(path), made === undefined ? dirname(path) : dirname(made));
        return;
      } catch (error) {
        if (!isMissing(error) || attempt === placeAttempts) throw error;
        // Only the folder may be missing: without the source there is nothing to place.
        await access(temporary);
      }
    }
  }

  private async entries(prefix: string) {
    try {
      return await readdir(this.path(prefix), { withFileTypes: true });
    } catch (error) {
      if (isMissing(error)) return [];
      throw error;
    }
  }

  private path(key: string): string {
    checkKey(key);
    return join(this.folder, key);
  }
}

function isMissing(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'ENOENT';
}

async function removeIfEmpty(folder: string): Promise<void> {
  await rmdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (!['ENOENT', 'ENOTEMPTY', 'EEXIST'].includes(error.code ?? '')) throw error;
  });
}

/** From the inner folder up to the outer one, which holds it. */
async function flushFolders(inner: string, outer: string): Promise<void> {
  for (let path = inner; ; path = dirname(path)) {
    await flush(path);
    if (path === outer || path === dirname(path)) return;
  }
}

async function flush(path: string): Promise<void> {
  const handle = await open(path);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
