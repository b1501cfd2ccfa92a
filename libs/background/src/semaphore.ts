/**
 * Semaphore: at most `size` tasks run at once. The others wait in order (FIFO) and leave the queue when aborted. Urgent
 * tasks have a queue of their own, which gets every second slot at most while others wait.
 */
export class Semaphore {
  private free: number;
  private readonly waiting: (() => void)[] = [];
  private readonly urgent: (() => void)[] = [];
  private wasUrgent = false;

  constructor(private readonly size: number) {
    this.free = size;
  }

  get waitingCount(): number {
    return this.waiting.length + this.urgent.length;
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
  run<Result>(work: () => Promise<Result>, signal?: AbortSignal): Promise<Result> {
    return this.runFrom(this.waiting, work, signal);
  }

  runUrgent<Result>(work: () => Promise<Result>, signal?: AbortSignal): Promise<Result> {
    return this.runFrom(this.urgent, work, signal);
  }

  private async runFrom<Result>(
    queue: (() => void)[],
    work: () => Promise<Result>,
    signal?: AbortSignal,
  ): Promise<Result> {
    await this.take(queue, signal);
    try {
      return await work();
    } finally {
      this.release();
    }
  }

  private async take(queue: (() => void)[], signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    if (this.free > 0) {
      this.free--;
      return;
    }
    await new Promise<void>((resolve, reject) => {
      const leave = () => {
        queue.splice(queue.indexOf(enter), 1);
        reject(signal?.reason as Error);
      };
      const enter = () => {
        signal?.removeEventListener('abort', leave);
        resolve();
      };
      queue.push(enter);
      signal?.addEventListener('abort', leave, { once: true });
    });
  }

  private release(): void {
    this.wasUrgent = this.urgent.length > 0 && !(this.wasUrgent && this.waiting.length > 0);
    const next = this.wasUrgent ? this.urgent.shift() : this.waiting.shift();
    if (next) next();
    else this.free++;
  }
}
