import { once } from 'node:events';
import { Socket } from 'node:net';
import { Worker } from 'node:worker_threads';
import { workerFile } from '@parley/background/worker-file';
import { dataDescriptor, endsWithParentVariable } from './supervised-child';

/**
 * Call first in a child's program. Ends this process when its parent dies: at once, or within a second while the event
 * loop is blocked.
 */
export function endWithParent(): void {
  process.once('disconnect', () => process.exit());
  if (process.env[endsWithParentVariable]) return;
  const parentPid = process.ppid;
  new Worker(workerFile(__dirname, 'parent-watch.worker'), { workerData: { parentPid } }).unref();
}

/** V8 throws these at its limits of memory and string length, before it aborts the process. */
const memoryErrors = /allocation failed|Invalid (string|array|typed array) length|string longer than/i;

export function isMemoryError(error: unknown): boolean {
  return error instanceof RangeError && memoryErrors.test(error.message);
}

/** The child's end of the data channel, which carries bytes in both directions. */
export class ChildData {
  private readonly socket = new Socket({ fd: dataDescriptor, readable: true, writable: true }).pause();

  /** Resolves when the parent has taken most of the bytes. */
  async write(part: string | Uint8Array): Promise<void> {
    if (!this.socket.write(part)) await once(this.socket, 'drain');
  }

  /** Exactly `sizeBytes`. Throws when the channel ends before. */
  async read(sizeBytes: number): Promise<Buffer> {
    const bytes = Buffer.allocUnsafeSlow(sizeBytes);
    let length = 0;
    while (length < sizeBytes) {
      const part = this.socket.read(Math.min(sizeBytes - length, this.socket.readableLength || 1)) as Buffer | null;
      if (part) {
        part.copy(bytes, length);
        length += part.length;
      } else {
        await this.readable();
      }
    }
    return bytes;
  }

  private readable(): Promise<void> {
    return new Promise((resolve, reject) => {
      const settle = (error?: Error) => {
        this.socket.off('readable', onReadable).off('end', onEnd).off('error', settle);
        if (error) reject(error);
        else resolve();
      };
      const onReadable = () => settle();
      const onEnd = () => settle(new Error('the data channel ended before all bytes had arrived'));
      this.socket.once('readable', onReadable).once('end', onEnd).once('error', settle);
    });
  }
}
