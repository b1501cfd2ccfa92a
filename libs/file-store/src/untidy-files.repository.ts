import { Injectable } from '@nestjs/common';
import { Database, type Sql } from '@parley/persistence/database';
import type { FileRef } from './file.entity';

/**
 * Cleanup queue of the sweeper: files that may have blobs, passages or points that they no longer need, or points with
 * old tags.
 */
@Injectable()
export class UntidyFilesRepository {
  constructor(private readonly database: Database) {}

  async enqueueFiles(sql: Sql, files: FileRef[]): Promise<void> {
    if (files.length === 0) return;
    await sql.query(
      `INSERT INTO untidy_file (bot_id, file_id)
       SELECT DISTINCT * FROM unnest($1::text[], $2::text[]) AS note (bot_id, file_id) ORDER BY file_id
       ON CONFLICT (file_id) DO UPDATE SET due_at = least(untidy_file.due_at, now())`,
      [files.map(({ botId }) => botId), files.map(({ fileId }) => fileId)],
    );
  }

  /** Takes due files, which are due again after a minute unless `dequeueFile` is called. Index untidy_file_due. */
  async takeDueFiles(limit: number): Promise<(FileRef & { noted: string })[]> {
    return this.database.query(
      `UPDATE untidy_file SET due_at = now() + interval '1 minute'
       WHERE file_id IN (SELECT file_id FROM untidy_file WHERE due_at <= now() ORDER BY due_at LIMIT $1 FOR UPDATE SKIP LOCKED)
       RETURNING bot_id AS "botId", file_id AS "fileId", due_at::text AS noted`,
      [limit],
    );
  }

  async requeueFiles(files: (FileRef & { noted: string })[]): Promise<void> {
    await this.database.query(
      `UPDATE untidy_file SET due_at = now() FROM unnest($1::text[], $2::timestamptz[]) AS taken (file_id, noted)
       WHERE untidy_file.file_id = taken.file_id AND untidy_file.due_at = taken.noted`,
      [files.map(({ fileId }) => fileId), files.map(({ noted }) => noted)],
    );
  }

  /** Keeps the entry when the file was queued again since it was taken. */
  async dequeueFile(sql: Sql, { fileId, noted }: FileRef & { noted: string }): Promise<void> {
    await sql.query('DELETE FROM untidy_file WHERE file_id = $1 AND due_at = $2::timestamptz', [fileId, noted]);
  }
}
