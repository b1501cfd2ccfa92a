import { decodeCodePage } from './code-page';

const continuation = 0x3c;
const headerBytes = 4;
const isWide = 1;
const hasExtension = 4;
const hasRuns = 8;

/** Record of a workbook before 2007. Its content goes on in the records after it where it is too long for one. */
export interface Record {
  type: number;
  parts: Buffer[];
}

/** Records from this position on, until the content ends. */
export function* recordsIn(bytes: Buffer, start = 0): Generator<Record> {
  let at = start;
  while (at + headerBytes <= bytes.length) {
    const type = bytes.readUInt16LE(at);
    const parts: Buffer[] = [];
    do {
      const from = at + headerBytes;
      at = from + bytes.readUInt16LE(at + 2);
      parts.push(bytes.subarray(from, at));
    } while (at + headerBytes <= bytes.length && bytes.readUInt16LE(at) === continuation);
    yield { type, parts };
  }
}

/** Reader of a record. Its bytes behind the end are zeros, so that a damaged record has empty texts. */
export class RecordReader {
  private part = 0;
  private at = 0;

  /** @param codePage of texts before Excel 97; undefined for texts in Unicode */
  constructor(
    private readonly parts: Buffer[],
    private readonly codePage: number | undefined,
  ) {}

  get isAtEnd(): boolean {
    return this.part >= this.parts.length - 1 && this.at >= this.here.length;
  }

  byte(): number {
    this.enterNext();
    return this.here[this.at++] ?? 0;
  }

  word(): number {
    return this.byte() + this.byte() * 0x100;
  }

  long(): number {
    return this.word() + this.word() * 0x10000;
  }

  skip(bytes: number): void {
    let left = bytes;
    while (left > 0 && !this.isAtEnd) {
      this.enterNext();
      const step = Math.min(left, this.here.length - this.at);
      this.at += step;
      left -= step;
    }
  }

  /** Moves to the next record, in which the text of a shape is. */
  nextPart(): void {
    this.at = this.here.length;
    this.enterNext();
  }

  /** Text with its length in front, in one or two bytes. */
  text(lengthBytes: 1 | 2): string {
    const length = lengthBytes === 1 ? this.byte() : this.word();
    return this.codePage === undefined ? this.unicode(length) : decodeCodePage(this.taken(length), this.codePage);
  }

  /** Text after its flags. A part that begins within the characters has flags of its own. */
  characters(length: number, flags: number): string {
    const texts: string[] = [];
    let wide = flags & isWide;
    for (let left = length; left > 0 && !this.isAtEnd;) {
      if (this.at >= this.here.length) {
        this.enterNext();
        wide = this.byte() & isWide;
      }
      const size = wide ? 2 : 1;
      const count = Math.min(left, Math.floor((this.here.length - this.at) / size));
      if (count === 0) this.at = this.here.length;
      texts.push(this.here.toString(wide ? 'utf16le' : 'latin1', this.at, this.at + count * size));
      this.at += count * size;
      left -= count;
    }
    return texts.join('');
  }

  private unicode(length: number): string {
    const flags = this.byte();
    const runs = flags & hasRuns ? this.word() : 0;
    const extension = flags & hasExtension ? this.long() : 0;
    const text = this.characters(length, flags);
    this.skip(runs * 4 + extension);
    return text;
  }

  private taken(length: number): Buffer {
    this.enterNext();
    const bytes = this.here.subarray(this.at, this.at + length);
    this.at += bytes.length;
    return bytes;
  }

  private get here(): Buffer {
    return this.parts[this.part] ?? Buffer.alloc(0);
  }

  private enterNext(): void {
    while (this.at >= this.here.length && this.part < this.parts.length - 1) {
      this.part++;
      this.at = 0;
    }
  }
}
