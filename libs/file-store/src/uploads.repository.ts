import { Injectable } from '@nestjs/common';
import { Database, type Sql } from '@parley/persistence/database';
import type { FileRef } from './file.entity';

/** Seconds without a heartbeat after which an upload counts as abandoned. */
const abandonedAfterSeconds = 600;

@Injectable()
export class UploadsRepository {
  constructor(private readonly database: Database) {}

  async begin(file: FileRef, contentVersion: string): Promise<void> {
    await this.database.query('INSERT INTO upload (content_version, bot_id, file_id) VALUES ($1, $2, $3)', [
      contentVersion,
      file.botId,
      file.fileId,
    ]);
  }

  /**
   * Heartbeat. False when the content can no longer be accepted: abandoned, or its file declared again or deleted. A
   * copy has no declaration yet (`uploadId` null), so only the first is checked.
   */
  async touch(contentVersion: string, uploadId: string | null): Promise<boolean> {
    const rows = await this.database.query(
      `UPDATE upload SET touched_at = now() WHERE content_version = $1
         AND ($2::text IS NULL OR EXISTS (SELECT FROM file WHERE file.id = upload.file_id AND file.upload_id = $2))
       RETURNING 1`,
      [contentVersion, uploadId],
    );
    return rows.length > 0;
  }

  /** False when the sweeper removed the upload as abandoned: its blob may be gone. */
  async end(sql: Sql, contentVersion: string): Promise<boolean> {
    const rows = await sql.query('DELETE FROM upload WHERE content_version = $1 RETURNING 1', [contentVersion]);
    return rows.length > 0;
  }

  async versionsOf(sql: Sql, fileId: string): Promise<string[]> {
    const rows = await sql.query<{ version: string }>(
      'SELECT content_version AS version FROM upload WHERE file_id = $1',
      [fileId],
    );
    return rows.map(({ version }) => version);
  }

  async deleteAbandoned(tx: Sql): Promise<FileRef[]> {
    return tx.query(
      `DELETE FROM upload WHERE touched_at < now() - make_interval(secs => $1)
       RETURNING bot_id AS "botId", file_id AS "fileId"`,
      [abandonedAfterSeconds],
    );
  }
}
