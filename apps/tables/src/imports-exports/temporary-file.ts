import type { FileHandle } from 'node:fs/promises';
import { openSpoolFile } from '@parley/blobs/spool-file';

const chunkBytes = 65_536;

/** Temporary file that is written once and then read, possibly several times. */
export class TemporaryFile {
  sizeBytes = 0;

  private constructor(private readonly file: FileHandle) {}

  static async open(): Promise<TemporaryFile> {
    return new TemporaryFile(await openSpoolFile());
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
