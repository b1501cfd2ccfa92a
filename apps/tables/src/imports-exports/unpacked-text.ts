import { pipeline, Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { decodedText } from './decoded-text';
import { peekStart } from './peek-start';
import { UnreadableFile } from './read-row';

export interface UnpackingLimits {
  maxBytes: number;
  /** Zip bomb limit: unpacked bytes per packed byte, checked after `unsuspiciousBytes`. */
  maxRatio: number;
  unsuspiciousBytes: number;
}

export const unpackingLimits: UnpackingLimits = {
  maxBytes: 5_000_000_000,
  maxRatio: 300,
  unsuspiciousBytes: 50_000_000,
};

/**
 * Text of a file, gzipped or not, without a byte order mark. Throws UnreadableFile for content that is no text.
 * @param charset declared by the content type
 */
export function unpackedText(
  bytes: AsyncIterable<Uint8Array>,
  limits: UnpackingLimits = unpackingLimits,
  charset?: string,
): AsyncIterable<string> {
  return decodedText(unpacked(bytes, limits), charset);
}

/** Recognizes gzip by its first two bytes, not by file name or content type. */
async function* unpacked(bytes: AsyncIterable<Uint8Array>, limits: UnpackingLimits): AsyncIterable<Uint8Array> {
  const { start, all } = await peekStart(bytes, {
    nothing: new Uint8Array(),
    join: (known, next) => Buffer.concat([known, next]),
    isEnough: ({ length }) => length >= 2,
  });
  if (start[0] !== 0x1f || start[1] !== 0x8b) {
    yield* all;
    return;
  }

  const gunzip = createGunzip();
  // `gunzip` reports a failure of the source to its reader.
  pipeline(Readable.from(all), gunzip, () => undefined);
  let unpackedBytes = 0;
  try {
    for await (const chunk of gunzip as AsyncIterable<Buffer>) {
      unpackedBytes += chunk.length;
      refuseBomb(unpackedBytes, gunzip.bytesWritten, limits);
      yield chunk;
    }
  } catch (error) {
    if (!String((error as NodeJS.ErrnoException).code).startsWith('Z_')) throw error;
    throw new UnreadableFile('The gzipped file is damaged or cut off: upload it again.', { cause: error });
  }
}

function refuseBomb(unpackedBytes: number, packedBytes: number, limits: UnpackingLimits): void {
  if (unpackedBytes > limits.maxBytes) {
    throw new UnreadableFile(`The unpacked file has more than ${limits.maxBytes} bytes: split it.`);
  }
  if (unpackedBytes > limits.unsuspiciousBytes && unpackedBytes > packedBytes * limits.maxRatio) {
    throw new UnreadableFile(`The file unpacks to more than ${limits.maxRatio} times its size: send it unpacked.`);
  }
}
