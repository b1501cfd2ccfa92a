/** Pseudorandom numbers, reproducible by their seed. */
export class Random {
  constructor(private state: number) {}

  /** At least 0 and less than 1 (mulberry32). */
  fraction(): number {
    this.state = (this.state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.state ^ (this.state >>> 15), 1 | this.state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  between(least: number, most: number): number {
    return Math.floor(least + this.fraction() * (most - least));
  }

  oneOf<T>(list: readonly T[]): T {
    return list[this.between(0, list.length)]!;
  }
}
