import { randomBytes } from 'node:crypto';
import { type FileHandle, open, unlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const chunkBytes = 65_536;

/** Unlinked temporary file: the system frees it when it is closed, also when the process is killed. */
export class TemporaryFile {
  sizeBytes = 0;

  private constructor(private readonly file: FileHandle) {}

  static async open(): Promise<TemporaryFile> {
    const path = join(tmpdir(), `parley-${randomBytes(12).toString('hex')}`);
    const file = await open(path, 'wx+', 0o600);
    await unlink(path);
    return new TemporaryFile(file);
  }

  async write(chunks: AsyncIterable<Uint8Array | string>): Promise<void> {
    for await (const chunk of chunks) {
      const bytes = Buffer.from(chunk as Uint8Array);
      await this.file.writeFile(bytes);
      this.sizeBytes += bytes.length;
    }
  }

  async *content(): AsyncIterable<Uint8Array> {
    for (let position = 0; position < this.sizeBytes;) {
      const { buffer, bytesRead } = await this.file.read({ buffer: Buffer.allocUnsafe(chunkBytes), position });
      yield buffer.subarray(0, bytesRead);
      position += bytesRead;
    }
  }

  close(): Promise<void> {
    return this.file.close();
  }
}
