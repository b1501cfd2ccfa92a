import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { Semaphore } from '@parley/background/semaphore';
import { openThreadPool } from '@parley/background/thread-pool';
import type { CodeLimits, CodeOutcome, RowCode } from './row-code.worker';

const threads = 2;
/** Compiling takes milliseconds. Only a broken thread exceeds this. */
const readingTimeoutMs = 5_000;

/**
 * Grace period before the thread is terminated, since a few functions of QuickJS cannot be interrupted. On a busy machine, a
 * thread waits in it for the rest of its processor time.
 */
const graceMs = 2_000;

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
  const begun = new Float64Array(new SharedArrayBuffer(Float64Array.BYTES_PER_ELEMENT));
  return { code, row, instant: Date.now(), limits: { ...defaultLimits, ...limits }, begun };
}

/** Watchdog: calls `end` after the timeout and the grace period. Starting the thread does not count. */
function watch({ begun, limits }: RowCode, end: () => void): () => void {
  const allowedMs = limits.timeoutMs + graceMs;
  let timer: NodeJS.Timeout;
  const look = () => {
    const leftMs = begun[0] === 0 ? allowedMs : begun[0]! + allowedMs - Date.now();
    if (leftMs <= 0) end();
    else timer = setTimeout(look, leftMs);
  };
  look();
  return () => clearTimeout(timer);
}
