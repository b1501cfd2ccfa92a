import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { totalmem } from 'node:os';
import { ReadableStream } from 'node:stream/web';
import { memoryLimitBytes } from '@parley/background/memory-limit';
import { workerFile } from '@parley/background/worker-file';
import { ChildPool } from '@parley/child-processes/child-pool';
import type { SupervisedChild } from '@parley/child-processes/supervised-child';
import { ProcessorTimer } from '@parley/child-processes/processor-timer';
import { WorkTimer } from '@parley/child-processes/work-timer';
import type { Adviser } from '@parley/documents/adviser';
import { DocumentWithoutText, type OnReading, UnreadableDocument } from '@parley/documents/block';
import { drawingProcessorMs, ocrProcessorMs, readingProcessorMs } from '@parley/documents/limits';
import type { OcrPage } from '@parley/documents/read-by-ocr';
import type { ChildMessage, Batch, ParentMessage, AdviceRequest, ReadingTask } from './document.child';
import { ReaderDied, ReaderFailed, ReaderStarved } from './reader-errors';

const idleMs = 30_000;
const keptResidentMb = 160;
const batchesAhead = 2;
/** MiB of the worker itself with the bundled model, and of Postgres when it runs in the same container. */
const ownMb = 512;
/** MiB that V8 and the program need beside the heap. */
const besideHeapMb = 64;
/** Wall-clock limit, as a multiple of the limit of processor time. */
const backstopFactor = 10;

/** MiB of a reader for OCR: 240 more than the least of others, for tesseract and the pixels of a page of 40 million. */
const leastOcrMb = 432;

export interface ReaderLimits {
  readers: number;
  residentMb: number;
}

export function readerLimits(memoryBytes: number): ReaderLimits {
  const memoryMb = memoryBytes / 2 ** 20;
  const readers = memoryMb >= 2048 ? 3 : 2;
  const share = Math.floor((memoryMb - ownMb) / readers);
  return { readers, residentMb: Math.min(2048, Math.max(192, share)) };
}

/**
 * Turns documents into chunks in child processes with limits of time and memory, so that a bad document affects nothing
 * else.
 */
@Injectable()
export class DocumentReaderService implements OnApplicationShutdown {
  private readonly limits = readerLimits(Math.min(memoryLimitBytes(), totalmem()));
  private readonly pool = readersOf(this.limits.residentMb);
  private readonly ocrMb = Math.max(this.limits.residentMb, leastOcrMb);
  private readonly ocrPool = readersOf(this.ocrMb);

  /** Readers for documents of any size. */
  get readers(): number {
    return this.limits.readers;
  }

  /**
   * Batches in order, with backpressure: reads no faster than they are consumed. Throws UnreadableDocument with a
   * reason that the file's owner can act on, ReaderDied, ReaderFailed, ReaderStarved, or an error of the content or of the
   * adviser. An abort, or leaving the loop over the batches, kills the child.
   * @param content `task.sizeBytes` bytes
   */
  read(
    task: ReadingTask,
    content: AsyncIterable<Uint8Array>,
    signal: AbortSignal,
    options: ReadOptions = {},
  ): ReadableStream<Batch> {
    const reading = task.ocr
      ? new Reading(this.ocrPool, this.ocrMb, task, options)
      : new Reading(this.pool, this.limits.residentMb, task, options);
    return new ReadableStream<Batch>(
      {
        start: (controller) => reading.start(content, signal, controller),
        pull: () => reading.pull(),
        cancel: () => reading.cancel(),
      },
      { highWaterMark: batchesAhead },
    );
  }

  async onApplicationShutdown(): Promise<void> {
    await Promise.all([this.pool.close(), this.ocrPool.close()]);
  }
}

interface ReadOptions {
  /** Replies to the requests that the task's advice allows. */
  adviser?: Adviser;
  processorMs?: number;
  /** Called with the name of the format before anything is parsed. */
  onFormat?: (format: string) => void;
  /** Called with the fraction that is read, from 0 to 1, before the first batch. */
  onReading?: OnReading;
  /** Called before each page that is read by OCR. */
  onPage?: (page: OcrPage) => void;
}

type Readers = ChildPool<ParentMessage, ChildMessage>;

function readersOf(residentMb: number): Readers {
  const program = workerFile(__dirname, 'document.child');
  return new ChildPool({ program, heapMb: residentMb - besideHeapMb, residentMb, idleMs, keptResidentMb });
}

type Controller = ReadableStreamDefaultController<Batch>;

class Reading {
  private readonly processor: ProcessorTimer;
  private readonly backstop: WorkTimer;
  private runnableAtStart?: Promise<number | undefined>;
  private child?: SupervisedChild<ParentMessage, ChildMessage>;
  private controller?: Controller;
  private stopListening?: () => void;
  /** True when the child has all input that it needs to continue. */
  private isWorking = false;
  private isAwaited = false;
  private processorMs: number;

  constructor(
    private readonly pool: Readers,
    private readonly residentMb: number,
    private readonly task: ReadingTask,
    private readonly options: ReadOptions,
  ) {
    const usedMs = async () => this.child?.processorMs();
    this.processorMs = options.processorMs ?? readingProcessorMs(task.sizeBytes);
    this.processor = new ProcessorTimer(usedMs, this.processorMs, () => this.fail(this.processorProblem()));
    this.backstop = new WorkTimer(this.processorMs * backstopFactor, () => void this.endLate());
  }

  start(content: AsyncIterable<Uint8Array>, signal: AbortSignal, controller: Controller): void {
    this.controller = controller;
    if (signal.aborted) return controller.error(signal.reason);
    const onAbort = () => this.fail(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    this.stopListening = () => signal.removeEventListener('abort', onAbort);
    const child = this.pool.take();
    this.child = child;
    child.watch((message) => this.receive(message));
    void child.ended.then((end) => this.fail(new ReaderDied(end, this.residentMb)));
    child.send({ read: this.task });
    feed(child, content, this.task.sizeBytes).catch((error: unknown) => this.fail(error));
  }

  pull(): void {
    this.isAwaited = true;
    this.countTime();
    this.child?.send('more');
  }

  cancel(): void {
    // Later messages of the child must not reach a stream that has ended.
    this.controller = undefined;
    this.release()?.kill();
  }

  private receive(message: ChildMessage): void {
    if (message === 'started') {
      this.isWorking = true;
      this.runnableAtStart = this.child?.runnableMs();
      this.processor.start();
      this.countTime();
    } else if (message === 'ended') {
      void this.returnChild().then(() => this.controller?.close());
    } else if ('unreadable' in message) {
      const { unreadable, ocrHelps } = message;
      const error = ocrHelps ? new DocumentWithoutText(unreadable, true) : new UnreadableDocument(unreadable);
      void this.returnChild().then(() => this.controller?.error(error));
    } else if ('outOfMemory' in message) {
      this.fail(new ReaderDied({ cause: 'memory' }, this.residentMb));
    } else if ('surprised' in message) {
      this.fail(new ReaderFailed(message.surprised));
    } else if ('failed' in message) {
      this.fail(new Error(message.failed));
    } else if ('format' in message) {
      this.options.onFormat?.(message.format);
    } else if ('reading' in message) {
      this.options.onReading?.(message.reading);
    } else if ('ocrPage' in message) {
      this.extend(ocrProcessorMs);
      this.options.onPage?.(message.ocrPage);
    } else if ('method' in message) {
      void this.reply(message);
    } else {
      this.isAwaited = false;
      this.backstop.stop();
      this.controller!.enqueue(message);
    }
  }

  private async reply(request: AdviceRequest): Promise<void> {
    this.isWorking = false;
    this.backstop.stop();
    if (request.method !== 'label') this.extend(drawingProcessorMs);
    const { adviser } = this.options;
    try {
      if (!adviser) throw new Error(`no adviser answers the request "${request.method}" of a document`);
      const reply = await replyTo(request, adviser);
      this.isWorking = true;
      this.countTime();
      this.child?.send({ reply });
    } catch (error) {
      this.fail(error);
    }
  }

  private extend(ms: number): void {
    this.processorMs += ms;
    this.processor.extend(ms);
    this.backstop.extend(ms * backstopFactor);
  }

  /** Wall clock: counts while the consumer waits for the child, not while the child waits. */
  private countTime(): void {
    if (this.child && this.isWorking && this.isAwaited) this.backstop.start();
  }

  private processorProblem(): UnreadableDocument {
    return new UnreadableDocument(
      `The document takes more than ${this.processorMs / 1000} s of processor time to read. Split it into smaller files.`,
    );
  }

  /** A reader that neither ran nor waited for a processor, in nine tenths of the time, waits for something that never comes. */
  private async endLate(): Promise<void> {
    const [before, after] = await Promise.all([this.runnableAtStart, this.child?.runnableMs()]);
    const isStandstill = before !== undefined && after !== undefined && after - before < this.processorMs;
    this.fail(isStandstill ? new ReaderDied({ cause: 'standstill' }, this.residentMb) : new ReaderStarved());
  }

  private fail(error: unknown): void {
    const child = this.release();
    if (!child) return;
    child.kill();
    this.controller?.error(error);
  }

  private async returnChild(): Promise<void> {
    const child = this.release();
    if (child) await this.pool.giveBack(child);
  }

  private release(): SupervisedChild<ParentMessage, ChildMessage> | undefined {
    const { child } = this;
    this.child = undefined;
    this.processor.stop();
    this.backstop.stop();
    this.stopListening?.();
    child?.unwatch();
    return child;
  }
}

/** Streams the bytes with backpressure. Throws errors of the content; the end of the child is reported by `child.ended`. */
async function feed(
  child: SupervisedChild<ParentMessage, ChildMessage>,
  content: AsyncIterable<Uint8Array>,
  sizeBytes: number,
): Promise<void> {
  let sent = 0;
  for await (const part of content) {
    if (!child.isAlive) return;
    sent += part.length;
    if (sent > sizeBytes) break;
    await child.write(part);
  }
  if (sent !== sizeBytes)
    throw new Error(`The stored content does not have the ${sizeBytes} bytes that its file declares.`);
}

function replyTo(request: AdviceRequest, adviser: Adviser): Promise<unknown> {
  switch (request.method) {
    case 'label':
      return adviser.label(request.argument);
    case 'transcribe':
      return adviser.transcribe(request.argument);
    case 'describe':
      return adviser.describe(request.argument);
  }
}
