import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';

/** Time of the event loop since its start, in milliseconds. */
export interface LoopTimes {
  /** Spent in callbacks. */
  active: number;
  /** Spent waiting for events. */
  idle: number;
}

interface LoopClock {
  times(): LoopTimes;
  sleep(ms: number): Promise<unknown>;
}

export interface LoopShareOptions {
  /** Part of the time of a loop that is never idle, from 0 to 1. */
  ofBusyLoop: number;
  /** Idle time of the loop after which others obviously do not need it, as a multiple of the time of the work. */
  idleTime: number;
}

/** Limit of what one piece of work counts for: it may have waited long while others kept the loop busy. */
const maxCountedMs = 50;

const realClock: LoopClock = {
  times: () => performance.eventLoopUtilization(),
  sleep: (ms) => sleep(ms),
};

/**
 * Share of the event loop for work that must not delay other work. Measured is the time that the loop was busy meanwhile,
 * whoever kept it busy: so the share shrinks while others need the loop.
 */
export class LoopShare {
  constructor(
    private readonly options: LoopShareOptions,
    private readonly clock: LoopClock = realClock,
  ) {}

  /** Call when work begins. The returned function gives the milliseconds that the loop was busy since then. */
  begin(): () => number {
    const before = this.clock.times().active;
    return () => this.clock.times().active - before;
  }

  /** Resolves when the loop has been idle for long enough, or when the share of a busy loop allows more work. */
  async rest(busyMs: number): Promise<void> {
    const { ofBusyLoop, idleTime } = this.options;
    const workMs = Math.min(busyMs, maxCountedMs);
    const longestMs = workMs / ofBusyLoop - workMs;
    const before = this.clock.times();
    for (;;) {
      const { active, idle } = this.clock.times();
      const idleMs = idle - before.idle;
      const missingMs = Math.min(idleTime * workMs - idleMs, longestMs - idleMs - (active - before.active));
      if (missingMs <= 0) return;
      await this.clock.sleep(missingMs);
    }
  }
}
