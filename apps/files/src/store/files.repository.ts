import { Injectable } from '@nestjs/common';
import type { IndexingConfiguration } from '@parley/contracts/indexing-options';
import type { AccessPolicy, ListFiles, UpdateFile } from '@parley/contracts/files';
import { columnsOf } from '@parley/persistence/columns';
import { Database, type Sql } from '@parley/persistence/database';
import type { Condition } from '@parley/persistence/due-rows';
import { newId } from '@parley/persistence/ids';
import { lockNext } from '@parley/persistence/lock-next';
import { addReadyWork } from '@parley/work-queue/work-statements';
import { mergedJson } from '@parley/persistence/tags';
import { type KeyColumn, Keyset, pageSize } from '@parley/persistence/keyset';
import type { TagQuery } from '@parley/contracts/query-fields';
import { cleanupQueue } from './cleanup-queue';
import { FileEntity, type FileRef, type FileWithJob, type Reader } from './file.entity';
import { eachOf, fewReadable, fewTagged } from './few-files';
import { type FileScope, notExpired, owned, readable } from './file-scope';

const isLapsed = `status = 'upload_pending' AND upload_expires_at < now()`;
const isExpired = 'expires_at <= now()';

/**
 * Whether an upload can be abandoned, a job superseded or a file overdue. Sorted instead of EXISTS, so that Postgres never
 * reads all files. Indexes file_lapsed, file_expired.
 */
export const hasSweepable: Condition = {
  condition: `EXISTS (SELECT FROM upload) OR EXISTS (SELECT FROM indexing_job)
    OR (SELECT true FROM file WHERE ${isLapsed} ORDER BY upload_expires_at LIMIT 1) IS NOT NULL
    OR (SELECT true FROM file WHERE ${isExpired} ORDER BY expires_at LIMIT 1) IS NOT NULL`,
};

/** Highest usage in bytes, this declaration included, at which it is accepted; null for no limit. */
export interface Room {
  fileBytes: number | null;
  vectorBytes: number | null;
}

export interface FileDeclaration {
  /** Id of a new row, when no file has the key yet. */
  id: string;
  workspaceId: string;
  key: string;
  size: number;
  contentType: string;
  tags: Record<string, string>;
  metadata: Record<string, unknown>;
  accessPolicies: AccessPolicy[];
  index: boolean;
  indexing: IndexingConfiguration;
  immediatelyPublic: boolean;
  expiresAt: Date | null;
  uploadExpiresAt: Date;
  replaces: boolean;
}

type FileChange = Omit<UpdateFile, 'id' | 'expiresAt'> & { expiresAt?: Date | null };

const columns = columnsOf(FileEntity, 'file');
const withJob = `${columns}, CASE WHEN file.status = 'indexing_pending' THEN (
  SELECT to_jsonb(job) FROM (SELECT stage, part, attempts, last_error, seconds_left FROM indexing_job
    WHERE file_id = file.id AND content_version = file.content_version) job) END AS job`;

/** Files that an upsert has replaced: their old contents are cleaned up. */
const replacedFiles = `SELECT '${cleanupQueue.name}' AS queue, id AS key, bot_id AS tenant,
  jsonb_build_object('botId', bot_id, 'fileId', id) AS payload FROM declared WHERE id <> $5`;

@Injectable()
export class FilesRepository {
  constructor(private readonly database: Database) {}

  /**
   * Declares the file of a key, without content, in one statement that also queues the former content for cleanup.
   * Undefined, and nothing done, when the bot was deleted, the quotas have too little room or are locked, or the key is
   * taken: by a file of another owner, or by any file unless `replaces` is set. Index file_key.
   */
  async insertOrReplaceDeclared(
    sql: Sql,
    scope: FileScope,
    file: FileDeclaration,
    room: Room,
  ): Promise<FileEntity | undefined> {
    const values: unknown[] = [
      scope.botId,
      scope.namespace,
      scope.owner,
      scope.ownerId,
      file.id,
      file.key,
      file.size,
      file.contentType,
      JSON.stringify(file.tags),
      JSON.stringify(file.metadata),
      file.accessPolicies,
      file.index,
      JSON.stringify(file.indexing),
      file.immediatelyPublic,
      file.expiresAt,
      newId('upload'),
      file.uploadExpiresAt,
      file.workspaceId,
      room.fileBytes,
      room.vectorBytes,
      file.replaces,
    ];
    const [row] = await sql.query<FileEntity>(
      `WITH declared AS (
         INSERT INTO file (id, bot_id, namespace, owner_type, owner_id, key, declared_size, content_type, tags, metadata,
           access_policies, index, indexing, immediately_public, expires_at, upload_id, upload_expires_at, status)
         SELECT $5, $1, $2, $3, $4, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, 'upload_pending'
         FROM use_unless_held($18) AS used
         WHERE NOT EXISTS (SELECT FROM deleted_bot WHERE bot_id = $1)
           AND ($19::numeric IS NULL OR used.file_bytes + $7::bigint <= $19)
           AND ($20::numeric IS NULL OR NOT $12 OR used.vector_bytes + $7::bigint <= $20)
         ON CONFLICT (bot_id, md5(key), namespace) DO UPDATE SET
           created_at = CASE WHEN file.expires_at <= now() THEN now() ELSE file.created_at END,
           owner_type = CASE WHEN file.expires_at <= now() THEN excluded.owner_type ELSE file.owner_type END,
           owner_id = CASE WHEN file.expires_at <= now() THEN excluded.owner_id ELSE file.owner_id END,
           declared_size = excluded.declared_size, content_type = excluded.content_type, tags = excluded.tags,
           metadata = excluded.metadata, access_policies = excluded.access_policies, index = excluded.index,
           indexing = excluded.indexing, immediately_public = excluded.immediately_public,
           expires_at = excluded.expires_at, upload_id = excluded.upload_id,
           upload_expires_at = excluded.upload_expires_at, status = 'upload_pending', size = NULL,
           failed_status_reason = NULL, blob_version = NULL, content_version = NULL, active_version = NULL,
           are_passages_set = false, is_active_current = false, reader_format = NULL, reader_version = NULL,
           updated_at = now()
         WHERE (${owned(scope, values)} AND $21) OR file.expires_at <= now()
         RETURNING ${columns}),
       home AS (
         INSERT INTO bot_home (bot_id, workspace_id)
         SELECT $1, $18 FROM declared WHERE NOT EXISTS (SELECT FROM bot_home WHERE bot_id = $1)
         ON CONFLICT DO NOTHING),
       noted AS (
         ${addReadyWork(replacedFiles)})
       SELECT * FROM declared`,
      values,
      `declare_file_of_${scope.owner}`,
    );
    return row;
  }

  /**
   * By id or key. Undefined for files that the scope may not read. Two statements, since a disjunction makes Postgres walk
   * all files of the bot while the table has no statistics.
   */
  async findReadable(scope: FileScope, idOrKey: string): Promise<FileWithJob | undefined> {
    const file = idOrKey.startsWith('file_') ? await this.findReadableById(scope, idOrKey) : undefined;
    return file ?? this.findReadableByKey(scope, idOrKey);
  }

  /** Primary key. */
  private async findReadableById(scope: FileScope, id: string): Promise<FileWithJob | undefined> {
    const values: unknown[] = [id];
    const [row] = await this.database.query<FileWithJob>(
      `SELECT ${withJob} FROM file WHERE id = $1 AND ${readable(scope, values)}`,
      values,
      `find_file_for_${scope.owner}`,
    );
    return row;
  }

  /**
   * The own namespace comes before the bot's files; the bot also finds a file of an integration when no other has the
   * key. Index file_key.
   */
  private async findReadableByKey(scope: FileScope, key: string): Promise<FileWithJob | undefined> {
    const values: unknown[] = [key, scope.namespace, scope.botId];
    const [row, other] = await this.database.query<FileWithJob>(
      `SELECT ${withJob} FROM file
       WHERE file.bot_id = $3 AND md5(key) = md5($1) AND key = $1 AND ${readable(scope, values)}
       ORDER BY (namespace = $2) DESC, (namespace = '') DESC LIMIT 2`,
      values,
    );
    const isMeant = row && ['', scope.namespace].includes(row.namespace);
    return isMeant || (scope.owner === 'bot' && !other) ? row : undefined;
  }

  /** File that has the key in the namespace of the scope, of any owner, expired or not. Index file_key. */
  async findByKey(sql: Sql, { botId, namespace }: FileScope, key: string): Promise<FileEntity | undefined> {
    const [row] = await sql.query<FileEntity>(
      'SELECT * FROM file WHERE bot_id = $1 AND namespace = $2 AND md5(key) = md5($3) AND key = $3',
      [botId, namespace, key],
    );
    return row;
  }

  async findUnexpired(fileId: string): Promise<FileEntity | undefined> {
    const [row] = await this.database.query<FileEntity>(`SELECT * FROM file WHERE id = $1 AND ${notExpired}`, [fileId]);
    return row;
  }

  /** Row lock until the transaction ends. Includes expired files. */
  async findFileForUpdate(tx: Sql, fileId: string): Promise<FileEntity | undefined> {
    const [row] = await tx.query<FileEntity>('SELECT * FROM file WHERE id = $1 FOR UPDATE', [fileId]);
    return row;
  }

  /**
   * Few readable or tagged files are looked up by id and sorted. Otherwise the default order walks index file_created,
   * and another order sorts all files of the bot.
   */
  async listReadable(scope: FileScope, query: ListFiles) {
    const { sortField = 'createdAt', sortDirection = 'desc', tags, ids, indexed } = query;
    const keyset = new Keyset<FileWithJob>(
      [sortColumns[sortField], { sql: 'id', type: 'text', of: (row) => row.id }],
      sortDirection,
    );
    const limit = pageSize(query);
    const boundTo = [scope, tags, ids, indexed];
    const few = ids
      ? undefined
      : ((await fewReadable(this.database, scope)) ?? (await fewTagged(this.database, scope.botId, tags)));
    const values: unknown[] = [ids ?? null, indexed ?? null];
    const all = `SELECT * FROM file WHERE ${readable(scope, values)} AND ($1::text[] IS NULL OR file.id = ANY($1))
      AND ($2::boolean IS NULL OR (file.active_version IS NOT NULL) = $2) AND ${fileTagConditions(tags, values)}`;
    const from = few ? eachOf(`$${values.push(few)}`, 'file', `${all} AND file.id = one.file_id`) : `(${all}) file`;
    const rows = await this.database.query<FileWithJob>(
      `SELECT ${withJob} FROM ${from} WHERE ${keyset.after(query.nextToken, boundTo, values)}
       ORDER BY ${keyset.orderBy} LIMIT ${limit + 1}`,
      values,
    );
    return keyset.page(rows, limit, boundTo);
  }

  /** One statement, so that no concurrent change is lost. Undefined when the scope owns no such file. */
  async updateFile(tx: Sql, scope: FileScope, fileId: string, change: FileChange): Promise<FileEntity | undefined> {
    const values: unknown[] = [
      fileId,
      JSON.stringify(change.tags ?? {}),
      JSON.stringify(change.metadata ?? {}),
      change.accessPolicies ?? null,
      change.expiresAt !== undefined,
      change.expiresAt ?? null,
    ];
    const [row] = await tx.query<FileEntity>(
      `UPDATE file SET tags = ${mergedJson('tags', '$2')}, metadata = ${mergedJson('metadata', '$3')},
         access_policies = coalesce($4, access_policies),
         expires_at = CASE WHEN $5 THEN $6 ELSE expires_at END, updated_at = now()
       WHERE id = $1 AND ${owned(scope, values)} AND ${notExpired} RETURNING *`,
      values,
    );
    return row;
  }

  async deleteFile(tx: Sql, scope: FileScope, fileId: string): Promise<boolean> {
    const values: unknown[] = [fileId];
    const rows = await tx.query(`DELETE FROM file WHERE id = $1 AND ${owned(scope, values)} RETURNING 1`, values);
    return rows.length > 0;
  }

  /**
   * Makes these bytes the newest content. Passages of the previous content stay readable until the new version is
   * active.
   */
  async acceptContent(tx: Sql, fileId: string, contentVersion: string): Promise<void> {
    await tx.query(
      `UPDATE file SET blob_version = $2, content_version = $2, size = declared_size, failed_status_reason = NULL,
         are_passages_set = false, is_active_current = false, reader_format = NULL, reader_version = NULL,
         updated_at = now(), status = CASE WHEN index THEN 'indexing_pending' ELSE 'upload_completed' END
       WHERE id = $1`,
      [fileId, contentVersion],
    );
  }

  async acceptPassages(tx: Sql, fileId: string, contentVersion: string): Promise<void> {
    await tx.query(
      `UPDATE file SET content_version = $2, status = 'indexing_pending', failed_status_reason = NULL,
         are_passages_set = true, is_active_current = false, reader_format = NULL, reader_version = NULL,
         updated_at = now()
       WHERE id = $1`,
      [fileId, contentVersion],
    );
  }

  async restartIndexing(tx: Sql, fileId: string, contentVersion: string): Promise<void> {
    await tx.query(
      `UPDATE file SET content_version = $2, status = 'indexing_pending', failed_status_reason = NULL,
         reader_version = coalesce(reader_version, 0), updated_at = now()
       WHERE id = $1`,
      [fileId, contentVersion],
    );
  }

  /** Records why an upload was rejected. The URL stays usable. */
  async recordFailedUpload(fileId: string, uploadId: string, reason: string): Promise<void> {
    await this.database.query(
      `UPDATE file SET failed_status_reason = $3, updated_at = now()
       WHERE id = $1 AND upload_id = $2 AND status = 'upload_pending'`,
      [fileId, uploadId, reason],
    );
  }

  /**
   * Activates this version, unless newer content has arrived since.
   * @param outcome.warning shown with the file, in place of the reason of a failure
   * @param outcome.reader absent for passages that were set
   */
  async finishIndexing(
    tx: Sql,
    fileId: string,
    contentVersion: string,
    { warning, reader }: { warning?: string; reader?: Reader } = {},
  ): Promise<boolean> {
    const rows = await tx.query(
      `UPDATE file SET status = 'indexing_completed', active_version = $2, is_active_current = true,
         failed_status_reason = $3, reader_format = $4, reader_version = $5, updated_at = now()
       WHERE id = $1 AND content_version = $2 AND status = 'indexing_pending' RETURNING 1`,
      [fileId, contentVersion, warning ?? null, reader?.format ?? null, reader?.version ?? null],
    );
    return rows.length > 0;
  }

  /**
   * Records that this version cannot be indexed. An active version that was made from the current content stays active,
   * and the reason says so; any other one is deactivated.
   */
  async failIndexing(
    tx: Sql,
    fileId: string,
    contentVersion: string,
    { reason, reader }: { reason: string; reader?: Reader },
  ): Promise<boolean> {
    const kept = 'CASE WHEN is_active_current THEN active_version END';
    const rows = await tx.query(
      `UPDATE file SET status = 'indexing_failed', active_version = ${kept},
         content_version = coalesce(${kept}, content_version), updated_at = now(),
         reader_format = $4, reader_version = $5,
         failed_status_reason = $3::text || CASE WHEN ${kept} IS NULL THEN '' ELSE ' The passages indexed before remain searchable.' END
       WHERE id = $1 AND content_version = $2 AND status = 'indexing_pending' RETURNING 1`,
      [fileId, contentVersion, reason.slice(0, 1000), reader?.format ?? null, reader?.version ?? null],
    );
    return rows.length > 0;
  }

  /** Bots with files for `failLapsedUploads` or `deleteExpired`. Indexes file_lapsed, file_expired. */
  async listBotsWithOverdue(limit: number): Promise<string[]> {
    const rows = await this.database.query<{ botId: string }>(
      `SELECT DISTINCT bot_id AS "botId" FROM (
         (SELECT bot_id FROM file WHERE ${isLapsed} ORDER BY upload_expires_at LIMIT $1)
         UNION ALL
         (SELECT bot_id FROM file WHERE ${isExpired} ORDER BY expires_at LIMIT $1)) overdue`,
      [limit],
    );
    return rows.map(({ botId }) => botId);
  }

  /**
   * Fails declarations whose upload URL expired without content; returns how many. One bot per statement, so that two
   * sweepers cannot deadlock on the sums of bots.
   */
  async failLapsedUploads(botId: string, limit: number): Promise<number> {
    const rows = await this.database.query(
      `UPDATE file SET status = 'upload_failed', updated_at = now(),
         failed_status_reason = coalesce(failed_status_reason || ' ', '') || 'The upload URL expired: declare the file again.'
       WHERE id IN (
         ${lockNext({
           table: 'file',
           columns: 'id',
           where: `status = 'upload_pending' AND upload_expires_at < now() AND bot_id = $1
             AND NOT EXISTS (SELECT 1 FROM upload WHERE upload.file_id = file.id)`,
           orderBy: 'upload_expires_at',
           limit: '$2',
         })})
       RETURNING 1`,
      [botId, limit],
    );
    return rows.length;
  }

  async deleteExpired(tx: Sql, botId: string, limit: number): Promise<FileRef[]> {
    return tx.query(
      `DELETE FROM file WHERE id IN (
         ${lockNext({
           table: 'file',
           columns: 'id',
           where: 'expires_at <= now() AND bot_id = $1',
           orderBy: 'expires_at',
           limit: '$2',
         })})
       RETURNING bot_id AS "botId", id AS "fileId"`,
      [botId, limit],
    );
  }
}

/**
 * SQL condition: files that fit the tag filter. Appends its parameters to `values`. coalesce makes Postgres estimate
 * that every other file fits, so that it walks the order of a page instead of sorting all.
 */
export function fileTagConditions(filter: TagQuery | undefined, values: unknown[]): string {
  const conditions = Object.entries(filter ?? {}).flatMap(([name, { in: wanted, notIn }]) => {
    const value = `file.tags ->> $${values.push(name)}`;
    return [
      ...(wanted.length > 0 ? [`coalesce(${value} = ANY($${values.push(wanted)}::text[]), false)`] : []),
      // A file without the tag passes the exclusion.
      ...(notIn.length > 0 ? [`coalesce(${value} <> ALL($${values.push(notIn)}::text[]), true)`] : []),
    ];
  });
  return conditions.length > 0 ? conditions.join(' AND ') : 'true';
}

const sortColumns: Record<NonNullable<ListFiles['sortField']>, KeyColumn<FileEntity>> = {
  createdAt: { sql: 'created_at', type: 'timestamptz', of: (row) => row.created_at },
  updatedAt: { sql: 'updated_at', type: 'timestamptz', of: (row) => row.updated_at },
  key: { sql: 'key', type: 'text', of: (row) => row.key },
  size: { sql: 'coalesce(size, -1)', type: 'int8', of: (row) => row.size ?? -1 },
  status: { sql: 'status', type: 'text', of: (row) => row.status },
};
