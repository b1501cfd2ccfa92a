import { availableParallelism } from 'node:os';

const leastPauseMs = 20;

/**
 * Limit of the processor time of a process, from `start` to `stop`. A process that waits for a processor, or for anything
 * else, uses none: that takes a wall-clock limit beside this one.
 */
export class ProcessorTimer {
  private timer?: NodeJS.Timeout;
  private startedAtMs?: number;
  private isRunning = false;

  /**
   * @param usedMs processor time of the process so far, in milliseconds; undefined when it has ended
   */
  constructor(
    private readonly usedMs: () => Promise<number | undefined>,
    private limitMs: number,
    private readonly onElapsed: () => void,
  ) {}

  start(): void {
    if (this.isRunning) return;
    this.isRunning = true;
    void this.check();
  }

  extend(ms: number): void {
    this.limitMs += ms;
  }

  stop(): void {
    this.isRunning = false;
    clearTimeout(this.timer);
  }

  /** All processors together cannot use the rest of the limit before the next check. */
  private async check(): Promise<void> {
    const usedMs = await this.usedMs();
    if (!this.isRunning || usedMs === undefined) return;
    this.startedAtMs ??= usedMs;
    const leftMs = this.limitMs - (usedMs - this.startedAtMs);
    if (leftMs <= 0) {
      this.stop();
      this.onElapsed();
      return;
    }
    const pauseMs = Math.max(leastPauseMs, leftMs / availableParallelism());
    this.timer = setTimeout(() => void this.check(), pauseMs).unref();
  }
}
