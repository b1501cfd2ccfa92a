import { type IntervalHistogram, monitorEventLoopDelay } from 'node:perf_hooks';

const resolutionMs = 20;
const nanosPerMs = 1e6;

type Histogram = Pick<IntervalHistogram, 'mean' | 'enable' | 'disable' | 'reset'>;

/**
 * By how much the event loop is late on the whole. One long piece of work is no overload, nor is a process that was
 * stopped and goes on: it counts only what two looks in a row have seen.
 */
export class LoopDelay {
  private readonly looking: NodeJS.Timeout;
  private last = 0;
  private beforeLast = 0;

  constructor(
    private readonly intervalMs = 1_000,
    private readonly histogram: Histogram = monitorEventLoopDelay({ resolution: resolutionMs }),
  ) {
    this.histogram.enable();
    this.looking = setInterval(() => this.look(), intervalMs).unref();
  }

  get ms(): number {
    return Math.min(this.last, this.beforeLast);
  }

  stop(): void {
    clearInterval(this.looking);
    this.histogram.disable();
  }

  private look(): void {
    this.beforeLast = this.last;
    const { mean } = this.histogram;
    // No number when the loop had less than two turns.
    this.last = Number.isNaN(mean) ? this.intervalMs : mean / nanosPerMs - resolutionMs;
    this.histogram.reset();
  }
}

let shared: LoopDelay | undefined;

/** That of this process. */
export function loopDelayMs(): number {
  return (shared ??= new LoopDelay()).ms;
}
