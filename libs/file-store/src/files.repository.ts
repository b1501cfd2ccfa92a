import { Injectable } from '@nestjs/common';
import type { IndexingConfiguration } from '@parley/contracts/indexing-options';
import type { AccessPolicy, ListFiles, UpdateFile } from '@parley/contracts/files';
import { Database, type Sql } from '@parley/database/database';
import { newId } from '@parley/database/ids';
import { type KeyColumn, Keyset, pageSize } from '@parley/database/keyset';
import { tagConditions } from '@parley/database/tags';
import type { FileRef, FileRow } from './file.entity';

interface FileDeclaration {
  botId: string;
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
}

type FileChange = Omit<UpdateFile, 'id' | 'expiresAt'> & { expiresAt?: Date | null };

const visible = '(expires_at IS NULL OR expires_at > now())';

@Injectable()
export class FilesRepository {
  constructor(private readonly database: Database) {}

  /**
   * The file of this key as declared anew, without content; undefined when the bot was deleted. One statement, which
   * also notes what the file held before for removal. Index file_key.
   */
  async declare(file: FileDeclaration): Promise<FileRow | undefined> {
    const [row] = await this.database.query<FileRow>(
      `WITH declared AS (
         INSERT INTO file (id, bot_id, key, declared_size, content_type, tags, metadata, access_policies, index, indexing,
           immediately_public, expires_at, upload_id, upload_expires_at, status)
         SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, 'upload_pending'
         WHERE NOT EXISTS (SELECT 1 FROM deleted_bot WHERE bot_id = $2)
         ON CONFLICT (bot_id, key) DO UPDATE SET
           declared_size = excluded.declared_size, content_type = excluded.content_type, tags = excluded.tags,
           metadata = excluded.metadata, access_policies = excluded.access_policies, index = excluded.index,
           indexing = excluded.indexing, immediately_public = excluded.immediately_public,
           expires_at = excluded.expires_at, upload_id = excluded.upload_id,
           upload_expires_at = excluded.upload_expires_at, status = 'upload_pending', size = NULL,
           failed_status_reason = NULL, content_version = NULL, active_version = NULL, updated_at = now()
         RETURNING *),
       noted AS (
         INSERT INTO untidy_file (bot_id, file_id) SELECT bot_id, id FROM declared WHERE id <> $1
         ON CONFLICT (file_id) DO UPDATE SET due_at = least(untidy_file.due_at, now()))
       SELECT * FROM declared`,
      [
        newId('file'),
        file.botId,
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
      ],
    );
    return row;
  }

  /** By id or key, unless it has expired. */
  async find(botId: string, idOrKey: string): Promise<FileRow | undefined> {
    const [row] = await this.database.query<FileRow>(
      `SELECT * FROM file WHERE bot_id = $1 AND (id = $2 OR key = $2) AND ${visible} ORDER BY (id = $2) DESC LIMIT 1`,
      [botId, idOrKey],
    );
    return row;
  }

  /** By id alone, for whoever brings a signed URL; unless it has expired. */
  async findVisible(fileId: string): Promise<FileRow | undefined> {
    const [row] = await this.database.query<FileRow>(`SELECT * FROM file WHERE id = $1 AND ${visible}`, [fileId]);
    return row;
  }

  /** Locked until the transaction ends, expired or not. */
  async findForUpdate(tx: Sql, fileId: string): Promise<FileRow | undefined> {
    const [row] = await tx.query<FileRow>('SELECT * FROM file WHERE id = $1 FOR UPDATE', [fileId]);
    return row;
  }

  /** Index file_created for the default order; a tag, an id or another order sorts the bot's files. */
  async list(botId: string, query: ListFiles) {
    const { sortField = 'createdAt', sortDirection = 'desc', tags, ids, indexed } = query;
    const keyset = new Keyset<FileRow>(
      [sortColumns[sortField], { sql: 'id', type: 'text', of: (row) => row.id }],
      sortDirection,
    );
    const limit = pageSize(query);
    const boundTo = [botId, tags, ids, indexed];
    const values: unknown[] = [botId, ids ?? null, indexed ?? null];
    const rows = await this.database.query<FileRow>(
      `SELECT * FROM file
       WHERE bot_id = $1 AND ($2::text[] IS NULL OR id = ANY($2))
         AND ($3::boolean IS NULL OR (active_version IS NOT NULL) = $3)
         AND ${visible} AND ${tagConditions('tags', tags, values)} AND ${keyset.after(query.nextToken, boundTo, values)}
       ORDER BY ${keyset.orderBy} LIMIT ${limit + 1}`,
      values,
    );
    return keyset.page(rows, limit, boundTo);
  }

  /** One statement, so that of two changes at once neither is lost. Undefined when the file is gone or has expired. */
  async update(tx: Sql, botId: string, fileId: string, change: FileChange): Promise<FileRow | undefined> {
    const [row] = await tx.query<FileRow>(
      `UPDATE file SET tags = ${merged('tags', '$3')}, metadata = ${merged('metadata', '$4')},
         access_policies = coalesce($5, access_policies),
         expires_at = CASE WHEN $6 THEN $7 ELSE expires_at END, updated_at = now()
       WHERE bot_id = $1 AND id = $2 AND ${visible} RETURNING *`,
      [
        botId,
        fileId,
        JSON.stringify(change.tags ?? {}),
        JSON.stringify(change.metadata ?? {}),
        change.accessPolicies ?? null,
        change.expiresAt !== undefined,
        change.expiresAt ?? null,
      ],
    );
    return row;
  }

  async delete(tx: Sql, botId: string, fileId: string): Promise<boolean> {
    const rows = await tx.query('DELETE FROM file WHERE bot_id = $1 AND id = $2 RETURNING 1', [botId, fileId]);
    return rows.length > 0;
  }

  /** Makes this the newest content. Passages of the one before stay readable until the index is switched. */
  async accept(tx: Sql, fileId: string, contentVersion: string): Promise<void> {
    await tx.query(
      `UPDATE file SET content_version = $2, size = declared_size, failed_status_reason = NULL, updated_at = now(),
         status = CASE WHEN index THEN 'indexing_pending' ELSE 'upload_completed' END
       WHERE id = $1`,
      [fileId, contentVersion],
    );
  }

  /** Says why an upload was not accepted; the URL stays usable. */
  async noteFailedUpload(fileId: string, uploadId: string, reason: string): Promise<void> {
    await this.database.query(
      `UPDATE file SET failed_status_reason = $3, updated_at = now()
       WHERE id = $1 AND upload_id = $2 AND status = 'upload_pending'`,
      [fileId, uploadId, reason],
    );
  }

  /** Ends the job of this version, unless another content has come since. */
  async finishIndexing(tx: Sql, fileId: string, contentVersion: string): Promise<boolean> {
    const rows = await tx.query(
      `UPDATE file SET status = 'indexing_completed', active_version = $2, failed_status_reason = NULL, updated_at = now()
       WHERE id = $1 AND content_version = $2 AND status = 'indexing_pending' RETURNING 1`,
      [fileId, contentVersion],
    );
    return rows.length > 0;
  }

  /** The same for a content that cannot be indexed: what was readable before is no longer what the file holds. */
  async failIndexing(tx: Sql, fileId: string, contentVersion: string, reason: string): Promise<boolean> {
    const rows = await tx.query(
      `UPDATE file SET status = 'indexing_failed', active_version = NULL, failed_status_reason = $3, updated_at = now()
       WHERE id = $1 AND content_version = $2 AND status = 'indexing_pending' RETURNING 1`,
      [fileId, contentVersion, reason.slice(0, 1000)],
    );
    return rows.length > 0;
  }

  /** Declarations whose URL lapsed without content. Index file_lapsed. */
  async failLapsedUploads(): Promise<void> {
    await this.database.query(
      `UPDATE file SET status = 'upload_failed', updated_at = now(),
         failed_status_reason = coalesce(failed_status_reason || ' ', '') || 'The upload URL lapsed: declare the file again.'
       WHERE status = 'upload_pending' AND upload_expires_at < now()
         AND NOT EXISTS (SELECT 1 FROM upload WHERE upload.file_id = file.id)`,
    );
  }

  /** Deletes files past their expiry and says which they were. Index file_expired. */
  async deleteExpired(tx: Sql, limit: number): Promise<FileRef[]> {
    return tx.query(
      `DELETE FROM file WHERE id IN (SELECT id FROM file WHERE expires_at <= now() LIMIT $1 FOR UPDATE SKIP LOCKED)
       RETURNING bot_id AS "botId", id AS "fileId"`,
      [limit],
    );
  }
}

/** SQL of a `jsonb` object with the entries of another, without those that are `null` there. */
function merged(column: string, change: string): string {
  return `(${column} || ${change}::jsonb) - ARRAY(SELECT key FROM jsonb_each(${change}::jsonb) WHERE value = 'null')`;
}

const sortColumns: Record<NonNullable<ListFiles['sortField']>, KeyColumn<FileRow>> = {
  createdAt: { sql: 'created_at', type: 'timestamptz', of: (row) => row.created_at },
  updatedAt: { sql: 'updated_at', type: 'timestamptz', of: (row) => row.updated_at },
  key: { sql: 'key', type: 'text', of: (row) => row.key },
  size: { sql: 'coalesce(size, -1)', type: 'int8', of: (row) => row.size ?? -1 },
  status: { sql: 'status', type: 'text', of: (row) => row.status },
};
