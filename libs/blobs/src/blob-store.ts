import type { Readable } from 'node:stream';

/** Bytes `start` to `end`, both included. */
export interface ByteRange {
  start: number;
  end: number;
}

/** Stores content by key. Keys are `/`-separated ids, so that all content of a bot or a file shares a prefix. */
export interface BlobStore {
  /**
   * Streams to the store. Durable and complete once this resolves; a source that fails leaves nothing. Throws
   * WritesRefused when the store is full or read-only.
   */
  write(key: string, source: AsyncIterable<Uint8Array>): Promise<void>;
  /** Returns the bytes of the range that exist. Throws BlobMissing. */
  read(key: string, range?: ByteRange): Promise<Readable>;
  /**
   * Copies completely and durably, or not at all, without holding the bytes in the memory of this process. Throws
   * BlobMissing and WritesRefused.
   */
  copy(fromKey: string, toKey: string): Promise<void>;
  /** Idempotent: a missing blob is no error. */
  delete(key: string): Promise<void>;
  /** Names directly below the prefix. */
  list(prefix: string): Promise<string[]>;
  deletePrefix(prefix: string): Promise<void>;
  /** Removes leftovers of killed writers that are so old that no writer can still be active. */
  removeAbandoned(): Promise<void>;
  /** Blobs at any depth below the prefix. */
  count(prefix: string): Promise<number>;
  /** Throws with advice when the store cannot be read. */
  ready(): Promise<void>;
  /** Throws with advice when this process lacks a folder that writing needs. Readers work without it. */
  readyToWrite(): Promise<void>;
  close(): void;
}

export class BlobMissing extends Error {
  override readonly name = 'BlobMissing';
}

const safeKey = /^[\w-]+(\/[\w-]+)*$/;

export function checkKey(key: string): void {
  if (!safeKey.test(key))
    throw new Error(`Invalid blob key "${key}": it must be ids of letters, digits, - and _ with / between them.`);
}
