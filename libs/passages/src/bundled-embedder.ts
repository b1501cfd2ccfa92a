import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import { memoryLimitBytes } from '@parley/background/memory-limit';
import { Semaphore } from '@parley/background/semaphore';
import { workerFile } from '@parley/background/worker-file';
import { bundledLeastScore } from './calibration';
import { type Embedder, EmbedderUnavailable } from './embedder';
import { NativeCalls } from './native-calls';
import { readTokenTable } from './token-table';
import { toUnit } from './vectors';

/** Measured memory of a thread (150 to 185 MB), and of the table that all threads share. */
const [threadBytes, sharedBytes] = [180_000_000, 66_000_000];

const platform = `${process.platform}-${process.arch}`;
/** onnxruntime-node has libraries for these. */
const platforms = ['linux-x64', 'linux-arm64', 'win32-x64', 'win32-arm64', 'darwin-arm64'];

export const bundledModel = 'universal-sentence-encoder-multilingual-3';

/** Models of former versions, which are no longer bundled. */
export const retiredModels = ['universal-sentence-encoder-lite'];

export interface BundledEmbedderOptions {
  /** Default: `threadsFor` this machine. */
  threads?: number;
}

/** Default number of threads: leaves one core to the event loop and two thirds of the memory limit to everything else. */
export function threadsFor(cores: number, limitBytes: number): number {
  return Math.max(1, Math.min(cores - 1, Math.floor((limitBytes / 3 - sharedBytes) / threadBytes)));
}

/**
 * Bundled model for many languages (Universal Sentence Encoder multilingual 3) on worker threads, which start on first use
 * and are replaced when they die. A text of any length is one input.
 */
export class BundledEmbedder implements Embedder {
  readonly model = bundledModel;
  readonly dimensions = 512;
  readonly leastScore = bundledLeastScore(bundledModel);
  private readonly slots: Semaphore;
  private readonly workers = new Map<Worker, NativeCalls>();
  private readonly idle: Worker[] = [];
  private readonly refuseCalls = () => this.workers.forEach((calls) => calls.refuse());
  private table?: Promise<SharedArrayBuffer>;
  private closed = false;

  constructor({ threads = threadsFor(availableParallelism(), memoryLimitBytes()) }: BundledEmbedderOptions = {}) {
    this.slots = new Semaphore(threads);
    process.once('exit', this.refuseCalls);
  }

  async ready(): Promise<void> {
    await this.embed(['ready']);
  }

  async embed(texts: string[], signal?: AbortSignal): Promise<Float32Array[]> {
    const vectors = await this.slots.map(texts, (text) => this.embedOne(text), signal);
    return vectors.map(toUnitVector);
  }

  /** Waits for the texts on the threads, not behind all passages of a re-index. */
  async embedQuery(query: string, signal?: AbortSignal): Promise<Float32Array> {
    return toUnitVector(await this.slots.runUrgent(() => this.embedOne(query), signal));
  }

  async close(): Promise<void> {
    this.closed = true;
    this.refuseCalls();
    process.off('exit', this.refuseCalls);
    await Promise.all([...this.workers.keys()].map((worker) => worker.terminate()));
  }

  private async embedOne(text: string): Promise<Float32Array> {
    try {
      return await this.runOnWorker(text);
    } catch {
      return await this.runOnWorker(text);
    }
  }

  /** Runs on an idle or new thread. The semaphore slot held by the caller guarantees that there is one. */
  private async runOnWorker(text: string): Promise<Float32Array> {
    if (!platforms.includes(platform))
      throw new EmbedderUnavailable(
        `The bundled embedding model does not run on ${platform}, but on ${platforms.join(', ')}. Set EMBEDDINGS_URL.`,
      );
    const table = await this.readTable();
    if (this.closed) throw new EmbedderUnavailable('The embedder is closed.');
    const worker = this.idle.pop() ?? this.startWorker(table);
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

  private async readTable(): Promise<SharedArrayBuffer> {
    this.table ??= readTokenTable();
    try {
      return await this.table;
    } catch (error) {
      this.table = undefined;
      throw error;
    }
  }

  private startWorker(table: SharedArrayBuffer): Worker {
    const calls = new NativeCalls();
    const worker = new Worker(workerFile(__dirname, 'bundled-embedder.worker'), {
      workerData: { table, calls: calls.memory },
    });
    this.workers.set(worker, calls);
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

function toUnitVector(vector: Float32Array): Float32Array {
  const unit = toUnit(vector);
  if (!unit) throw new EmbedderUnavailable('The embedding model returned a zero or non-finite vector.');
  return unit;
}
