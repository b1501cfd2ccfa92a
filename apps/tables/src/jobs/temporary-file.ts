import { randomBytes } from 'node:crypto';
import { type FileHandle, open, unlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable, Writable } from 'node:stream';

/** A file without a name: it is gone as soon as nobody has it open, so also when the process is killed. */
export class TemporaryFile {
  private constructor(private readonly file: FileHandle) {}

  static async open(): Promise<TemporaryFile> {
    const path = join(tmpdir(), `parley-${randomBytes(12).toString('hex')}`);
    const file = await open(path, 'wx+', 0o600);
    await unlink(path);
    return new TemporaryFile(file);
  }

  writer(): Writable {
    return this.file.createWriteStream({ autoClose: false });
  }

  reader(): Readable {
    return this.file.createReadStream({ autoClose: false, start: 0 });
  }

  async sizeBytes(): Promise<number> {
    return (await this.file.stat()).size;
  }

  close(): Promise<void> {
    return this.file.close();
  }
}
