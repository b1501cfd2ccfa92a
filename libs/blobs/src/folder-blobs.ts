import { randomUUID } from 'node:crypto';
import { constants, createReadStream, createWriteStream } from 'node:fs';
import { access, mkdir, open, readdir, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { BlobMissing, type BlobStore, type ByteRange } from './blob-store';

const incoming = 'incoming';
const safeKey = /^[\w-]+(\/[\w-]+)*$/;

/** Blobs as files of one folder, which several processes may share. */
export class FolderBlobs implements BlobStore {
  constructor(private readonly folder: string) {}

  async write(key: string, source: AsyncIterable<Uint8Array>): Promise<void> {
    const path = this.path(key);
    const temporary = join(this.folder, incoming, randomUUID());
    await mkdir(dirname(temporary), { recursive: true });
    try {
      await pipeline(source, createWriteStream(temporary, { flags: 'wx', flush: true }));
      await this.place(temporary, path);
    } catch (error) {
      await rm(temporary, { force: true });
      throw error;
    }
  }

  async read(key: string, range?: ByteRange): Promise<Readable> {
    const stream = createReadStream(this.path(key), range);
    await new Promise<void>((resolve, reject) => {
      stream.once('open', () => resolve());
      stream.once('error', (error: NodeJS.ErrnoException) => {
        reject(error.code === 'ENOENT' ? new BlobMissing(`There is no blob ${key}.`) : error);
      });
    });
    return stream;
  }

  async delete(key: string): Promise<void> {
    await rm(this.path(key), { force: true });
  }

  async list(prefix: string): Promise<string[]> {
    return (await this.entries(prefix)).map((entry) => entry.name);
  }

  async deletePrefix(prefix: string): Promise<void> {
    await rm(this.path(prefix), { recursive: true, force: true });
  }

  async count(prefix: string): Promise<number> {
    const entries = await this.entries(prefix);
    const below = await Promise.all(entries.map((entry) => (entry.isDirectory() ? this.count(`${prefix}/${entry.name}`) : 1)));
    return below.reduce((sum, count) => sum + count, 0);
  }

  async ready(): Promise<void> {
    await mkdir(join(this.folder, incoming), { recursive: true });
    await access(this.folder, constants.W_OK);
  }

  /** Removes what writers that were killed have left. Only while nobody writes: at the start of the one process. */
  async clearIncoming(): Promise<void> {
    await rm(join(this.folder, incoming), { recursive: true, force: true });
  }

  /** A folder that was just removed as empty is made again. The name is durable once its folder is flushed. */
  private async place(temporary: string, path: string): Promise<void> {
    await mkdir(dirname(path), { recursive: true });
    await rename(temporary, path);
    const folder = await open(dirname(path));
    try {
      await folder.sync();
    } finally {
      await folder.close();
    }
  }

  private async entries(prefix: string) {
    try {
      return await readdir(this.path(prefix), { withFileTypes: true });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
      throw error;
    }
  }

  private path(key: string): string {
    if (!safeKey.test(key)) throw new Error(`"${key}" is no key of a blob.`);
    return join(this.folder, key);
  }
}
