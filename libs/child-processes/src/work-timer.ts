/** A time limit that counts only while it runs: stopped, it keeps the time that is left. */
export class WorkTimer {
  private timer?: NodeJS.Timeout;
  private startedAt = 0;
  private leftMs: number;

  constructor(
    limitMs: number,
    private readonly onElapsed: () => void,
  ) {
    this.leftMs = limitMs;
  }

  start(): void {
    if (this.timer) return;
    this.startedAt = performance.now();
    this.timer = setTimeout(this.onElapsed, this.leftMs);
  }

  /** Adds time to a stopped timer. */
  extend(ms: number): void {
    this.leftMs += ms;
  }

  stop(): void {
    if (!this.timer) return;
    clearTimeout(this.timer);
    this.timer = undefined;
    this.leftMs -= performance.now() - this.startedAt;
  }
}
