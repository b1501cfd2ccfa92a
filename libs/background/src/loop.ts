import type { Logger } from '@parley/logging/logger';

export interface LoopOptions {
  name: string;
  /** Pause between two rounds that found nothing to do. */
  intervalMs: number;
  logger: Logger;
}

/** The longest time that a timer can measure. */
const maxTimerMs = 2 ** 31 - 1;

/** Does rounds of work in the background: never two at once, at once when woken, with a pause after a failure. */
export class Loop {
  private running?: Promise<void>;
  private stopping = false;
  private woken = false;
  private wakeUp: () => void = () => undefined;
  private alarm?: { at: number; timer: NodeJS.Timeout };

  /** @param round returns true when there may be more to do, so that the next round follows without a pause. */
  constructor(
    private readonly options: LoopOptions,
    private readonly round: () => Promise<boolean>,
  ) {}

  start(): void {
    this.running ??= this.run();
  }

  /** The next round begins at once, or right after the one under way. */
  wake(): void {
    this.woken = true;
    this.wakeUp();
  }

  /** A round begins after this time at the latest. Of several times the earliest counts: each round asks for the next. */
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

  /** Resolves when the round under way has ended. No further one begins. */
  async stop(): Promise<void> {
    this.stopping = true;
    clearTimeout(this.alarm?.timer);
    this.wakeUp();
    await this.running;
  }

  private async run(): Promise<void> {
    while (!this.stopping) {
      this.woken = false;
      const more = await this.attempt();
      if (!more && !this.woken && !this.stopping) await this.pause();
    }
  }

  private async attempt(): Promise<boolean> {
    try {
      return await this.round();
    } catch (error) {
      this.options.logger.warn({ err: error, loop: this.options.name }, 'a round of background work failed');
      return false;
    }
  }

  private pause(): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, this.options.intervalMs);
      this.wakeUp = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}
