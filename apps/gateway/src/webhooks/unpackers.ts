import type { Transform } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate, createInflateRaw } from 'node:zlib';

type OpenUnpacker = (bytes: Buffer) => Transform;

const options = { chunkSize: 65_536 };

const gunzip: OpenUnpacker = () => createGunzip(options);

/** By content-encoding. */
export const unpackers: ReadonlyMap<string, OpenUnpacker> = new Map([
  ['gzip', gunzip],
  ['x-gzip', gunzip],
  ['deflate', (bytes) => (hasZlibHeader(bytes) ? createInflate(options) : createInflateRaw(options))],
  ['br', () => createBrotliDecompress(options)],
]);

/** Some senders leave the header of `deflate` out. */
function hasZlibHeader(bytes: Buffer): boolean {
  return (bytes[0]! & 0x0f) === 8;
}
