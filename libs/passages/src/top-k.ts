/** Top-k selection: keeps the `limit` items with the highest scores, best first. */
export class TopK<Item> {
  private entries: { item: Item; score: number }[] = [];
  private threshold = -Infinity;

  constructor(private readonly limit: number) {}

  admits(score: number): boolean {
    return score > this.threshold;
  }

  offer(item: Item, score: number): void {
    if (!this.admits(score)) return;
    this.entries.push({ item, score });
    if (this.entries.length >= 2 * this.limit) this.cut();
  }

  /** Score of the last item that is kept; -Infinity while more fit. */
  lowest(): number {
    this.cut();
    return this.threshold;
  }

  ranked(): { item: Item; score: number }[] {
    this.cut();
    return this.entries;
  }

  private cut(): void {
    this.entries.sort((a, b) => b.score - a.score);
    if (this.entries.length < this.limit) return;
    this.entries.length = this.limit;
    this.threshold = this.entries.at(-1)?.score ?? Infinity;
  }
}
