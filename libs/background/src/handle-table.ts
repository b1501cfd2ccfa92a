/**
 * Handle table: items under a number each, for items that come and go with each request. A Map or a Set would keep each
 * removed item in memory until the next full collection (docs/decisions/0087-locked-node-and-v8-heap.md).
 */
export class HandleTable<T> {
  private readonly items: Record<number, T> = {};
  private last = 0;
  private count = 0;

  get size(): number {
    return this.count;
  }

  /** Returns the handle of the item. Handles are not reused. */
  add(item: T): number {
    const handle = (this.last += 1);
    this.items[handle] = item;
    this.count += 1;
    return handle;
  }

  get(handle: number): T | undefined {
    return this.items[handle];
  }

  /** Idempotent. */
  remove(handle: number): void {
    if (this.items[handle] === undefined) return;
    delete this.items[handle];
    this.count -= 1;
  }

  values(): T[] {
    return Object.values(this.items);
  }
}
