import { Injectable } from '@nestjs/common';
import type { PassageSubtype, PassageType } from '@parley/contracts/passages';
import type { TagQuery } from '@parley/contracts/query-fields';
import { Database } from '@parley/persistence/database';
import type { PassageHit } from '@parley/passages/passage-index';
import { type FileScope, readable } from './file-scope';
import { fewReadable } from './few-files';
import { fileTagConditions } from './files.repository';

export interface Neighbour {
  id: string;
  position: number;
  content: string;
}

/** Hit with its file and its neighbours, which include the hit itself. */
export interface FoundRow {
  score: number;
  id: string;
  content: string;
  type: PassageType;
  subtype: PassageSubtype;
  position: number;
  page_number: number | null;
  is_recognised: boolean;
  breadcrumb: string[];
  neighbours: Neighbour[];
  file_id: string;
  key: string;
  content_type: string;
  metadata: Record<string, unknown>;
  tags: Record<string, string>;
  created_at: Date;
  updated_at: Date;
}

interface PassageFilter {
  tags?: TagQuery;
  depth: number;
  limit: number;
}

/** Loads the hits of the index, and drops hits that the caller may not see. */
@Injectable()
export class FoundPassagesRepository {
  constructor(private readonly database: Database) {}

  /**
   * Ids of searchable files that the scope may read; undefined for more than 1,000, or when it may read all of the
   * bot's. Ignores tags, by which the index filters anyway.
   */
  listFewFileIds(scope: FileScope): Promise<string[] | undefined> {
    return fewReadable(this.database, scope, 'active_version IS NOT NULL');
  }

  /** Whether a search of the scope without tags should find something. Index file_created or file_of_*, and the primary key of passage. */
  async areAnyActive(scope: FileScope): Promise<boolean> {
    const values: unknown[] = [];
    const [row] = await this.database.query<{ any: boolean }>(
      `SELECT EXISTS (SELECT FROM file WHERE ${readable(scope, values)} AND EXISTS (
         SELECT FROM passage WHERE file_id = file.id AND content_version = file.active_version)) AS any`,
      values,
    );
    return row!.any;
  }

  /**
   * First hits that the scope may read: of the active version, in unexpired files that fit the tags. One statement, so
   * that a passage and its neighbours are of one version. Indexes passage_id and the primary keys, hit by hit: a join
   * that Postgres plans without statistics reads all passages of the bot.
   */
  listVisibleHits(
    scope: FileScope,
    hits: Omit<PassageHit, 'words'>[],
    { tags, depth, limit }: PassageFilter,
  ): Promise<FoundRow[]> {
    if (hits.length === 0) return Promise.resolve([]);
    const values: unknown[] = [hits.map(({ id }) => id), hits.map(({ score }) => score), depth, limit];
    return this.database.query<FoundRow>(
      `SELECT found.*, ARRAY(
         SELECT jsonb_build_object('id', id, 'position', position, 'content', content) FROM passage
         WHERE file_id = found.file_id AND content_version = found.content_version
           AND (type = found.type OR position = found.position)
           AND position BETWEEN found.position - $3::int AND found.position + $3::int
         ORDER BY position) AS neighbours
       FROM (
         SELECT hit.score, hit.rank, passage.id, passage.content, passage.type, passage.subtype, passage.position,
           passage.page_number, passage.is_recognised, passage.breadcrumb, passage.content_version,
           file.id AS file_id, key, content_type, metadata, tags, created_at, updated_at
         FROM unnest($1::uuid[], $2::float8[]) WITH ORDINALITY AS hit (id, score, rank)
         CROSS JOIN LATERAL (SELECT * FROM passage WHERE passage.id = hit.id OFFSET 0) passage
         CROSS JOIN LATERAL (
           SELECT * FROM file WHERE file.id = passage.file_id AND file.active_version = passage.content_version
             AND ${readable(scope, values)} AND ${fileTagConditions(tags, values)} OFFSET 0) file
         ORDER BY hit.rank LIMIT $4) found
       ORDER BY found.rank`,
      values,
    );
  }
}
