import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip, createGzip } from 'node:zlib';
import { extract, type Header, pack } from 'tar-stream';
import { CommandFailed } from '../output';

/** First entry of an archive, read before anything else of it is trusted. */
export interface ArchiveHead {
  /** Version of the archive layout. */
  format: 1;
  /** Major version of Postgres that wrote the data files. */
  postgres: number;
  createdAt: string;
}

export const headName = 'parley-backup.json';
/** Last entry, with the digest of all others. An archive without it is truncated; one with another digest is corrupt. */
export const endName = 'parley-backup.end.json';
const blockBytes = 1024 * 1024;
/** Level 1: most documents are compressed already, and higher levels take twice the time to save another tenth. */
const gzipLevel = 1;

/**
 * Writes an archive file by file to `<file>.part`. The final name appears only once the archive is complete and
 * flushed.
 */
export class ArchiveWriter {
  /** Uncompressed bytes of all files so far. */
  bytes = 0;
  private entries = 0;
  private readonly tar = pack();
  private readonly digest = createHash('sha256');
  private readonly written: Promise<void>;

  private constructor(
    private readonly path: string,
    private readonly draft: string,
    output: NodeJS.WritableStream,
    private readonly signal: AbortSignal,
  ) {
    this.written = pipeline(this.tar, createGzip({ level: gzipLevel }), output, { signal });
    // The next write reports the failure; this handler only avoids an unhandled rejection until then.
    this.written.catch(() => undefined);
  }

  /** Mode 0600, since the archive holds the secret key. Throws CommandFailed when the file exists. */
  static async create(path: string, head: ArchiveHead, signal: AbortSignal): Promise<ArchiveWriter> {
    if (await exists(path)) throw new CommandFailed(`${path} already exists: choose another file name.`);
    const draft = `${path}.part`;
    const file = await open(draft, 'wx', 0o600).catch((error: NodeJS.ErrnoException) => {
      throw new CommandFailed(
        error.code === 'EEXIST'
          ? `${draft} already exists: another backup is running or was killed. Remove it if none is running.`
          : `Cannot write the backup: ${error.message}`,
      );
    });
    const writer = new ArchiveWriter(path, draft, createWriteStream('', { fd: file, flush: true }), signal);
    await writer.addText(headName, JSON.stringify(head));
    return writer;
  }

  async addFolder(name: string): Promise<void> {
    this.signal.throwIfAborted();
    const header = { name, type: 'directory' as const, mode: 0o700, size: 0 };
    this.entries += 1;
    note(this.digest, header);
    await new Promise<void>((resolve, reject) => {
      this.tar.entry(header, (error) => (error ? reject(error) : resolve()));
    });
  }

  async addText(name: string, content: string | Buffer): Promise<void> {
    await this.add({ name, size: Buffer.byteLength(content), mode: 0o600 }, [Buffer.from(content)]);
  }

  /** Adds a file that does not change while it is read. */
  async addFile(name: string, source: string): Promise<void> {
    if (!(await this.addChanging(name, source))) throw new Error(`${source} has vanished.`);
  }

  /**
   * Adds a file that may change meanwhile: exactly as many bytes as it had when opened, zero-filled where it was
   * truncated since. Returns false when the file no longer exists.
   */
  async addChanging(name: string, source: string): Promise<boolean> {
    const file = await open(source).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return null;
      throw error;
    });
    if (!file) return false;
    try {
      const { size } = await file.stat();
      await this.add({ name, size, mode: 0o600 }, exactly(size, file));
      return true;
    } finally {
      await file.close();
    }
  }

  /** Writes the last entry, flushes, and renames the file to its final name. */
  async complete(): Promise<void> {
    const end = JSON.stringify({ entries: this.entries, sha256: this.digest.copy().digest('hex') });
    await this.addText(endName, end);
    this.tar.finalize();
    await this.written;
    await rename(this.draft, this.path);
    await flush(dirname(this.path));
  }

  /** Removes a partial archive. */
  async abandon(): Promise<void> {
    this.tar.destroy();
    await this.written.catch(() => undefined);
    await rm(this.draft, { force: true });
  }

  private async add(header: EntryHead, content: Iterable<Buffer> | AsyncIterable<Buffer>): Promise<void> {
    this.signal.throwIfAborted();
    this.entries += 1;
    note(this.digest, header);
    const entry = this.tar.entry(header);
    try {
      await pipeline(this.counted(content), entry, { signal: this.signal });
    } catch (error) {
      // Rejects with the first failure, such as a full disk.
      await this.written;
      throw error;
    }
  }

  private async *counted(content: Iterable<Buffer> | AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    for await (const block of content) {
      this.digest.update(block);
      this.bytes += block.length;
      yield block;
    }
  }
}

type EntryStream = Readable & { header: Header };

type EntryHead = Pick<Header, 'name'> & Partial<Header>;

export interface ArchiveEntry {
  name: string;
  type: Header['type'];
  content: AsyncIterable<Buffer>;
}

/**
 * Reads the entries of an archive in order; each content must be consumed before the next entry. Throws CommandFailed
 * for files that are not archives of Parley, and at the end for truncated or changed ones.
 */
export async function* readArchive(path: string, signal: AbortSignal): AsyncGenerator<ArchiveEntry> {
  const tar = extract();
  const reading = pipeline(createReadStream(path), createGunzip(), tar, { signal });
  const failure = reading.then(
    () => undefined,
    (error: unknown) => error,
  );
  const digest = createHash('sha256');
  const asDamage = async (error: unknown) =>
    error instanceof CommandFailed || signal.aborted ? error : damaged(path, reasonOf((await failure) ?? error));
  async function* checked(content: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    try {
      for await (const block of content) {
        digest.update(block);
        yield block;
      }
    } catch (error) {
      throw await asDamage(error);
    }
  }
  let entries = 0;
  let isEnded = false;
  try {
    for await (const stream of tar as AsyncIterable<EntryStream>) {
      const { header } = stream;
      if (isEnded) throw damaged(path, 'data follows its last entry');
      if (header.name === endName) {
        const end = JSON.parse(await textOf(stream)) as { entries?: number; sha256?: string };
        if (end.entries !== entries || end.sha256 !== digest.digest('hex'))
          throw damaged(path, 'its checksum is wrong');
        isEnded = true;
        continue;
      }
      if (entries === 0 && header.name !== headName) throw damaged(path, 'its first entry is missing');
      entries += 1;
      note(digest, header);
      yield { name: header.name, type: header.type, content: checked(stream) };
    }
  } catch (error) {
    throw await asDamage(error);
  } finally {
    tar.destroy();
    await failure;
  }
  if (!isEnded) throw damaged(path, 'it is truncated');
}

export async function textOf(content: AsyncIterable<Buffer>): Promise<string> {
  const blocks: Buffer[] = [];
  let size = 0;
  for await (const block of content) {
    size += block.length;
    if (size > blockBytes) throw new Error('a metadata entry is too long');
    blocks.push(block);
  }
  return Buffer.concat(blocks).toString('utf8');
}

/** Adds name and size to the digest, delimited so that no two entries can be confused. */
function note(digest: ReturnType<typeof createHash>, { name, size, type = 'file' }: EntryHead): void {
  digest.update(`\0${JSON.stringify([name.replace(/\/$/, ''), size ?? 0, type])}\0`);
}

async function* exactly(size: number, file: Awaited<ReturnType<typeof open>>): AsyncGenerator<Buffer> {
  for (let position = 0; position < size;) {
    const length = Math.min(blockBytes, size - position);
    // A new buffer each time: the consumer may still use the former one.
    const { buffer, bytesRead } = await file.read(Buffer.allocUnsafe(length), 0, length, position);
    if (bytesRead === 0) buffer.fill(0);
    const block = bytesRead === 0 ? buffer : buffer.subarray(0, bytesRead);
    position += block.length;
    yield block;
  }
}

function damaged(path: string, reason: string): CommandFailed {
  return new CommandFailed(`${path} is not a complete backup of Parley: ${reason}.`);
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

async function exists(path: string): Promise<boolean> {
  const file = await open(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null;
    throw new CommandFailed(`Cannot write the backup: ${error.message}`);
  });
  await file?.close();
  return file !== null;
}

async function flush(path: string): Promise<void> {
  const handle = await open(path);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
