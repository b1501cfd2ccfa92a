import { BackgroundWorker } from '@parley/service/background-worker';
import type { Platform } from '@parley/service/platform';

/**
 * Background loop over rows with a due time. It wakes when the next row becomes due; rows of another process are found
 * within one sweep interval.
 */
export abstract class DueWorker extends BackgroundWorker {
  protected constructor(
    name: string,
    { logger }: Platform,
    private readonly sweepIntervalMs: number,
  ) {
    super({ name, intervalMs: sweepIntervalMs, logger });
  }

  protected wakeAt(dueAt: Date): void {
    this.loop.wakeIn(Math.max(0, dueAt.getTime() - Date.now()));
  }

  /** Undefined if no row becomes due within this time. Ignores rows that are due already. */
  protected abstract msUntilNextDue(withinMs: number): Promise<number | undefined>;

  /** Processes one batch of due rows. True if there may be more. */
  protected abstract processDue(): Promise<boolean>;

  protected async round(): Promise<boolean> {
    if (this.isStopping) return false;
    // Read before processing: otherwise a row could become due in between unnoticed.
    const nextInMs = await this.msUntilNextDue(this.sweepIntervalMs);
    if (nextInMs !== undefined) this.loop.wakeIn(nextInMs);
    return this.processDue();
  }
}
