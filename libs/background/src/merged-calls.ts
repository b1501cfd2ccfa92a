interface Waiting<Item, Result> {
  item: Item;
  resolve: (result: Result) => void;
  reject: (error: unknown) => void;
}

/**
 * Merges concurrent calls: one at a time runs for each key. Calls that arrive meanwhile run together after it, so many at
 * once cost little more than one.
 */
export class MergedCalls<Item, Result> {
  private readonly waiting = new Map<string, Waiting<Item, Result>[]>();

  /**
   * @param run returns the results in the order of the items, or throws for all of them
   * @param maxTogether items of one run
   */
  constructor(
    private readonly run: (key: string, items: Item[]) => Promise<Result[]>,
    private readonly maxTogether: number,
  ) {}

  /** Result of a run that begins after this call. */
  call(key: string, item: Item): Promise<Result> {
    return new Promise((resolve, reject) => {
      const known = this.waiting.get(key);
      if (known) return void known.push({ item, resolve, reject });
      this.waiting.set(key, [{ item, resolve, reject }]);
      void this.runAll(key);
    });
  }

  private async runAll(key: string): Promise<void> {
    const waiting = this.waiting.get(key)!;
    while (waiting.length > 0) {
      const together = waiting.splice(0, this.maxTogether);
      try {
        const results = await this.run(
          key,
          together.map(({ item }) => item),
        );
        together.forEach(({ resolve }, index) => resolve(results[index]!));
      } catch (error) {
        together.forEach(({ reject }) => reject(error));
      }
    }
    this.waiting.delete(key);
  }
}
