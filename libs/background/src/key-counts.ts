/** Counts by key. A key without a count is forgotten, so that memory does not grow with keys that come from outside. */
export class KeyCounts extends Map<string, number> {
  count(key: string): number {
    return this.get(key) ?? 0;
  }

  add(key: string, by: number): void {
    const count = this.count(key) + by;
    if (count > 0) this.set(key, count);
    else this.delete(key);
  }
}
