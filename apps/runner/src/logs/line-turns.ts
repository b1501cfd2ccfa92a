/** Time of the event loop in milliseconds for lines at a stretch. */
const sliceMs = 5;
/** Share of the event loop for the lines of all processes. */
const share = 0.2;

/** Output that prints its waiting lines one by one. */
interface Printing {
  /** True while lines are left. */
  printNext(): boolean;
}

/**
 * Round robin of the processes whose output waits to be printed, line by line: at most a fifth of the event loop for all of
 * them, however much they print.
 */
export class LineTurns {
  private readonly waiting = new Set<Printing>();
  private timer?: NodeJS.Timeout;

  add(output: Printing): void {
    this.waiting.add(output);
    this.timer ??= setTimeout(() => this.printSlice(), 0).unref();
  }

  /** Prints all waiting lines. */
  async finish(): Promise<void> {
    while (this.waiting.size > 0) {
      this.printSlice();
      await new Promise(setImmediate);
    }
  }

  private printSlice(): void {
    const startedAt = performance.now();
    let usedMs = 0;
    // An output that goes to the end of the set is met again.
    for (const output of this.waiting) {
      this.waiting.delete(output);
      if (output.printNext()) this.waiting.add(output);
      usedMs = performance.now() - startedAt;
      if (usedMs >= sliceMs) break;
    }
    clearTimeout(this.timer);
    const pauseMs = usedMs * (1 / share - 1);
    this.timer = this.waiting.size > 0 ? setTimeout(() => this.printSlice(), pauseMs).unref() : undefined;
  }
}
