import { Injectable } from '@nestjs/common';
import type { FileRef } from '../store/file.entity';
import type { Sql } from '@parley/persistence/database';

/** Files that end users have sent: those of an owner `user` whose key begins with a prefix. */
@Injectable()
export class VisitorFilesRepository {
  /** Index file_of_user. */
  async countDeclaredInLastHour(sql: Sql, botId: string, userId: string, prefix: string): Promise<number> {
    const [row] = await sql.query<{ count: number }>(
      `SELECT count(*)::int AS count FROM file
       WHERE bot_id = $1 AND owner_type = 'user' AND owner_id = $2 AND starts_with(key, $3)
         AND created_at > now() - interval '1 hour'`,
      [botId, userId, prefix],
    );
    return row!.count;
  }

  /** Index file_of_user. @param userId null for files of all users */
  async deleteFiles(tx: Sql, botId: string, userId: string | null, prefix: string, limit: number): Promise<FileRef[]> {
    return tx.query<FileRef>(
      `DELETE FROM file WHERE id IN (
         SELECT id FROM file WHERE bot_id = $1 AND owner_type = 'user' AND ($2::text IS NULL OR owner_id = $2)
           AND starts_with(key, $3) ORDER BY id LIMIT $4 FOR UPDATE)
       RETURNING bot_id AS "botId", id AS "fileId"`,
      [botId, userId, prefix, limit],
    );
  }
}
