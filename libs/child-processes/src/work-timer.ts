/** Pausable timeout: it counts only while started, and keeps the remaining time while stopped. */
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

  /** Adds time. Call it on a stopped timer only. */
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
