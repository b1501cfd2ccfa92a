import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import type { IndexingConfiguration } from '@parley/contracts/indexing-options';
import { Database, type Sql, type Transaction } from '@parley/persistence/database';
import { lexiconVersion } from '@parley/passages/lexicon';
import type { KnownModel } from '@parley/passages/passage-index';
import { In, Not, Repository } from 'typeorm';
import { IndexedContentEntity, IndexModelEntity } from './index-model.entity';
import type { ContentVersion } from './passages.repository';
import { botsWithFiles } from './storage-use.repository';

/** Searchable content that lacks its points of a model from position `start` on. */
export interface LackingContent extends ContentVersion {
  start: number;
  indexing: IndexingConfiguration;
}

/** Position in the files of a bot, oldest first. */
export interface FilePosition {
  createdAt: string;
  fileId: string;
}

/** Searchable content with words of an older lexicon in its points of a model. */
export interface ContentWithOldWords extends LackingContent, FilePosition {
  model: string;
}

export interface IncompleteModel {
  activeModel: string;
  lacking: number;
}

const contents = `file LEFT JOIN indexed_content content
  ON content.file_id = file.id AND content.model = $1 AND content.content_version = file.active_version`;
const oldWords = `FROM indexed_content content
  JOIN file ON file.id = content.file_id AND file.active_version = content.content_version
  WHERE content.model = ANY ($1) AND content.lexicon < $2`;
const isLacking = `(content.file_id IS NULL OR content.next_position IS NOT NULL)`;

export function listKnownModels(sql: Sql): Promise<KnownModel[]> {
  return sql.query('SELECT model, dimensions FROM index_model WHERE dimensions IS NOT NULL');
}

/** Embedding models of the passage index: which one is active, and which contents each lacks. */
@Injectable()
export class IndexModelsRepository {
  constructor(
    private readonly database: Database,
    @InjectRepository(IndexModelEntity) private readonly models: Repository<IndexModelEntity>,
  ) {}

  /**
   * Makes this the active model, unless it lacks searchable contents of a model that is still there. The first model
   * ever is accepted as it is. Table lock: jobs that end meanwhile wait, and then see the new active model.
   * @param retired models that Parley no longer has
   */
  async activateModel(model: string, retired: string[] = []): Promise<IncompleteModel | undefined> {
    return this.database.transaction(async (tx) => {
      await tx.query('LOCK TABLE index_model IN SHARE ROW EXCLUSIVE MODE');
      const [active] = await tx.query<{ model: string }>('SELECT model FROM index_model WHERE is_active FOR UPDATE');
      if (active?.model === model) return undefined;
      if (active) {
        const { lacking } = await this.countContents(model, tx);
        if (lacking > 0 && !retired.includes(active.model)) return { activeModel: active.model, lacking };
        await tx.manager.update(IndexModelEntity, { model: active.model }, { is_active: false });
      }
      await tx.query(
        `INSERT INTO index_model (model, is_active) VALUES ($1, true)
         ON CONFLICT (model) DO UPDATE SET is_active = true`,
        [model],
      );
      return undefined;
    });
  }

  /** Registers the model before its first point is written. False when its vectors had another length before. */
  async registerModel({ model, dimensions }: KnownModel): Promise<boolean> {
    const rows = await this.database.query(
      `INSERT INTO index_model AS known (model, dimensions) VALUES ($1, $2)
       ON CONFLICT (model) DO UPDATE SET dimensions = excluded.dimensions
         WHERE coalesce(known.dimensions, excluded.dimensions) = excluded.dimensions
       RETURNING 1`,
      [model, dimensions],
    );
    return rows.length > 0;
  }

  /** Records that the content has all of its points of these models. False when the active model is not among them. */
  async markWhole(tx: Transaction, { fileId, contentVersion }: ContentVersion, models: string[]): Promise<boolean> {
    const [active] = await tx.query<{ model: string }>('SELECT model FROM index_model WHERE is_active FOR SHARE');
    if (!active || !models.includes(active.model)) return false;
    await tx.query(
      `INSERT INTO indexed_content (file_id, model, content_version, lexicon)
       SELECT $1, model, $2, $4 FROM unnest($3::text[]) AS model
       ON CONFLICT (file_id, model) DO UPDATE
         SET content_version = excluded.content_version, next_position = NULL, lexicon = excluded.lexicon`,
      [fileId, contentVersion, models, lexiconVersion],
    );
    return true;
  }

  async countContents(model: string, sql: Sql = this.database): Promise<{ total: number; lacking: number }> {
    const [row] = await sql.query<{ total: string; lacking: string }>(
      `SELECT count(*) AS total, count(*) FILTER (WHERE ${isLacking}) AS lacking
       FROM ${contents} WHERE file.active_version IS NOT NULL`,
      [model],
    );
    return { total: Number(row!.total), lacking: Number(row!.lacking) };
  }

  /**
   * Cursor: in the order of file ids, after this one. Looks up each file by both primary keys, since a join would begin
   * at the first file of all.
   */
  listLacking(model: string, afterFileId: string, limit: number): Promise<LackingContent[]> {
    return this.database.query(
      `SELECT file.id AS "fileId", file.bot_id AS "botId", file.active_version AS "contentVersion", file.indexing,
         coalesce(content.next_position, 0) AS start
       FROM file LEFT JOIN LATERAL (
         SELECT file_id, next_position FROM indexed_content
         WHERE file_id = file.id AND model = $1 AND content_version = file.active_version OFFSET 0) content ON true
       WHERE file.active_version IS NOT NULL AND file.id > $2 AND ${isLacking} ORDER BY file.id LIMIT $3`,
      [model, afterFileId, limit],
    );
  }

  /**
   * Row lock: tags of the file while this is its active version, which it stays until the transaction ends; otherwise
   * undefined.
   */
  async lockActiveVersion(
    tx: Sql,
    { fileId, contentVersion }: ContentVersion,
  ): Promise<Record<string, string> | undefined> {
    const [row] = await tx.query<{ tags: Record<string, string> }>(
      'SELECT tags FROM file WHERE id = $1 AND active_version = $2 FOR SHARE',
      [fileId, contentVersion],
    );
    return row?.tags;
  }

  /**
   * Records the position up to which the content has its points of the model; null for all of it. Never moves back
   * behind another process.
   */
  async saveNextPosition(
    tx: Sql,
    { fileId, contentVersion }: ContentVersion,
    model: string,
    nextPosition: number | null,
  ): Promise<void> {
    await tx.query(
      `INSERT INTO indexed_content AS known (file_id, model, content_version, next_position, lexicon)
       VALUES ($1, $2, $3, $4, $5)
       ON CONFLICT (file_id, model) DO UPDATE
         SET content_version = excluded.content_version, next_position = excluded.next_position,
           lexicon = CASE WHEN known.content_version = excluded.content_version
             THEN least(known.lexicon, excluded.lexicon) ELSE excluded.lexicon END
         WHERE known.content_version <> excluded.content_version
           OR known.next_position < coalesce(excluded.next_position, 2147483647)`,
      [fileId, model, contentVersion, nextPosition, lexiconVersion],
    );
  }

  /** Counts the searchable contents whose words are from an older lexicon. Index: indexed_content_lexicon. */
  async countOldWords(models: string[]): Promise<number> {
    const [row] = await this.database.query<{ count: string }>(`SELECT count(*) ${oldWords}`, [models, lexiconVersion]);
    return Number(row!.count);
  }

  async listBotsWithOldWords(models: string[]): Promise<string[]> {
    const rows = await this.database.query<{ botId: string }>(`SELECT DISTINCT file.bot_id AS "botId" ${oldWords}`, [
      models,
      lexiconVersion,
    ]);
    return rows.map(({ botId }) => botId);
  }

  /** Contents of the bot from this file on, oldest first. Looks up each file by both keys. Index: file_created. */
  listOldWords(botId: string, models: string[], from: FilePosition, limit: number): Promise<ContentWithOldWords[]> {
    return this.database.query(
      `SELECT file.id AS "fileId", file.bot_id AS "botId", file.active_version AS "contentVersion", file.indexing,
         file.created_at::text AS "createdAt", content.model, 0 AS start
       FROM file CROSS JOIN LATERAL (
         SELECT model FROM indexed_content
         WHERE file_id = file.id AND model = ANY ($2) AND content_version = file.active_version AND lexicon < $3
         OFFSET 0) content
       WHERE file.bot_id = $1 AND (file.created_at, file.id) >= ($4::timestamptz, $5)
       ORDER BY file.created_at, file.id LIMIT $6`,
      [botId, models, lexiconVersion, from.createdAt, from.fileId, limit],
    );
  }

  async saveLexicon(tx: Transaction, { fileId, contentVersion }: ContentVersion, model: string): Promise<void> {
    await tx.manager.update(
      IndexedContentEntity,
      { file_id: fileId, model, content_version: contentVersion },
      { lexicon: lexiconVersion },
    );
  }

  async findCursor(model: string): Promise<string> {
    const known = await this.models.findOneBy({ model });
    return known?.place ?? '';
  }

  async saveCursor(model: string, fileId: string): Promise<void> {
    await this.models.update({ model }, { place: fileId });
  }

  listFormerModels(kept: string[]): Promise<Pick<IndexModelEntity, 'model' | 'dimensions'>[]> {
    return this.models.find({ where: { is_active: false, model: Not(In(kept)) }, order: { model: 'ASC' } });
  }

  /** Models that have points, except this one. */
  async listFormerKnown(model: string): Promise<KnownModel[]> {
    return (await listKnownModels(this.database)).filter((known) => known.model !== model);
  }

  async listBotsEverIndexed(after: string, limit: number): Promise<string[]> {
    const rows = await this.database.query<{ botId: string }>(
      `WITH RECURSIVE ${botsWithFiles}
       SELECT bot_id AS "botId" FROM (
         (SELECT bot_id FROM bot WHERE bot_id IS NOT NULL LIMIT $2)
         UNION (SELECT bot_id FROM bot_home WHERE bot_id > $1 ORDER BY bot_id LIMIT $2)
         UNION (SELECT bot_id FROM deleted_bot WHERE bot_id > $1 ORDER BY bot_id LIMIT $2)) found
       ORDER BY bot_id LIMIT $2`,
      [after, limit],
    );
    return rows.map(({ botId }) => botId);
  }

  /** First step of dropping models: from then on, no content counts as having their points. */
  async deleteContentsOfModels(models: string[]): Promise<void> {
    await this.database.manager.delete(IndexedContentEntity, { model: In(models) });
  }

  /** Last step of dropping models. */
  async deleteModels(models: string[]): Promise<void> {
    await this.models.delete({ is_active: false, model: In(models) });
  }
}
