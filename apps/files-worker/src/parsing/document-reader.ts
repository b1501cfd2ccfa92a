import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { workerFile } from '@parley/background/worker-file';
import Piscina from 'piscina';
import type { Chunk } from '../chunking/chunker';
import { UnreadableDocument } from './block';
import type { Reading, ReadingTask } from './document.worker';

const threads = 2;
const idleTimeoutMs = 30_000;
const timeoutMs = 120_000;
const maxHeapMb = 2048;

/** Turns documents into chunks on threads of their own, bounded in time and memory: a bad one hurts nothing else. */
@Injectable()
export class DocumentReader implements OnApplicationShutdown {
  private readonly pool = new Piscina({
    filename: workerFile(__dirname, 'document.worker'),
    minThreads: 0,
    maxThreads: threads,
    idleTimeout: idleTimeoutMs,
    resourceLimits: { maxOldGenerationSizeMb: maxHeapMb },
  });

  /** Throws UnreadableDocument with a reason that its owner can act on; an abort ends the thread. The bytes move to the thread. */
  async read(task: ReadingTask, signal: AbortSignal): Promise<Chunk[]> {
    const timeout = AbortSignal.timeout(timeoutMs);
    let reading: Reading;
    try {
      reading = (await this.pool.run(task, {
        transferList: [task.bytes.buffer as ArrayBuffer],
        signal: AbortSignal.any([signal, timeout]),
      })) as Reading;
    } catch (error) {
      signal.throwIfAborted();
      if (timeout.aborted)
        throw new UnreadableDocument(`The document takes longer than ${timeoutMs / 1000} s to read: split it.`);
      if ((error as { code?: string }).code === 'ERR_WORKER_OUT_OF_MEMORY') {
        throw new UnreadableDocument(`The document takes more than ${maxHeapMb} MB of memory to read: split it.`);
      }
      throw error;
    }
    if ('unreadable' in reading) throw new UnreadableDocument(reading.unreadable);
    return reading.chunks;
  }

  async onApplicationShutdown(): Promise<void> {
    await this.pool.destroy();
  }
}
