import type { Readable } from 'node:stream';

/** Bytes `start` to `end`, both included. */
export interface ByteRange {
  start: number;
  end: number;
}

/** Keeps content by key. Keys are `/`-separated ids, so that everything of a bot or a file shares a prefix. */
export interface BlobStore {
  /**
   * Streams to the store. The blob is there, durably and whole, once this resolves; a source that fails leaves nothing.
   * Throws WritesRefused when the store has no room or is read-only.
   */
  write(key: string, source: AsyncIterable<Uint8Array>): Promise<void>;
  /** What there is of the range. Throws BlobMissing. */
  read(key: string, range?: ByteRange): Promise<Readable>;
  /** Copies whole and durably, or not at all, without the bytes passing through memory of ours. Throws BlobMissing and WritesRefused. */
  copy(fromKey: string, toKey: string): Promise<void>;
  /** Removing what is not there is fine. */
  delete(key: string): Promise<void>;
  /** Names directly below the prefix. */
  list(prefix: string): Promise<string[]>;
  deletePrefix(prefix: string): Promise<void>;
  /** Removes what writers that were killed have left, long enough ago that nobody can still be writing it. */
  removeAbandoned(): Promise<void>;
  /** Blobs at any depth below the prefix. */
  count(prefix: string): Promise<number>;
  /** Throws, saying what to do, unless the store can be used. */
  ready(): Promise<void>;
  close(): void;
}

export class BlobMissing extends Error {
  override readonly name = 'BlobMissing';
}

const safeKey = /^[\w-]+(\/[\w-]+)*$/;

/** Throws unless it is `/`-separated ids, for a key and for a prefix. */
export function checkKey(key: string): void {
  if (!safeKey.test(key)) throw new Error(`"${key}" is no key of a blob.`);
}
