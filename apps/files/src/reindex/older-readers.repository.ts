import { Injectable } from '@nestjs/common';
import type { FileStatus } from '@parley/contracts/files';
import { readerVersions } from '@parley/documents/reader-versions';
import { Database } from '@parley/persistence/database';
import { notExpired } from '../store/file-scope';
import type { FileEntity } from '../store/file.entity';
import type { FilePosition } from '../store/index-models.repository';

type Named = Pick<FileEntity, 'content_type' | 'reader_format'>;

/** Files with the same type, extension, outcome and reader. */
export interface OlderFileGroup extends Named {
  /** With the dot, in lower case; empty without one. */
  extension: string;
  status: FileStatus;
  /** Why the file was refused; null for a file with passages. */
  reason: string | null;
  files: number;
}

export interface OlderFile extends Named, FilePosition {
  extension: string;
}

const extension = `coalesce(lower(substring(file.key FROM '\\.[^./]*$')), '')`;
/** SQL condition: read or refused by an older reader, or being read anew. $1: versions by format. */
const isOlder = `file.index AND NOT file.are_passages_set AND file.blob_version IS NOT NULL AND ${notExpired}
  AND (file.reader_format IS NULL OR file.reader_version IS NULL OR file.reader_version < ($1::jsonb ->> file.reader_format)::int)`;
const isEnded = `file.status IN ('indexing_completed', 'indexing_failed')`;
/** A reader version tells a content that is read anew from one that was uploaded. */
const isReadAnew = `file.status = 'indexing_pending' AND file.reader_version IS NOT NULL`;

export function isReadByOlder({ reader_format: format, reader_version: version }: FileEntity): boolean {
  return format === null || version === null || version < (readerVersions[format] ?? 0);
}

/** Files whose content was read or refused by an older version of the reader of its format. */
@Injectable()
export class OlderReadersRepository {
  constructor(private readonly database: Database) {}

  /** Reads all files, of the bot or of all bots. */
  listGroups(botId: string | undefined): Promise<OlderFileGroup[]> {
    return this.database.query(
      `SELECT reader_format, content_type, ${extension} AS extension, status,
         CASE WHEN status = 'indexing_failed' AND active_version IS NULL THEN failed_status_reason END AS reason,
         count(*)::int AS files
       FROM file WHERE ($2::text IS NULL OR bot_id = $2) AND ${isOlder} AND (${isEnded} OR ${isReadAnew})
       GROUP BY 1, 2, 3, 4, 5`,
      [JSON.stringify(readerVersions), botId ?? null],
    );
  }

  async listBots(): Promise<string[]> {
    const rows = await this.database.query<{ botId: string }>(
      `SELECT DISTINCT bot_id AS "botId" FROM file WHERE ${isOlder} AND ${isEnded}`,
      [JSON.stringify(readerVersions)],
    );
    return rows.map(({ botId }) => botId);
  }

  /** Files of the bot after this one, oldest first. Index file_created. */
  listOlder(botId: string, after: FilePosition, limit: number): Promise<OlderFile[]> {
    return this.database.query(
      `SELECT id AS "fileId", created_at::text AS "createdAt", reader_format, content_type, ${extension} AS extension
       FROM file WHERE bot_id = $2 AND (created_at, id) > ($3::timestamptz, $4) AND ${isOlder} AND ${isEnded}
       ORDER BY created_at, id LIMIT $5`,
      [JSON.stringify(readerVersions), botId, after.createdAt, after.fileId, limit],
    );
  }
}
