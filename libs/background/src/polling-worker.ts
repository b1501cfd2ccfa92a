import type { Logger } from '@parley/logging/logger';

export interface PollingWorkerOptions {
  name: string;
  /** Pause after a round that found nothing to do; Infinity to wait until woken. */
  intervalMs: number;
  logger: Logger;
}

/** Limit of `setTimeout`: longer delays would fire at once. */
const maxTimerMs = 2 ** 31 - 1;
const maxFailurePauseMs = 5_000;

/**
 * Polling worker: repeats a round of work in the background, one at a time. It starts at once when woken, and pauses
 * after a round without work and, for five seconds at most, after a failure.
 */
export class PollingWorker {
  /** Set by `start`. */
  firstRound?: Promise<unknown>;
  private running?: Promise<void>;
  private stopping = false;
  private woken = false;
  private wakeUp: () => void = () => undefined;
  private alarm?: { at: number; timer: NodeJS.Timeout };

  /** @param round returns true when there may be more to do; the next round then follows without a pause. */
  constructor(
    private readonly options: PollingWorkerOptions,
    private readonly round: () => Promise<boolean>,
  ) {}

  start(): void {
    this.running ??= this.run();
  }

  /** Starts the next round at once, or right after the current one. */
  wake(): void {
    this.woken = true;
    this.wakeUp();
  }

  /**
   * Starts a round after this delay at the latest. The earliest pending time wins and later ones are dropped, so each
   * round has to request the next.
   */
  wakeIn(delayMs: number): void {
    const at = Date.now() + delayMs;
    if (this.stopping || (this.alarm && this.alarm.at <= at)) return;
    clearTimeout(this.alarm?.timer);
    const ring = () => {
      this.alarm = undefined;
      this.wake();
    };
    this.alarm = { at, timer: setTimeout(ring, Math.min(delayMs, maxTimerMs)) };
  }

  /** Resolves when the current round has ended. No other one starts. */
  async stop(): Promise<void> {
    this.stopping = true;
    clearTimeout(this.alarm?.timer);
    this.wakeUp();
    await this.running;
  }

  private async run(): Promise<void> {
    while (!this.stopping) {
      this.woken = false;
      const attempt = this.attempt();
      this.firstRound ??= attempt;
      const pauseMs = await attempt;
      if (pauseMs > 0 && !this.woken && !this.stopping) await this.pause(pauseMs);
    }
  }

  /** Runs a round. Returns the pause after it. */
  private async attempt(): Promise<number> {
    const { intervalMs } = this.options;
    try {
      return (await this.round()) ? 0 : intervalMs;
    } catch (error) {
      this.options.logger.warn({ err: error, loop: this.options.name }, 'a round of background work failed');
      return Math.min(intervalMs, maxFailurePauseMs);
    }
  }

  private pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, Math.min(ms, maxTimerMs));
      this.wakeUp = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}
