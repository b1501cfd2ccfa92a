import { StringDecoder } from 'node:string_decoder';

/** Splits a stream of bytes into lines. A line beyond the limit ends the reading, however it arrives. */
export class LineReader {
  private readonly decoder = new StringDecoder('utf8');
  private parts: string[] = [];
  private length = 0;

  constructor(
    private readonly maxLength: number,
    private readonly onLine: (line: string) => void,
    private readonly onTooLong: () => void,
  ) {}

  read(bytes: Buffer): void {
    if (this.length > this.maxLength) return;
    const [first, ...others] = this.decoder.write(bytes).split('\n');
    this.add(first!);
    for (const line of others) {
      const whole = this.parts.join('');
      this.parts = [];
      this.length = 0;
      this.onLine(whole);
      this.add(line);
    }
  }

  private add(part: string): void {
    this.parts.push(part);
    this.length += part.length;
    if (this.length <= this.maxLength) return;
    this.parts = [];
    this.onTooLong();
  }
}
