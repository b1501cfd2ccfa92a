import { randomUUID } from 'node:crypto';
import { constants, createReadStream } from 'node:fs';
import { access, copyFile, mkdir, open, readdir, rename, rm, rmdir, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { BlobMissing, type BlobStore, type ByteRange, checkKey } from './blob-store';
import { tellingRefusals } from './refused-writes';

const incoming = 'incoming';
/** A writer without data for a minute is cut, so a file that did not grow for an hour has no writer. */
const abandonedAfterMs = 3_600_000;
const placeAttempts = 10;

/** Blobs as files of one folder, which several processes may share. */
export class FolderBlobs implements BlobStore {
  private readonly folder: string;

  /** @param onWritesRefused called for each write that failed because the file system is full or read-only */
  constructor(
    folder: string,
    private readonly onWritesRefused?: () => void,
  ) {
    this.folder = resolve(folder);
  }

  async write(key: string, source: AsyncIterable<Uint8Array>): Promise<void> {
    await this.make(this.path(key), async (temporary) => {
      // Opened before the source is read: a stream that opens late would create the file after its removal.
      const file = await open(temporary, 'wx');
      await pipeline(source, file.createWriteStream({ flush: true }));
    });
  }

  async read(key: string, range?: ByteRange): Promise<Readable> {
    const stream = createReadStream(this.path(key), range);
    await new Promise<void>((resolve, reject) => {
      stream.once('open', () => resolve());
      stream.once('error', (error) => {
        reject(isMissing(error) ? new BlobMissing(`Blob "${key}" not found.`) : error);
      });
    });
    return stream;
  }

  /** Reflink where the file system supports it, otherwise a copy by the operating system. */
  async copy(fromKey: string, toKey: string): Promise<void> {
    const source = this.path(fromKey);
    await this.make(this.path(toKey), async (temporary) => {
      await copyFile(source, temporary, constants.COPYFILE_FICLONE).catch((error: unknown) => {
        throw isMissing(error) ? new BlobMissing(`Blob "${fromKey}" not found.`) : error;
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
    // Blobs may be placed below while the folder is removed: the retries remove them as well.
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
    await mkdir(this.folder, { recursive: true });
    await access(this.folder, constants.R_OK);
  }

  async readyToWrite(): Promise<void> {
    await mkdir(join(this.folder, incoming), { recursive: true });
    await access(this.folder, constants.W_OK);
  }

  close(): void {}

  /** Atomic and durable: `fill` writes a temporary file, which then becomes the blob. A failure leaves nothing. */
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

  /**
   * Creates the folder again when it was removed meanwhile, as empty or with its bot. A name is durable once its folder
   * is flushed.
   */
  private async place(temporary: string, path: string): Promise<void> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        const made = await mkdir(dirname(path), { recursive: true });
        await rename(temporary, path);
        await flushFolders(dirname(path), made === undefined ? dirname(path) : dirname(made));
        return;
      } catch (error) {
        if (!isMissing(error) || attempt === placeAttempts) throw error;
        // Retries only a missing folder: without the temporary file there is nothing to place.
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
