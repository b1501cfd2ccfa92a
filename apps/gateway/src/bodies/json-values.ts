const [quote, backslash, comma, colon] = [0x22, 0x5c, 0x2c, 0x3a];
const [openArray, closeArray, openObject, closeObject] = [0x5b, 0x5d, 0x7b, 0x7d];
const space = 0x20;

/**
 * Number of values in a JSON text (UTF-8), counting lists, objects and their entries at all levels; any number above
 * `max` when there are more. Counts punctuation only, so the result for invalid JSON is an upper bound.
 */
export function countValues(bytes: Uint8Array, max: number): number {
  const { length } = bytes;
  let count = 1;
  let isEmptySoFar = false;
  for (let i = 0; i < length && count <= max; i += 1) {
    const byte = bytes[i]!;
    if (byte <= space) continue;
    if (byte === openArray || byte === openObject) {
      count += 1;
      isEmptySoFar = true;
      continue;
    }
    if (byte === comma) count += 1;
    else if (byte === quote) i = endOfString(bytes, i);
    else if (isEmptySoFar && (byte === closeArray || byte === closeObject)) count -= 1;
    isEmptySoFar = false;
  }
  return count;
}

/**
 * Number of lists, objects and names of fields in a JSON text (UTF-8); any number above `max` when there are more. Parsed, each
 * takes some 100 bytes, ten times as much as a number.
 */
export function countStructures(bytes: Uint8Array, max: number): number {
  let count = 0;
  for (let i = 0; i < bytes.length && count <= max; i += 1) {
    const byte = bytes[i]!;
    if (byte === quote) i = endOfString(bytes, i);
    else if (byte === openArray || byte === openObject || byte === colon) count += 1;
  }
  return count;
}

function endOfString(bytes: Uint8Array, start: number): number {
  let i = start + 1;
  while (i < bytes.length && bytes[i] !== quote) i += bytes[i] === backslash ? 2 : 1;
  return i;
}
