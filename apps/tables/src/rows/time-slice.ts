import { LoopShare } from '@parley/background/loop-share';
import { yieldToEventLoop } from '@parley/background/yield-to-event-loop';

const maxSliceMs = 5;
const maxJobSliceMs = 1;
/** Share of all jobs of one kind that run at once. A job may be slow, requests may not. */
const jobs = new LoopShare({ ofBusyLoop: 0.2, idleTime: 0.25 });

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

/** Cooperative scheduling of a job: it leaves most of a busy event loop to requests. */
export class JobSlice {
  private end = performance.now() + maxJobSliceMs;
  private busyMs = jobs.begin();

  get isOver(): boolean {
    return performance.now() > this.end;
  }

  async rest(): Promise<void> {
    await jobs.rest(this.busyMs());
    this.end = performance.now() + maxJobSliceMs;
    this.busyMs = jobs.begin();
  }
}
