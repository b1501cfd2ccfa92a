import { createReadStream } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';

export const dimensions = 512;
const [parts, rowsOfPart] = [17, 7_530];
const headerBytes = 2 * parts * Float32Array.BYTES_PER_ELEMENT;
const tableBytes = headerBytes + parts * rowsOfPart * dimensions;

/** Reads the vectors of all tokens into memory that threads share: 66 MB. libs/passages/model/make.py has the layout. */
export async function readTokenTable(): Promise<SharedArrayBuffer> {
  const bytes = new Uint8Array(new SharedArrayBuffer(tableBytes));
  let length = 0;
  const file = createReadStream(join(__dirname, '../model/table.gz'));
  await pipeline(file, createGunzip(), async (chunks: AsyncIterable<Buffer>) => {
    for await (const chunk of chunks) {
      bytes.set(chunk, length);
      length += chunk.length;
    }
  });
  if (length !== tableBytes) throw new Error(`The file table.gz has ${length} bytes; it must have ${tableBytes}.`);
  return bytes.buffer;
}

/** Vectors of tokens, quantised to 6 bits with one scale and offset for each part. */
export class TokenTable {
  private readonly scales: Float32Array;
  private readonly offsets: Float32Array;
  private readonly rows: Uint8Array;

  constructor(table: SharedArrayBuffer) {
    this.scales = new Float32Array(table, 0, parts);
    this.offsets = new Float32Array(table, headerBytes / 2, parts);
    this.rows = new Uint8Array(table, headerBytes);
  }

  copyVector(id: number, target: Float32Array, position: number): void {
    const part = id % parts;
    const row = (part * rowsOfPart + Math.floor(id / parts)) * dimensions;
    const [scale, offset] = [this.scales[part]!, this.offsets[part]!];
    for (let i = 0; i < dimensions; i++) target[position + i] = this.rows[row + i]! * scale + offset;
  }
}
