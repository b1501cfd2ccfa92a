import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { Slots } from '@parley/background/slots';
import { workerFile } from '@parley/background/worker-file';
import Piscina from 'piscina';
import type { CodeLimits, CodeOutcome, RowCode } from './row-code.worker';

const threads = 2;
const idleTimeoutMs = 30_000;

/** A few functions of QuickJS cannot be interrupted: then the thread is ended. The time includes its start. */
const threadTimeoutMs = 3_000;

const defaultLimits: CodeLimits = { timeoutMs: 250, stackKb: 256, resultLength: 128 * 1024 };

/**
 * Runs the code of computed columns on threads of its own, in QuickJS: it sees the row and nothing else, neither network,
 * files, timers nor the time, and nothing is left of it afterwards.
 */
@Injectable()
export class Sandbox implements OnApplicationShutdown {
  private readonly slots = new Slots(threads);
  private readonly pool = new Piscina({
    filename: workerFile(__dirname, 'row-code.worker'),
    minThreads: 0,
    maxThreads: threads,
    idleTimeout: idleTimeoutMs,
  });

  /**
   * @param code an expression, a function of the row, or what stands in one, with `return`
   * @param row values by name of their column
   */
  run(code: string, row: Record<string, unknown>, limits: Partial<CodeLimits> = {}): Promise<CodeOutcome> {
    const task: RowCode = { code, row, instant: Date.now(), limits: { ...defaultLimits, ...limits } };
    return this.slots.run(() => this.runOnThread(task));
  }

  async onApplicationShutdown(): Promise<void> {
    await this.pool.destroy();
  }

  private async runOnThread(task: RowCode): Promise<CodeOutcome> {
    const timeout = AbortSignal.timeout(threadTimeoutMs);
    try {
      return (await this.pool.run(task, { signal: timeout })) as CodeOutcome;
    } catch (error) {
      if (timeout.aborted) return { error: `The code took longer than ${task.limits.timeoutMs} ms.` };
      throw error;
    }
  }
}
