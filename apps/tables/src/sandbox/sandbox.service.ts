import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { Semaphore } from '@parley/background/semaphore';
import { openThreadPool } from '@parley/background/thread-pool';
import { threadMsOf } from '@parley/child-processes/runnable-time';
import type { CodeLimits, CodeOutcome, RowCode } from './row-code.worker';

const threads = 2;
/** Compiling takes milliseconds. Only a broken thread exceeds this. */
const readingTimeoutMs = 5_000;

/** Grace period before the thread is terminated, since a few functions of QuickJS cannot be interrupted. */
const graceMs = 2_000;
/** Pause between looks at a thread that has had too little of a processor. */
const lookAgainMs = 250;
/** Limit of the time by the clock, in times of the limit of the processor time. */
const backstopFactor = 10;
/** Time at the start of the code, id of the thread, and its processor time by then. */
const begunFields = 3;

const defaultLimits: CodeLimits = { timeoutMs: 250, stackKb: 256, resultLength: 128 * 1024 };

/**
 * Sandbox for the code of computed columns: QuickJS on worker threads. Code has access to its row only: no network, no
 * files, no timers, a frozen clock, and no state of earlier runs.
 */
@Injectable()
export class SandboxService implements OnApplicationShutdown {
  private readonly slots = new Semaphore(threads);
  /** Separate slot, so that declaring a column does not wait for computations. */
  private readonly readingSlots = new Semaphore(1);
  private readonly pool = openThreadPool(__dirname, 'row-code.worker', { maxThreads: threads + 1 });

  /**
   * @param code an expression, a function of the row, or a function body with `return`
   * @param row values by column name
   * @param signal aborts the code, running or queued; the promise rejects with its reason
   */
  run(
    code: string,
    row: Record<string, unknown>,
    limits: Partial<CodeLimits> = {},
    signal?: AbortSignal,
  ): Promise<CodeOutcome> {
    const task = newTask(code, row, limits);
    return this.slots.run(() => this.runOnThread(task, signal), signal);
  }

  /** Syntax check without running the code: the error as a sentence, or undefined. */
  async problemOf(code: string): Promise<string | undefined> {
    const task = newTask(code, null, { timeoutMs: readingTimeoutMs });
    const outcome = await this.readingSlots.run(() => this.runOnThread(task));
    return 'error' in outcome ? outcome.error : undefined;
  }

  async onApplicationShutdown(): Promise<void> {
    await this.pool.destroy();
  }

  private async runOnThread(task: RowCode, signal?: AbortSignal): Promise<CodeOutcome> {
    const overdue = new AbortController();
    const stopWatching = watch(task, () => overdue.abort());
    try {
      const ending = signal ? AbortSignal.any([signal, overdue.signal]) : overdue.signal;
      return (await this.pool.run(task, { signal: ending })) as CodeOutcome;
    } catch (error) {
      signal?.throwIfAborted();
      if (overdue.signal.aborted) return { error: `The code took longer than ${task.limits.timeoutMs} ms.` };
      throw error;
    } finally {
      stopWatching();
    }
  }
}

function newTask(code: string, row: RowCode['row'], limits: Partial<CodeLimits>): RowCode {
  const begun = new Float64Array(new SharedArrayBuffer(begunFields * Float64Array.BYTES_PER_ELEMENT));
  return { code, row, instant: Date.now(), limits: { ...defaultLimits, ...limits }, begun };
}

/** Watchdog: calls `end` when the thread has used the timeout and the grace period. Starting the thread does not count. */
function watch({ begun, limits }: RowCode, end: () => void): () => void {
  const allowedMs = limits.timeoutMs + graceMs;
  let timer: NodeJS.Timeout;
  let isOver = false;
  const look = async () => {
    const [startedAt, threadId, usedBefore] = begun as unknown as [number, number, number];
    const passedMs = startedAt === 0 ? 0 : Date.now() - startedAt;
    const usedMs = passedMs < allowedMs ? passedMs : ((await threadMsOf(threadId)) ?? Infinity) - usedBefore;
    if (isOver) return;
    if (usedMs >= allowedMs || passedMs >= backstopFactor * allowedMs) end();
    else timer = setTimeout(() => void look(), Math.max(lookAgainMs, allowedMs - usedMs));
  };
  void look();
  return () => {
    isOver = true;
    clearTimeout(timer);
  };
}
