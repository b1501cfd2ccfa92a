import { recordIn } from '@parley/contracts/is-record';
import { prefixBytes } from '../host/frames';

export interface Frame {
  header: Record<string, unknown>;
  body: Buffer;
}

/** The process sent something that is no frame, or a longer one than it may send. */
export class FrameRefused extends Error {
  override readonly name = 'FrameRefused';
}

const maxHeaderBytes = 64_000;

/**
 * Reads frames from the bytes of a process that may be hostile. It holds one unfinished frame and the chunks that have arrived
 * meanwhile, however small the pieces are in which a frame arrives.
 */
export class FrameReader {
  private readonly chunks: Buffer[] = [];
  private part: 'prefix' | 'header' | 'body' = 'prefix';
  private wanted = Buffer.allocUnsafe(prefixBytes);
  private filled = 0;
  private bodyBytes = 0;
  private header: Record<string, unknown> = {};

  /** @param maxBodyBytes limit for the body of a frame with this header */
  constructor(private readonly maxBodyBytes: (header: Record<string, unknown>) => number) {}

  push(chunk: Buffer): void {
    this.chunks.push(chunk);
  }

  /** The next whole frame, if it has arrived. Throws FrameRefused. */
  next(): Frame | undefined {
    while (this.fill()) {
      const bytes = this.wanted;
      switch (this.part) {
        case 'prefix':
          this.bodyBytes = bytes.readUInt32BE(4);
          this.want('header', within(maxHeaderBytes, bytes.readUInt32BE(0)));
          break;
        case 'header':
          this.header = headerIn(bytes);
          this.want('body', within(this.maxBodyBytes(this.header), this.bodyBytes));
          break;
        case 'body':
          this.want('prefix', prefixBytes);
          return { header: this.header, body: bytes };
      }
    }
    return undefined;
  }

  private want(part: FrameReader['part'], bytes: number): void {
    this.part = part;
    this.wanted = Buffer.allocUnsafe(bytes);
    this.filled = 0;
  }

  /** Copies what has arrived of the part. True when it is whole. */
  private fill(): boolean {
    while (this.filled < this.wanted.length) {
      const [chunk] = this.chunks;
      if (!chunk) return false;
      const copied = chunk.copy(this.wanted, this.filled);
      this.filled += copied;
      if (copied === chunk.length) this.chunks.shift();
      else this.chunks[0] = chunk.subarray(copied);
    }
    return true;
  }
}

function within(max: number, bytes: number): number {
  if (bytes > max) throw new FrameRefused(`a part of ${bytes} bytes, where ${max} are allowed`);
  return bytes;
}

function headerIn(bytes: Buffer): Record<string, unknown> {
  const header = recordIn(bytes.toString());
  if (!header) throw new FrameRefused('a header that is no JSON object');
  return header;
}
