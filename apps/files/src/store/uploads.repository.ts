import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { Database, type Sql } from '@parley/persistence/database';
import { Repository } from 'typeorm';
import type { FileRef } from './file.entity';
import { UploadEntity } from './upload.entity';

/** Seconds without a heartbeat after which an upload counts as abandoned. */
const abandonedAfterSeconds = 600;

@Injectable()
export class UploadsRepository {
  constructor(
    private readonly database: Database,
    @InjectRepository(UploadEntity) private readonly uploads: Repository<UploadEntity>,
  ) {}

  async insertUpload(file: FileRef, contentVersion: string): Promise<void> {
    await this.uploads.insert({ content_version: contentVersion, bot_id: file.botId, file_id: file.fileId });
  }

  /**
   * Heartbeat. False when the content can no longer be accepted: abandoned, or its file declared again or deleted. A
   * copy has no declaration yet (`uploadId` null), so only the first is checked.
   */
  async renewUpload(contentVersion: string, uploadId: string | null): Promise<boolean> {
    const rows = await this.database.query(
      `UPDATE upload SET touched_at = now() WHERE content_version = $1
         AND ($2::text IS NULL OR EXISTS (SELECT FROM file WHERE file.id = upload.file_id AND file.upload_id = $2))
       RETURNING 1`,
      [contentVersion, uploadId],
    );
    return rows.length > 0;
  }

  /** False when the sweeper removed the upload as abandoned: its blob may be gone. */
  async deleteUpload(sql: Sql, contentVersion: string): Promise<boolean> {
    const { affected } = await sql.manager.delete(UploadEntity, { content_version: contentVersion });
    return affected === 1;
  }

  async listVersionsOfFile(sql: Sql, fileId: string): Promise<string[]> {
    const uploads = await sql.manager.findBy(UploadEntity, { file_id: fileId });
    return uploads.map(({ content_version }) => content_version);
  }

  async deleteAbandonedUploads(tx: Sql): Promise<FileRef[]> {
    return tx.query(
      `DELETE FROM upload WHERE touched_at < now() - make_interval(secs => $1)
       RETURNING bot_id AS "botId", file_id AS "fileId"`,
      [abandonedAfterSeconds],
    );
  }
}
