/** Size in bytes above which a body is parsed on a worker thread, under the concurrency limit for large bodies. */
export const largeBytes = 1_000_000;
/**
 * Number of JSON values that the event loop parses and validates in a few milliseconds. Bodies with more go to a
 * thread.
 */
export const quickValues = 10_000;

const segmentBytes = 1_000_000;

/** An unparsed body: its bytes in segments whose buffers can be transferred to a thread. */
export class LargeBody {
  readonly segments: Uint8Array[] = [];
  private last?: Uint8Array;
  private used = 0;

  /** @param bytes the whole body, in a buffer of its own, which becomes the first segment */
  static of(bytes: Uint8Array): LargeBody {
    const body = new LargeBody();
    body.last = bytes;
    body.used = bytes.length;
    body.segments.push(bytes);
    return body;
  }

  /** Copies the chunk, so that nothing has to be concatenated at the end. */
  add(chunk: Uint8Array): void {
    for (let from = 0; from < chunk.length;) {
      if (!this.last || this.used === this.last.length) this.addSegment();
      const part = chunk.subarray(from, from + this.last!.length - this.used);
      this.last!.set(part, this.used);
      this.used += part.length;
      from += part.length;
    }
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
