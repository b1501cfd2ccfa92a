import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { ReadableStream } from 'node:stream/web';
import { MessageChannel } from 'node:worker_threads';
import { memoryLimitBytes } from '@parley/background/memory-limit';
import { workerFile } from '@parley/background/worker-file';
import Piscina from 'piscina';
import type { Adviser } from '@parley/documents/adviser';
import { UnreadableDocument } from '@parley/documents/block';
import type { Answer, Batch, Order, Question, ReadingTask } from './document.child';
import { drawingTimeoutMs, readingTimeoutMs } from '@parley/documents/limits';

const threads = 2;
const idleTimeoutMs = 30_000;
/** Batches that are read before they are asked for. */
const batchesAhead = 2;

/** Of a thread: the heaps of all leave half of a container to the process itself and to what its threads unpack. */
export function heapMbWithin(limitBytes: number): number {
  const share = limitBytes / 2 ** 20 / (2 * threads);
  return Math.floor(Math.min(2048, Math.max(256, share)));
}

/** Turns documents into chunks on threads of their own, bounded in time and memory: a bad one hurts nothing else. */
@Injectable()
export class DocumentReader implements OnApplicationShutdown {
  private readonly maxHeapMb = heapMbWithin(memoryLimitBytes());
  private readonly pool = new Piscina({
    filename: workerFile(__dirname, 'document.worker'),
    minThreads: 0,
    maxThreads: threads,
    idleTimeout: idleTimeoutMs,
    resourceLimits: { maxOldGenerationSizeMb: this.maxHeapMb },
  });

  /**
   * Batches in order, read no faster than they are taken. Throws UnreadableDocument with a reason that its owner can
   * act on, or what the adviser throws. An abort ends the thread, as does a loop over the batches that is left. The bytes
   * move to the thread. The adviser answers what the task's advice asks for.
   */
  read(
    task: ReadingTask,
    signal: AbortSignal,
    { adviser, timeoutMs = readingTimeoutMs }: { adviser?: Adviser; timeoutMs?: number } = {},
  ): ReadableStream<Batch> {
    const { port1: port, port2 } = new MessageChannel();
    const left = new AbortController();
    const clock = new WorkClock(timeoutMs);
    const tell = (order: Order) => port.postMessage(order);
    const end = () => {
      clock.stop();
      // What the thread has said until then must not reach a stream that has ended.
      port.removeAllListeners('message');
      port.close();
    };
    let isWorking = false;
    let isAwaited = false;
    const count = () => {
      if (isWorking && isAwaited) clock.start();
    };

    return new ReadableStream<Batch>(
      {
        start: (controller) => {
          const fail = (error: unknown) => {
            end();
            controller.error(error);
          };
          const reply = async (question: Question) => {
            isWorking = false;
            clock.stop();
            if (question.ask !== 'label') clock.extend(drawingTimeoutMs);
            try {
              if (!adviser) throw new Error(`nobody answers the question "${question.ask}" of a document`);
              const answer = await replyTo(question, adviser);
              if (left.signal.aborted) return;
              isWorking = true;
              count();
              tell({ reply: answer });
            } catch (error) {
              if (left.signal.aborted) return;
              left.abort();
              fail(error);
            }
          };
          port.on('message', (answer: Answer) => {
            if (answer === 'started') {
              isWorking = true;
              count();
            } else if (answer === 'ended') {
              end();
              controller.close();
            } else if ('unreadable' in answer) {
              fail(new UnreadableDocument(answer.unreadable));
            } else if ('ask' in answer) {
              void reply(answer);
            } else {
              isAwaited = false;
              clock.stop();
              controller.enqueue(answer);
            }
          });
          this.pool
            .run(
              { ...task, port: port2 },
              {
                transferList: [task.bytes.buffer as ArrayBuffer, port2],
                signal: AbortSignal.any([signal, left.signal, clock.signal]),
              },
            )
            .catch((error: unknown) => {
              if (!left.signal.aborted)
                fail(signal.aborted ? signal.reason : (clock.problem ?? memoryProblem(error, this.maxHeapMb)));
            });
        },
        pull: () => {
          isAwaited = true;
          count();
          tell('more');
        },
        cancel: () => {
          left.abort();
          end();
        },
      },
      { highWaterMark: batchesAhead },
    );
  }

  async onApplicationShutdown(): Promise<void> {
    await this.pool.destroy();
  }
}

function replyTo(question: Question, adviser: Adviser): Promise<unknown> {
  switch (question.ask) {
    case 'label':
      return adviser.label(question.about);
    case 'transcribe':
      return adviser.transcribe(question.about);
    case 'describe':
      return adviser.describe(question.about);
  }
}

/** Counts the time in which somebody waits for the thread, and not that in which the thread waits to be asked. */
class WorkClock {
  private readonly over = new AbortController();
  private timer?: NodeJS.Timeout;
  private since = 0;
  private left: number;

  constructor(private readonly timeoutMs: number) {
    this.left = timeoutMs;
  }

  get signal(): AbortSignal {
    return this.over.signal;
  }

  get problem(): UnreadableDocument | undefined {
    if (!this.over.signal.aborted) return undefined;
    return new UnreadableDocument(`The document takes longer than ${this.timeoutMs / 1000} s to read: split it.`);
  }

  start(): void {
    if (this.timer) return;
    this.since = performance.now();
    this.timer = setTimeout(() => this.over.abort(), this.left);
  }

  /** While it is stopped. */
  extend(ms: number): void {
    this.left += ms;
  }

  stop(): void {
    if (!this.timer) return;
    clearTimeout(this.timer);
    this.timer = undefined;
    this.left -= performance.now() - this.since;
  }
}

function memoryProblem(error: unknown, maxHeapMb: number): unknown {
  if ((error as { code?: string }).code !== 'ERR_WORKER_OUT_OF_MEMORY') return error;
  return new UnreadableDocument(`The document takes more than ${maxHeapMb} MB of memory to read: split it.`);
}
