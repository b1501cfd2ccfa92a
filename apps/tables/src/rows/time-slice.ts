import { yieldToEventLoop } from '@parley/background/yield-to-event-loop';

const maxSliceMs = 5;

/** Cooperative scheduling: work over many rows yields to the event loop after each time slice. */
export class TimeSlice {
  private end = performance.now() + maxSliceMs;

  get isOver(): boolean {
    return performance.now() > this.end;
  }

  async yieldToEventLoop(): Promise<void> {
    await yieldToEventLoop();
    this.end = performance.now() + maxSliceMs;
  }
}
