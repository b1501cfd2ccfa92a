import { Worker } from 'node:worker_threads';
import { workerFile } from '@parley/background/worker-file';
import type { PointStore } from './point-store';

export interface ScanCall {
  id: number;
  name: string;
  input: unknown[];
}

export interface ScanReply {
  id: number;
  output?: unknown;
  error?: unknown;
}

type Calls = { [Name in keyof PointStore]: PointStore[Name] };

interface Waiting {
  resolve: (output: never) => void;
  reject: (error: unknown) => void;
}

/** The thread has ended, and its points are gone. Another one may succeed. */
export class ScanThreadEnded extends Error {}

/**
 * PointStore on a thread of its own, which handles calls one at a time and takes over each ArrayBuffer. It does not keep the
 * process running.
 */
export class ScanThread {
  hasEnded = false;
  private readonly worker = new Worker(workerFile(__dirname, 'point-store.worker'));
  private readonly waiting = new Map<number, Waiting>();
  private calls = 0;

  constructor() {
    let cause: unknown;
    this.worker.unref();
    this.worker.on('error', (error) => (cause = error));
    this.worker.once('exit', () => {
      this.hasEnded = true;
      const error = new ScanThreadEnded('The thread of the passage index ended without an answer.', { cause });
      for (const { reject } of this.waiting.values()) reject(error);
    });
    this.worker.on('message', ({ id, output, error }: ScanReply) => {
      const { resolve, reject } = this.waiting.get(id)!;
      this.waiting.delete(id);
      if (error) reject(error);
      else resolve(output as never);
    });
  }

  call<Name extends keyof Calls>(name: Name, ...input: Parameters<Calls[Name]>): Promise<ReturnType<Calls[Name]>> {
    if (this.hasEnded) return Promise.reject(new ScanThreadEnded('The thread of the passage index has ended.'));
    const id = ++this.calls;
    return new Promise((resolve, reject) => {
      this.waiting.set(id, { resolve, reject });
      const transferred = input.filter((each) => each instanceof ArrayBuffer);
      this.worker.postMessage({ id, name, input } satisfies ScanCall, transferred);
    });
  }

  async end(): Promise<void> {
    await this.worker.terminate();
  }
}
