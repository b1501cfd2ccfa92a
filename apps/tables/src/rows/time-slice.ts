import { setImmediate } from 'node:timers/promises';

const maxTurnMs = 5;

/** Cooperative scheduling: work over many rows yields to the event loop after each turn. */
export class TimeSlice {
  private end = performance.now() + maxTurnMs;

  get isOver(): boolean {
    return performance.now() > this.end;
  }

  async yieldToEventLoop(): Promise<void> {
    await setImmediate();
    this.end = performance.now() + maxTurnMs;
  }
}
