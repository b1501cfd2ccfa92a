import { UnreadableDocument } from './block';
import { mostArchiveBytes, mostArchiveEntryBytes } from './limits';

const countedBytes = 1_000_000;

/**
 * Decompression bomb limit for PDF streams, equal to the limit for archives. pdfjs-dist has none: it decompresses
 * through the global `DecompressionStream`, or into a `Uint8Array` that doubles. Both globals are wrapped while a PDF
 * is open and count for the PDF opened last. pdfjs-dist may swallow the error as a damaged stream, so callers run
 * `check` after each page.
 */
class PdfUnpacking {
  private unpackedBytes = 0;
  private isOverLimit = false;
  private openDocuments = 0;
  private restore = () => {};

  /** Resets the counter; wraps the globals when the first PDF is opened. */
  begin(): void {
    this.reset();
    if (this.openDocuments++ === 0) this.wrapGlobals();
  }

  end(): void {
    if (--this.openDocuments === 0) this.restore();
  }

  reset(): void {
    this.unpackedBytes = 0;
    this.isOverLimit = false;
  }

  problem(): UnreadableDocument | undefined {
    return this.isOverLimit ? tooLarge() : undefined;
  }

  check(): void {
    const problem = this.problem();
    if (problem) throw problem;
  }

  private count(bytes: number, streamBytes: number): void {
    this.unpackedBytes += bytes;
    if (streamBytes <= mostArchiveEntryBytes && this.unpackedBytes <= mostArchiveBytes) return;
    this.isOverLimit = true;
    throw tooLarge();
  }

  private wrapGlobals(): void {
    const { DecompressionStream: plainStream } = globalThis;
    // oxlint-disable-next-line typescript/unbound-method -- called with its own `this`
    const { set } = Uint8Array.prototype;
    this.wrapDecompressionStream();
    this.wrapGrowingBuffers(set);
    this.restore = () => {
      globalThis.DecompressionStream = plainStream;
      Uint8Array.prototype.set = set;
    };
  }

  private wrapDecompressionStream(): void {
    const count = this.count.bind(this);
    globalThis.DecompressionStream = class extends DecompressionStream {
      private readonly counted = counted(super.readable, count);

      override get readable() {
        return this.counted as unknown as ReadableStream;
      }
    };
  }

  private wrapGrowingBuffers(set: Uint8Array['set']): void {
    const count = this.count.bind(this);
    Uint8Array.prototype.set = function (this: Uint8Array, source: ArrayLike<number>, offset?: number) {
      const isGrowth = offset === undefined && this.length >= countedBytes && source.length < this.length;
      if (isGrowth) count(this.length - source.length, this.length);
      set.call(this, source, offset);
    };
  }
}

export const pdfUnpacking = new PdfUnpacking();

async function* counted(
  stream: AsyncIterable<Uint8Array>,
  count: (bytes: number, streamBytes: number) => void,
): AsyncGenerator<Uint8Array> {
  let streamBytes = 0;
  for await (const part of stream) {
    streamBytes += part.length;
    count(part.length, streamBytes);
    yield part;
  }
}

function tooLarge(): UnreadableDocument {
  return new UnreadableDocument(
    `The PDF unpacks to more than ${mostArchiveBytes / 1e6} MB, ` +
      `or one of its streams to more than ${mostArchiveEntryBytes / 1e6} MB. Split it into smaller files.`,
  );
}
