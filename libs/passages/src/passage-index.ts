import type { Sql } from '@parley/database/database';
import type { TagQuery } from '@parley/contracts/query-fields';

/** Weighted terms of a text: `indices` are stable hashes of the terms, ascending and unique. */
export interface SparseTerms {
  indices: number[];
  values: number[];
}

/** One passage as the index keeps it. The text itself stays in Postgres. */
export interface PassagePoint {
  /** UUID of the passage. */
  id: string;
  fileId: string;
  contentVersion: string;
  vector: Float32Array;
  terms: SparseTerms;
  /** The file's tags, for filters. */
  tags: Record<string, string>;
}

export interface PassageQuery {
  vector: Float32Array;
  /** Without them the search is for what means the same alone. */
  terms?: SparseTerms;
  /** Every entry must hold. */
  tags?: TagQuery;
  /** Points of these files alone: nothing when there are none. */
  fileIds?: string[];
  limit: number;
  /** Ends a search that reads much from the database; it throws the signal's reason. */
  signal?: AbortSignal;
}

export interface PassageHit {
  id: string;
  fileId: string;
  contentVersion: string;
  /**
   * Reciprocal-rank fusion of the dense and the sparse rank, k = 60; of a search without terms the cosine similarity.
   * Higher is better.
   */
  score: number;
}

/** An embedding model that an index has points of. */
export interface KnownModel {
  model: string;
  dimensions: number;
}

/**
 * Derived index over passages, apart for each bot and each model: points are written of one model, searched of that one,
 * and retagged, removed and counted of all that are known. May be dropped and rebuilt: Postgres holds the truth.
 * Every verb takes the bot, and no verb ever touches another bot's points.
 */
export interface PassageIndex {
  /** Creates what the index needs (collection, payload indexes) and fails when it does not answer. */
  ready(): Promise<void>;
  /** Stores or replaces points by id. When it returns, a search sees them. `within` as for `removeFile`. */
  write(botId: string, points: PassagePoint[], within?: Sql): Promise<void>;
  /** Replaces the tags of all points of the file. Replacing none is fine. `within` as for `removeFile`. */
  retag(botId: string, fileId: string, tags: Record<string, string>, within?: Sql): Promise<void>;
  /**
   * Removes the file's points but those of `exceptVersion`; all of them when it is null. Removing nothing is fine. An
   * index in the caller's own database does it in their transaction, and so needs no second connection.
   */
  removeFile(botId: string, fileId: string, exceptVersion: string | null, within?: Sql): Promise<void>;
  /** Removes all points of these files. */
  removeFiles(botId: string, fileIds: string[]): Promise<void>;
  /** Best first: dense and sparse candidates fused by reciprocal rank, or dense ones alone when there are no terms. */
  search(botId: string, query: PassageQuery): Promise<PassageHit[]>;
  /** Removes every point of the bot. */
  dropTenant(botId: string): Promise<void>;
  /** Removes the points of the bot that another model made. */
  dropModel(botId: string, model: KnownModel): Promise<void>;
  /** Points that the bot has, to prove that an erasure left nothing. */
  count(botId: string): Promise<number>;
}
