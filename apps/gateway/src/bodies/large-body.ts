import { defaultBodyValues } from '@parley/contracts/operation';
import { tooManyValues, ValueCounter } from './json-values';

/** Size in bytes above which a body is parsed in a child process, under the concurrency limit for large bodies. */
export const largeBytes = 1_000_000;
/**
 * Number of JSON values that the event loop parses and validates in a few milliseconds. Bodies with more go to a child
 * process.
 */
export const quickValues = 10_000;

const segmentBytes = 1_000_000;

/** An unparsed body, in segments. */
export class LargeBody {
  private readonly counter?: ValueCounter;
  private readonly segments: Uint8Array[] = [];
  private last?: Uint8Array;
  private used = 0;

  /**
   * @param maxValues JSON values that the body may have. When it may have millions, the child process counts them.
   */
  constructor(private readonly maxValues: number) {
    if (maxValues <= defaultBodyValues) this.counter = new ValueCounter(maxValues);
  }

  /** Copies the chunk, which may keep a much larger buffer in memory. Throws PayloadTooLarge above the maximum. */
  add(chunk: Uint8Array): void {
    for (let from = 0; from < chunk.length;) {
      if (!this.last || this.used === this.last.length) this.addSegment();
      const part = chunk.subarray(from, from + this.last!.length - this.used);
      this.last!.set(part, this.used);
      this.used += part.length;
      from += part.length;
    }
    if (this.counter && this.counter.add(chunk).values > this.maxValues)
      throw tooManyValues(this.counter.values, this.maxValues);
  }

  get parts(): Uint8Array[] {
    return this.segments.map((segment) => (segment === this.last ? segment.subarray(0, this.used) : segment));
  }

  private addSegment(): void {
    this.last = new Uint8Array(segmentBytes);
    this.used = 0;
    this.segments.push(this.last);
  }
}
