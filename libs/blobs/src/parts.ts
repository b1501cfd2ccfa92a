import { constants } from 'node:fs';
import { access, type FileHandle } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { openSpoolFile, removeAbandonedSpoolFiles } from './spool-file';

/** Sources up to this size use memory of their own, so that they do not take the buffer of a part. */
const smallBytes = 256 * 1024;

/**
 * Splits sources into parts with bounded memory: `mostInMemory` parts, the parts that are read back from disk, and 256
 * KB for each other source. A part without a free buffer spills to disk, so that a source that takes hours does not
 * block the others.
 */
export class Parts {
  /** Buffer pool: left to the garbage collector, the buffers of twenty concurrent uploads came to more than 500 MB. */
  private readonly idle: Buffer[] = [];
  private inMemory = 0;

  constructor(
    readonly size: number,
    private readonly mostInMemory: number,
    readonly temporaryFolder = tmpdir(),
  ) {}

  /**
   * Yields full parts and returns the last one, which is empty only if it is the first. The consumer discards each
   * part.
   */
  async *of(source: AsyncIterable<Uint8Array>): AsyncGenerator<Part, Part> {
    let part = new Part(this);
    try {
      for await (const chunk of source) {
        for (let rest = chunk; rest.length > 0;) {
          if (part.length === this.size) {
            const full = part;
            part = new Part(this);
            yield full;
          }
          const taken = rest.subarray(0, this.size - part.length);
          await part.add(taken);
          rest = rest.subarray(taken.length);
        }
      }
    } catch (error) {
      await part.discard();
      throw error;
    }
    return part;
  }

  async ready(): Promise<void> {
    const { temporaryFolder: folder } = this;
    await access(folder, constants.W_OK).catch((cause: unknown) => {
      throw new Error(`Cannot write upload parts to ${folder}: set TMPDIR to a writable folder.`, { cause });
    });
    await removeAbandonedSpoolFiles(folder);
  }

  takeIfFree(): Buffer | undefined {
    return this.inMemory < this.mostInMemory ? this.take() : undefined;
  }

  take(): Buffer {
    this.inMemory++;
    return this.idle.pop() ?? Buffer.allocUnsafeSlow(this.size);
  }

  giveBack(room: Buffer): void {
    this.inMemory--;
    this.idle.push(room);
  }

  forget(): void {
    this.inMemory--;
  }
}

export class Part {
  length = 0;
  private bytes: Buffer = Buffer.alloc(0);
  private hasRoom = false;
  private file?: FileHandle;

  constructor(private readonly parts: Parts) {}

  get isSmall(): boolean {
    return this.length <= smallBytes;
  }

  async add(chunk: Uint8Array): Promise<void> {
    const needed = this.length + chunk.length;
    if (!this.file && needed > this.bytes.length) await this.grow(needed);
    if (this.file) await this.file.writeFile(chunk);
    else this.bytes.set(chunk, this.length);
    this.length = needed;
  }

  async read(): Promise<Buffer> {
    const { file } = this;
    if (file) {
      this.moveTo(this.parts.take());
      for (let position = 0; position < this.length;) {
        const { bytesRead } = await file.read(this.bytes, position, this.length - position, position);
        if (bytesRead === 0) throw new Error('An upload part on disk is incomplete.');
        position += bytesRead;
      }
    }
    return this.bytes.subarray(0, this.length);
  }

  /** Returns the buffer to the pool, where its bytes may change: call it only when no request sends them any more. */
  async giveBack(): Promise<void> {
    if (this.hasRoom) this.parts.giveBack(this.bytes);
    this.hasRoom = false;
    await this.discard();
  }

  /** Idempotent. Does not return the buffer to the pool, since a request may still be sending it. */
  async discard(): Promise<void> {
    if (this.hasRoom) this.parts.forget();
    this.hasRoom = false;
    this.bytes = Buffer.alloc(0);
    const { file } = this;
    this.file = undefined;
    await file?.close();
  }

  private async grow(needed: number): Promise<void> {
    const gathered = this.bytes.subarray(0, this.length);
    if (needed <= smallBytes) {
      this.bytes = Buffer.allocUnsafeSlow(Math.max(2 * this.bytes.length, needed));
      this.bytes.set(gathered);
      return;
    }
    const room = this.parts.takeIfFree();
    if (room) {
      room.set(gathered);
      this.moveTo(room);
    } else {
      this.file = await openSpoolFile(this.parts.temporaryFolder);
      await this.file.writeFile(gathered);
      this.bytes = Buffer.alloc(0);
    }
  }

  private moveTo(room: Buffer): void {
    this.bytes = room;
    this.hasRoom = true;
  }
}
