import { ApiError } from '@parley/contracts/errors';

const [quote, backslash, comma, colon] = [0x22, 0x5c, 0x2c, 0x3a];
const [openArray, closeArray, openObject, closeObject] = [0x5b, 0x5d, 0x7b, 0x7d];
const space = 0x20;

/**
 * Counter of the values in a JSON text (UTF-8) that arrives in chunks. It counts punctuation only, so the result for invalid
 * JSON is an upper bound. It stops at the first value above the maximum.
 */
export class ValueCounter {
  /** Lists, objects and their entries at all levels. */
  values = 1;
  /** Lists, objects and fields of objects: these take the most memory. */
  structures = 0;
  private isEmptySoFar = false;
  private isInString = false;
  private isEscaped = false;

  constructor(private readonly max = Infinity) {}

  add(bytes: Uint8Array): this {
    const { length } = bytes;
    const { max } = this;
    let { values, structures, isEmptySoFar } = this;
    for (let i = this.isInString ? this.endOfString(bytes, this.isEscaped ? 1 : 0) : 0; i < length; i += 1) {
      const byte = bytes[i]!;
      if (byte <= space) continue;
      if (values > max) break;
      if (byte === openArray || byte === openObject) {
        values += 1;
        structures += 1;
        isEmptySoFar = true;
        continue;
      }
      if (byte === comma) values += 1;
      else if (byte === colon) structures += 1;
      else if (byte === quote) i = this.endOfString(bytes, i + 1) - 1;
      else if (isEmptySoFar && (byte === closeArray || byte === closeObject)) values -= 1;
      isEmptySoFar = false;
    }
    Object.assign(this, { values, structures, isEmptySoFar });
    return this;
  }

  /** Index behind the closing quote; the length when that is in a later chunk. */
  private endOfString(bytes: Uint8Array, start: number): number {
    let i = start;
    while (i < bytes.length && bytes[i] !== quote) i += bytes[i] === backslash ? 2 : 1;
    this.isInString = i >= bytes.length;
    this.isEscaped = i > bytes.length;
    return i + 1;
  }
}

/** Any number above `max` when there are more. */
export function countValues(bytes: Uint8Array, max: number): number {
  return new ValueCounter(max).add(bytes).values;
}

export function tooManyValues(count: number, max: number, what = 'JSON values'): ApiError {
  return new ApiError(
    'PayloadTooLarge',
    `The body is too large: this operation takes at most ${max} ${what}, and it has at least ${count}. Send it in several requests.`,
  );
}
