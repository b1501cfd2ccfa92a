import type { LimitedProcess } from '@parley/child-processes/limited-process';
import { ProcessorTimer } from '@parley/child-processes/processor-timer';

/** Processor time that a bundle may take to load. */
const processorMs = 10_000;
/** Time in which the main thread of a process that loads neither runs nor waits for a processor. */
const idleMs = 10_000;
/** On a busy machine, the processor time of a load takes longer than itself. */
const wallClockMs = 10 * processorMs;
const checkMs = 500;

/** Limit that a load has exceeded. `clock` is no fault of the code: the machine was too busy. */
export type LoadLimit = 'processor' | 'idle' | 'clock';

export const loadProblems: Record<LoadLimit, string> = {
  processor: `The code did not load within ${processorMs / 1_000} s of processor time.`,
  idle: `The code did not load: it waited for ${idleMs / 1_000} s without computing. Code may not wait while it is loaded.`,
  clock: `The machine is too busy: the code did not load within ${wallClockMs / 1_000} s, of which it had the processor for too short a time.`,
};

/** Limits of the time in which a process loads its bundle. */
export class LoadLimits {
  private readonly processorTimer: ProcessorTimer;
  private readonly clock: NodeJS.Timeout;
  private idleTimer?: NodeJS.Timeout;
  private hasEnded = false;

  constructor(
    private readonly child: Pick<LimitedProcess, 'processorMs' | 'runnableMs'>,
    private readonly onExceeded: (limit: LoadLimit) => void,
  ) {
    this.processorTimer = new ProcessorTimer(
      () => child.processorMs(),
      processorMs,
      () => this.exceed('processor'),
    );
    this.processorTimer.start();
    this.clock = setTimeout(() => this.exceed('clock'), wallClockMs).unref();
    void this.checkIdle();
  }

  end(): void {
    this.hasEnded = true;
    this.processorTimer.stop();
    clearTimeout(this.clock);
    clearTimeout(this.idleTimer);
  }

  private exceed(limit: LoadLimit): void {
    this.end();
    this.onExceeded(limit);
  }

  private async checkIdle(startedAt?: number, formerRunnableMs = 0): Promise<void> {
    const now = performance.now();
    const runnableMs = await this.child.runnableMs();
    if (this.hasEnded) return;
    const isIdle =
      startedAt !== undefined && runnableMs !== undefined && now - startedAt - (runnableMs - formerRunnableMs) > idleMs;
    if (isIdle) return this.exceed('idle');
    const [from, fromMs] =
      startedAt === undefined && runnableMs !== undefined ? [now, runnableMs] : [startedAt, formerRunnableMs];
    this.idleTimer = setTimeout(() => void this.checkIdle(from, fromMs), checkMs).unref();
  }
}
