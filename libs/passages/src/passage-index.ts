import type { Sql } from '@parley/persistence/database';
import type { TagQuery } from '@parley/contracts/query-fields';

/** Sparse vector of a text: `indices` are stable hashes of the terms, ascending and unique, `values` their weights. */
export interface SparseTerms {
  indices: number[];
  values: number[];
}

/** Passage in the index. The text itself is stored in Postgres. */
export interface PassagePoint {
  id: string;
  fileId: string;
  contentVersion: string;
  vector: Float32Array;
  terms: SparseTerms;
  tags: Record<string, string>;
}

/** Terms for a point that exists. */
export type PassageTerms = Pick<PassagePoint, 'id' | 'contentVersion' | 'terms'>;

export interface PassageQuery {
  vector: Float32Array;
  terms: SparseTerms;
  /** Tag filter; all entries must match. */
  tags?: TagQuery;
  /** Restricts the search to these files; an empty list matches nothing. */
  fileIds?: string[];
  limit: number;
  /** Aborts a search that reads from the database; the search throws the signal's reason. */
  signal?: AbortSignal;
}

export type WordQuery = Omit<PassageQuery, 'vector'>;

export interface PassageHit {
  id: string;
  fileId: string;
  contentVersion: string;
  /** Relevance, see `fuse`: at least the cosine similarity, and 1 at most. */
  score: number;
  /** Relevance by words alone, from 0 to 1. */
  words: number;
}

export interface KnownModel {
  model: string;
  dimensions: number;
}

/**
 * Passage index: derived data, partitioned by bot and model, that can be dropped and rebuilt from Postgres. Points are
 * written to and searched in the current model; retag, removal and count cover all known models. Each method takes the
 * bot and never affects points of another bot.
 */
export interface PassageIndex {
  /** Creates the storage of the index (collection, payload indexes). Throws when the index does not answer. */
  ready(): Promise<void>;
  /** Upserts points by id. A search sees them as soon as the call returns. `within`: see `removeFile`. */
  write(botId: string, points: PassagePoint[], within?: Sql): Promise<void>;
  /**
   * Replaces the terms of points of the current model, whose vectors stay. Ignores those that are gone or have another
   * content version. `within`: see `removeFile`.
   */
  replaceTerms(botId: string, points: PassageTerms[], within?: Sql): Promise<void>;
  /** Replaces the tags of all points of the file, if any. `within`: see `removeFile`. */
  retag(botId: string, fileId: string, tags: Record<string, string>, within?: Sql): Promise<void>;
  /**
   * Removes the file's points except those of `exceptVersion` (null: all of them), if any. An index in the caller's
   * database runs in the transaction `within`, which saves a second connection.
   */
  removeFile(botId: string, fileId: string, exceptVersion: string | null, within?: Sql): Promise<void>;
  removeFiles(botId: string, fileIds: string[]): Promise<void>;
  /** Hybrid search, best hits first: dense and sparse candidates, ordered by relevance. */
  search(botId: string, query: PassageQuery): Promise<PassageHit[]>;
  /** Search by words alone over points of another model, whose vectors cannot be compared: hits have a cosine of 0. */
  searchWords(botId: string, model: KnownModel, query: WordQuery): Promise<PassageHit[]>;
  dropTenant(botId: string): Promise<void>;
  dropModel(botId: string, model: KnownModel): Promise<void>;
  /** Number of the bot's points of all models, used to verify an erasure. */
  count(botId: string): Promise<number>;
  /** Ends what runs beside requests. */
  close?(): Promise<void>;
}
