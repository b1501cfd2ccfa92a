const initialBytes = 4_096;

/** Growable buffer: bodies of many small chunks cost at most twice their size, and no object per chunk. */
export class BodyBuffer {
  private bytes = Buffer.alloc(0);
  private length = 0;

  constructor(private readonly maxBytes: number) {}

  /** False, and nothing is added, when the body exceeds the limit. */
  append(chunk: Buffer): boolean {
    const length = this.length + chunk.length;
    if (length > this.maxBytes) return false;
    if (length > this.bytes.length) {
      const larger = Buffer.allocUnsafe(Math.max(length, Math.min(this.maxBytes, 2 * this.bytes.length), initialBytes));
      this.bytes.copy(larger, 0, 0, this.length);
      this.bytes = larger;
    }
    chunk.copy(this.bytes, this.length);
    this.length = length;
    return true;
  }

  toBuffer(): Buffer {
    return this.bytes.subarray(0, this.length);
  }
}
