import { type ELDHistogram, monitorEventLoopDelay } from 'node:perf_hooks';

const resolutionMs = 20;
const nanosPerMs = 1e6;
/** An idle process then stops measuring, which wakes it up 50 times a second. */
const maxUnreadSamples = 10;

type Histogram = Pick<ELDHistogram, 'mean' | 'enable' | 'disable' | 'reset'>;

/**
 * Average event loop delay: the lower of the last two samples. A single long task, or a process that was suspended, is
 * not an overload.
 */
export class LoopDelay {
  private readonly looking: NodeJS.Timeout;
  private last = 0;
  private beforeLast = 0;
  private unreadSamples = 0;
  private hasStopped = false;

  constructor(
    private readonly intervalMs = 1_000,
    private readonly histogram: Histogram = monitorEventLoopDelay({ resolution: resolutionMs }),
  ) {
    this.histogram.enable();
    this.looking = setInterval(() => this.look(), intervalMs).unref();
  }

  /** True after `stop`, and when nobody has read the delay for ten intervals. */
  get isStopped(): boolean {
    return this.hasStopped;
  }

  get ms(): number {
    this.unreadSamples = 0;
    return Math.min(this.last, this.beforeLast);
  }

  stop(): void {
    this.hasStopped = true;
    clearInterval(this.looking);
    this.histogram.disable();
  }

  private look(): void {
    this.unreadSamples += 1;
    if (this.unreadSamples > maxUnreadSamples) return this.stop();
    this.beforeLast = this.last;
    const { mean } = this.histogram;
    // NaN: the loop had fewer than two iterations in this interval.
    this.last = Number.isNaN(mean) ? this.intervalMs : mean / nanosPerMs - resolutionMs;
    this.histogram.reset();
  }
}

let shared: LoopDelay | undefined;

export function loopDelayMs(): number {
  if (!shared || shared.isStopped) shared = new LoopDelay();
  return shared.ms;
}
