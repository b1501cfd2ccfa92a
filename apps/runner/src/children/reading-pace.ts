import type { Readable } from 'node:stream';

/** Time of the event loop in milliseconds that one process may take at a stretch. */
export const sliceMs = 5;
/** Time that the messages of a process may take within a window before it is slowed down. */
const free = { ms: 2, windowMs: 100 };
/** Share of the event loop for all processes together that are slowed down. */
const share = 0.1;

/**
 * Backpressure: streams of one process, which are paused as long as its messages take more time of the event loop than its
 * share. Meanwhile the process waits when its pipes are full, and no other process does.
 */
export class ReadingPace {
  private static readonly paused = new Set<ReadingPace>();
  private windowEndsAt = 0;
  private usedMs = 0;
  private timer?: NodeJS.Timeout;

  /** @param onResume reads what has arrived before the streams were paused */
  constructor(
    private readonly streams: Readable[],
    private readonly onResume: () => void,
  ) {}

  get isPaused(): boolean {
    return this.timer !== undefined;
  }

  /** Counts the time that the latest messages took. */
  spend(ms: number): void {
    const now = performance.now();
    if (now >= this.windowEndsAt) {
      this.windowEndsAt = now + free.windowMs;
      this.usedMs = 0;
    }
    this.usedMs += ms;
    if (this.usedMs <= free.ms || this.isPaused) return;
    ReadingPace.paused.add(this);
    for (const stream of this.streams) stream.pause();
    const pauseMs = (this.usedMs / share) * ReadingPace.paused.size;
    this.usedMs = 0;
    this.timer = setTimeout(() => this.resume(), pauseMs).unref();
  }

  close(): void {
    clearTimeout(this.timer);
    ReadingPace.paused.delete(this);
  }

  private resume(): void {
    this.timer = undefined;
    ReadingPace.paused.delete(this);
    for (const stream of this.streams) stream.resume();
    this.onResume();
  }
}
