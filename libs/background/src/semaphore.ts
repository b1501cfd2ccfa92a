/** Semaphore: at most `size` tasks run at once. The others wait in order (FIFO) and leave the queue when aborted. */
export class Semaphore {
  private free: number;
  private readonly waiting: (() => void)[] = [];

  constructor(private readonly size: number) {
    this.free = size;
  }

  get waitingCount(): number {
    return this.waiting.length;
  }

  /**
   * Results in the order of the items. A call queues at most `size` items at a time, so that a large call does not hold
   * up a small one.
   */
  async map<Item, Result>(
    items: Item[],
    work: (item: Item) => Promise<Result>,
    signal?: AbortSignal,
  ): Promise<Result[]> {
    const results: Result[] = [];
    const entries = items.entries();
    let failed = false;
    const worker = async (): Promise<void> => {
      for (const [position, item] of entries) {
        if (failed) return;
        results[position] = await this.run(() => work(item), signal);
      }
    };
    const workers = Array.from({ length: Math.min(this.size, items.length) }, worker);
    await Promise.all(workers).catch((error: unknown) => {
      failed = true;
      throw error;
    });
    return results;
  }

  /** Rejects with the signal's reason when it aborts before the work starts. */
  async run<Result>(work: () => Promise<Result>, signal?: AbortSignal): Promise<Result> {
    await this.take(signal);
    try {
      return await work();
    } finally {
      this.release();
    }
  }

  private async take(signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    if (this.free > 0) {
      this.free--;
      return;
    }
    await new Promise<void>((resolve, reject) => {
      const leave = () => {
        this.waiting.splice(this.waiting.indexOf(enter), 1);
        reject(signal?.reason as Error);
      };
      const enter = () => {
        signal?.removeEventListener('abort', leave);
        resolve();
      };
      this.waiting.push(enter);
      signal?.addEventListener('abort', leave, { once: true });
    });
  }

  private release(): void {
    const next = this.waiting.shift();
    if (next) next();
    else this.free++;
  }
}
