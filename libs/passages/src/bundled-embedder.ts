import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { memoryLimitBytes } from '@parley/background/memory-limit';
import { type Embedder, EmbedderUnavailable } from './embedder';
import { Semaphore } from '@parley/background/semaphore';
import { textWindows } from './text-windows';
import { toUnit } from './vectors';

/** Characters per window. The model truncates its input at 128 tokens, about this much English prose. */
export const windowCharacters = 500;

/** Memory of a thread with the model, measured at 180 MB. */
const threadBytes = 200_000_000;

export const bundledModel = 'universal-sentence-encoder-lite';

/** Models of former versions, which are no longer bundled. */
export const retiredModels = ['universal-sentence-encoder-lite'];

export interface BundledEmbedderOptions {
  /** Default: `threadsFor` this machine. A thread takes 50 ms per window. */
  threads?: number;
}

/** Default number of threads: leaves one core to the event loop and two thirds of the memory limit to everything else. */
export function threadsFor(cores: number, limitBytes: number): number {
  return Math.max(1, Math.min(cores - 1, Math.floor(limitBytes / 3 / threadBytes)));
}

/**
 * Bundled English model (Universal Sentence Encoder Lite) on worker threads, which start on first use and are replaced
 * when they die. A text longer than the model's input is split into windows, and its vector is their mean.
 */
export class BundledEmbedder implements Embedder {
  readonly model = bundledModel;
  readonly dimensions = 512;
  private readonly slots: Semaphore;
  private readonly workers = new Set<Worker>();
  private readonly idle: Worker[] = [];
  private closed = false;

  constructor({ threads = threadsFor(availableParallelism(), memoryLimitBytes()) }: BundledEmbedderOptions = {}) {
    this.slots = new Semaphore(threads);
  }

  async ready(): Promise<void> {
    await this.embed(['ready']);
  }

  async embed(texts: string[], signal?: AbortSignal): Promise<Float32Array[]> {
    const windows = texts.flatMap((text, position) =>
      textWindows(text, windowCharacters).map((window) => ({ position, window })),
    );
    const vectors = await this.slots.map(windows, ({ window }) => this.embedWindow(window), signal);
    const sums = texts.map(() => new Float32Array(this.dimensions));
    windows.forEach(({ position, window }, i) => add(sums[position]!, vectors[i]!, window.length));
    return sums.map(toUnitVector);
  }

  async close(): Promise<void> {
    this.closed = true;
    await Promise.all([...this.workers].map((worker) => worker.terminate()));
  }

  private async embedWindow(window: string): Promise<Float32Array> {
    // The model fails for a text without tokens; a space is one.
    const text = window || ' ';
    try {
      return await this.runOnWorker(text);
    } catch {
      return await this.runOnWorker(text);
    }
  }

  /** Runs on an idle or new thread. The semaphore slot held by the caller guarantees that there is one. */
  private async runOnWorker(text: string): Promise<Float32Array> {
    if (this.closed) throw new EmbedderUnavailable('The embedder is closed.');
    const worker = this.idle.pop() ?? this.startWorker();
    const vector = await new Promise<Float32Array>((resolve, reject) => {
      let cause: unknown;
      const onError = (error: unknown) => (cause = error);
      const onExit = () => reject(new EmbedderUnavailable('The embedding thread ended without an answer.', { cause }));
      worker.on('error', onError);
      worker.once('exit', onExit);
      worker.once('message', (answer: Float32Array) => {
        worker.off('error', onError);
        worker.off('exit', onExit);
        resolve(answer);
      });
      worker.postMessage(text);
    });
    this.idle.push(worker);
    return vector;
  }

  private startWorker(): Worker {
    const worker = new Worker(join(__dirname, 'bundled-embedder.worker.js'));
    this.workers.add(worker);
    // Without a listener the error would end this process. The pending call reports it as its cause.
    worker.on('error', () => undefined);
    worker.once('exit', () => {
      this.workers.delete(worker);
      const position = this.idle.indexOf(worker);
      if (position >= 0) this.idle.splice(position, 1);
    });
    return worker;
  }
}

function add(sum: Float32Array, vector: Float32Array, weight: number): void {
  for (let i = 0; i < sum.length; i++) sum[i]! += vector[i]! * Math.max(1, weight);
}

function toUnitVector(sum: Float32Array): Float32Array {
  const unit = toUnit(sum);
  if (!unit) throw new EmbedderUnavailable('The embedding model returned a zero or non-finite vector.');
  return unit;
}
