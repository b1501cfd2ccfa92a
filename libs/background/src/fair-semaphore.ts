export interface FairSemaphoreOptions {
  size: number;
  /** Maximum of running tasks per tenant. */
  maxEach: number;
  /** Maximum of waiting tasks per tenant. */
  maxWaitingEach: number;
}

export class TooManyWaiting extends Error {}

/**
 * Fair semaphore: at most `size` tasks run at once. A free slot goes to the waiting tenant with the fewest running
 * tasks, on a tie to the tenant whose last task started the longest ago. So no tenant waits behind the whole queue of
 * another.
 */
export class FairSemaphore {
  private count = 0;
  private readonly countOf = new Map<string, number>();
  private readonly queues = new Map<string, (() => void)[]>();
  private starts = 0;
  private readonly lastStartOf = new Map<string, number>();

  constructor(private readonly options: FairSemaphoreOptions) {}

  get waitingCount(): number {
    return [...this.queues.values()].reduce((sum, queue) => sum + queue.length, 0);
  }

  /** Rejects with TooManyWaiting, or with the signal's reason when it aborts before the work starts. */
  async run<Result>(tenant: string, work: () => Promise<Result>, signal?: AbortSignal): Promise<Result> {
    const leave = await this.enter(tenant, signal);
    try {
      return await work();
    } finally {
      leave();
    }
  }

  /** Resolves with the release function, which is idempotent. Rejects like `run`. */
  async enter(tenant: string, signal?: AbortSignal): Promise<() => void> {
    signal?.throwIfAborted();
    if (this.hasSlotFor(tenant) && !this.queues.has(tenant)) this.add(tenant, 1);
    else await this.wait(tenant, signal);
    let isIn = true;
    return () => {
      if (!isIn) return;
      isIn = false;
      this.add(tenant, -1);
      this.admitNext();
    };
  }

  private hasSlotFor(tenant: string): boolean {
    const { size, maxEach } = this.options;
    return this.count < size && (this.countOf.get(tenant) ?? 0) < maxEach;
  }

  private wait(tenant: string, signal?: AbortSignal): Promise<void> {
    const queue = this.queues.get(tenant) ?? [];
    if (queue.length >= this.options.maxWaitingEach) return Promise.reject(new TooManyWaiting());
    this.queues.set(tenant, queue);
    return new Promise((resolve, reject) => {
      const leave = () => {
        queue.splice(queue.indexOf(enter), 1);
        if (queue.length === 0) this.forgetQueue(tenant);
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

  private admitNext(): void {
    let next: string | undefined;
    for (const tenant of this.queues.keys()) {
      if (this.hasSlotFor(tenant) && (next === undefined || this.isBefore(tenant, next))) next = tenant;
    }
    if (next === undefined) return;
    const queue = this.queues.get(next)!;
    const enter = queue.shift()!;
    this.add(next, 1);
    if (queue.length === 0) this.forgetQueue(next);
    enter();
  }

  private isBefore(one: string, other: string): boolean {
    const fewer = this.runningOf(one) - this.runningOf(other);
    return fewer !== 0 ? fewer < 0 : (this.lastStartOf.get(one) ?? 0) < (this.lastStartOf.get(other) ?? 0);
  }

  private runningOf(tenant: string): number {
    return this.countOf.get(tenant) ?? 0;
  }

  private add(tenant: string, change: 1 | -1): void {
    this.count += change;
    const count = this.runningOf(tenant) + change;
    if (change > 0) this.lastStartOf.set(tenant, (this.starts += 1));
    if (count > 0) this.countOf.set(tenant, count);
    else this.countOf.delete(tenant);
    this.forget(tenant);
  }

  private forgetQueue(tenant: string): void {
    this.queues.delete(tenant);
    this.forget(tenant);
  }

  private forget(tenant: string): void {
    if (!this.countOf.has(tenant) && !this.queues.has(tenant)) this.lastStartOf.delete(tenant);
  }
}
