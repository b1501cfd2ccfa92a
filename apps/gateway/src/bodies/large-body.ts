/** Bodies above this size are read on a thread of their own, and few at a time. */
export const largeBytes = 1_000_000;
/** Values that the event loop parses and checks in a few milliseconds: bodies with more are read on a thread too. */
export const quickValues = 10_000;

const segmentBytes = 1_000_000;

/** A body that is not parsed: its bytes in pieces, which are nobody else's. */
export class LargeBody {
  readonly segments: Uint8Array[] = [];
  private last?: Uint8Array;
  private used = 0;

  /** Copies it, so that nothing has to be put together when all is there. */
  add(chunk: Uint8Array): void {
    for (let from = 0; from < chunk.length;) {
      if (!this.last || this.used === this.last.length) this.addSegment();
      const part = chunk.subarray(from, from + this.last!.length - this.used);
      this.last!.set(part, this.used);
      this.used += part.length;
      from += part.length;
    }
  }

  /** Of the last segment only what is used. */
  get parts(): Uint8Array[] {
    return this.segments.map((segment) => (segment === this.last ? segment.subarray(0, this.used) : segment));
  }

  private addSegment(): void {
    this.last = new Uint8Array(segmentBytes);
    this.used = 0;
    this.segments.push(this.last);
  }
}
