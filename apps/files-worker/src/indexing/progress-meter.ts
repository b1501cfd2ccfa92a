/** Share of the whole that reading takes, for readers that give no block before they have read all. */
const readingShare = 0.3;
/** Time over which the speed is measured. */
const windowMs = 60_000;

interface Sample {
  at: number;
  part: number;
}

/**
 * Progress of one attempt to index a file. `part` never decreases: a second reader begins again, and counts when it has come
 * further than the first.
 */
export class ProgressMeter {
  /** Fraction of the work that is done, from 0 to 1. */
  part = 0;
  private isReading = true;
  private base = 0;
  private samples: Sample[] = [];

  constructor(private readonly now: () => number = () => performance.now()) {}

  /** @param part fraction of the document that is read, from 0 to 1, before its first block */
  read(part: number): void {
    if (!this.isReading) return;
    this.raise(readingShare * part);
    this.measure(part);
  }

  /** @param part fraction of the document whose passages are searchable after the switch */
  index(part: number): void {
    if (this.isReading) {
      this.isReading = false;
      this.base = this.part;
      this.samples = [];
    }
    this.raise(this.base + (1 - this.base) * part);
    this.measure(part);
  }

  /** Seconds until the stage ends, at its speed in the last minute; undefined while that is unknown. */
  get secondsLeft(): number | undefined {
    const [first] = this.samples;
    const last = this.samples.at(-1);
    if (!first || !last || last.part <= first.part || last.part >= 1) return undefined;
    const speed = (last.part - first.part) / (this.now() - first.at);
    return Math.ceil((1 - last.part) / speed / 1000);
  }

  private raise(part: number): void {
    this.part = Math.max(this.part, Math.min(1, part));
  }

  private measure(part: number): void {
    const at = this.now();
    const last = this.samples.at(-1);
    if (last && part < last.part) this.samples = [];
    else if (last && part === last.part) return;
    this.samples.push({ at, part });
    while (this.samples.length > 2 && at - this.samples[1]!.at > windowMs) this.samples.shift();
  }
}
