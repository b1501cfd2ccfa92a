import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip, createGzip } from 'node:zlib';
import { extract, type Header, pack } from 'tar-stream';
import { CommandFailed } from '../command-failed';

/** The first entry of an archive: what it is, before anything of it is believed. */
export interface ArchiveHead {
  /** Of this layout of archives. */
  format: 1;
  /** Major version of Postgres whose data files these are. */
  postgres: number;
  createdAt: string;
}

export const headName = 'parley-backup.json';
/** The last entry: without it an archive was cut off, and with another digest it was changed. */
export const endName = 'parley-backup.end.json';
const blockBytes = 1024 * 1024;
/** Most documents are compressed already, and the next levels take twice the time for a tenth of the rest. */
const gzipLevel = 1;

/** Writes an archive file by file. It has its name once it is complete and durable, and not before. */
export class ArchiveWriter {
  /** Bytes of all files until now, uncompressed. */
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
    // Whoever adds the next entry is told; this keeps a failure in between from being nobody's.
    this.written.catch(() => undefined);
  }

  /** For the owner alone, since it holds the key. Throws CommandFailed when the name is taken. */
  static async create(path: string, head: ArchiveHead, signal: AbortSignal): Promise<ArchiveWriter> {
    if (await exists(path)) throw new CommandFailed(`${path} exists already: give another name.`);
    const draft = `${path}.part`;
    const file = await open(draft, 'wx', 0o600).catch((error: NodeJS.ErrnoException) => {
      throw new CommandFailed(
        error.code === 'EEXIST'
          ? `${draft} exists: another backup is writing it, or was killed while it did. Remove it then.`
          : `The backup cannot be written: ${error.message}`,
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

  /** A file that nobody changes. */
  async addFile(name: string, source: string): Promise<void> {
    if (!(await this.addChanging(name, source))) throw new Error(`${source} has vanished.`);
  }

  /**
   * A file that its owner may change meanwhile: as many bytes as it had when it was opened, with zeros in place of those
   * that were cut off since. False when it has vanished.
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

  /** Ends the archive and gives it its name. */
  async complete(): Promise<void> {
    const end = JSON.stringify({ entries: this.entries, sha256: this.digest.copy().digest('hex') });
    await this.addText(endName, end);
    this.tar.finalize();
    await this.written;
    await rename(this.draft, this.path);
    await flush(dirname(this.path));
  }

  /** Removes what was written, unless it is complete. */
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
      // Fails with the first reason, such as a full disk.
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
 * Reads an archive from its beginning to its end, entry by entry; each content must be read before the next entry. Throws
 * CommandFailed for what is no archive of ours, and at the end unless all came that was written.
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
      if (isEnded) throw damaged(path, 'something follows its end');
      if (header.name === endName) {
        const end = JSON.parse(await textOf(stream)) as { entries?: number; sha256?: string };
        if (end.entries !== entries || end.sha256 !== digest.digest('hex'))
          throw damaged(path, 'its checksum is wrong');
        isEnded = true;
        continue;
      }
      if (entries === 0 && header.name !== headName) throw damaged(path, 'it does not begin as one');
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
  if (!isEnded) throw damaged(path, 'it is cut off');
}

export async function textOf(content: AsyncIterable<Buffer>): Promise<string> {
  const blocks: Buffer[] = [];
  let size = 0;
  for await (const block of content) {
    size += block.length;
    if (size > blockBytes) throw new Error('a description is too long');
    blocks.push(block);
  }
  return Buffer.concat(blocks).toString('utf8');
}

/** Names and sizes are part of the checksum, each told from what follows it. */
function note(digest: ReturnType<typeof createHash>, { name, size, type = 'file' }: EntryHead): void {
  digest.update(`\0${JSON.stringify([name.replace(/\/$/, ''), size ?? 0, type])}\0`);
}

async function* exactly(size: number, file: Awaited<ReturnType<typeof open>>): AsyncGenerator<Buffer> {
  for (let position = 0; position < size;) {
    const length = Math.min(blockBytes, size - position);
    // Not used again: what is yielded may still be on its way.
    const { buffer, bytesRead } = await file.read(Buffer.allocUnsafe(length), 0, length, position);
    if (bytesRead === 0) buffer.fill(0);
    const block = bytesRead === 0 ? buffer : buffer.subarray(0, bytesRead);
    position += block.length;
    yield block;
  }
}

function damaged(path: string, reason: string): CommandFailed {
  return new CommandFailed(`${path} is no complete backup of Parley: ${reason}.`);
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

async function exists(path: string): Promise<boolean> {
  const file = await open(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null;
    throw new CommandFailed(`The backup cannot be written: ${error.message}`);
  });
  await file?.close();
  return file !== null;
}

async function flush(path: string): Promise<void> {
  const handle = await open(path);
  await handle.sync().finally(() => handle.close());
}
