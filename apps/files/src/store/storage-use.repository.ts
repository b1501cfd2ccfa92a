import { Injectable } from '@nestjs/common';
import { Database, type Sql, type Transaction } from '@parley/persistence/database';
import type { Condition } from '@parley/persistence/due-rows';

export interface StorageUse {
  fileBytes: number;
  vectorBytes: number;
}

export interface ChangedUse extends StorageUse {
  botId: string;
  workspaceId: string;
  at: Date;
}

/** Index storage_use_changed. */
export const hasChangedUse: Condition = { condition: 'EXISTS (SELECT FROM storage_use WHERE is_changed)' };

const sums = `coalesce(sum(file_bytes), 0) AS "fileBytes", coalesce(sum(vector_bytes), 0) AS "vectorBytes"`;

/**
 * SQL of a recursive table `bot`: ids of bots after `$1` that have files, in order, then a null. Loose index scan,
 * however many files each bot has.
 */
export const botsWithFiles = `bot AS (
  (SELECT bot_id FROM file WHERE bot_id > $1 ORDER BY bot_id LIMIT 1)
  UNION ALL
  SELECT (SELECT file.bot_id FROM file WHERE file.bot_id > bot.bot_id ORDER BY file.bot_id LIMIT 1)
  FROM bot WHERE bot.bot_id IS NOT NULL)`;

/** Storage usage of bots and workspaces. A trigger on `file` maintains the sums. */
@Injectable()
export class StorageUseRepository {
  constructor(private readonly database: Database) {}

  /**
   * Advisory lock per workspace, exclusive: no other file is declared in it until the transaction ends. Taken before
   * any lock on a file.
   */
  async lockWorkspace(tx: Transaction, workspaceId: string): Promise<void> {
    await tx.query(`SELECT pg_advisory_xact_lock(hashtextextended('storage/' || $1, 0))`, [workspaceId]);
  }

  /** Usage of the workspace, which no other declaration can raise while it is locked. */
  async getUseOfWorkspace(sql: Sql, workspaceId: string): Promise<StorageUse> {
    const [row] = await sql.query<Record<keyof StorageUse, string>>(
      `SELECT ${sums} FROM bot_home JOIN storage_use USING (bot_id) WHERE workspace_id = $1`,
      [workspaceId],
    );
    return toUse(row!);
  }

  async findWorkspaceId(botId: string): Promise<string | undefined> {
    const [row] = await this.database.query<{ workspace_id: string }>(
      'SELECT workspace_id FROM bot_home WHERE bot_id = $1',
      [botId],
    );
    return row?.workspace_id;
  }

  /** Counts the bot's usage for this workspace, unless a newer event was applied. */
  async moveBot(botId: string, workspaceId: string, eventId: string): Promise<void> {
    await this.database.query(
      `INSERT INTO bot_home (bot_id, workspace_id, moved_by)
       SELECT $1, $2, $3 WHERE NOT EXISTS (SELECT FROM deleted_bot WHERE bot_id = $1)
       ON CONFLICT (bot_id) DO UPDATE SET workspace_id = excluded.workspace_id, moved_by = excluded.moved_by
       WHERE bot_home.moved_by IS NULL OR bot_home.moved_by < excluded.moved_by`,
      [botId, workspaceId, eventId],
    );
  }

  /**
   * Takes bots whose usage has changed since the last call, with their current sums. Row locks order concurrent calls
   * for one bot, so that the later one has the later time. Index storage_use_changed.
   */
  async takeChangedUse(tx: Transaction, limit: number): Promise<ChangedUse[]> {
    // Same lock order as statements that change files of several bots, which avoids deadlocks.
    const bots = await tx.query<{ botId: string }>(
      `SELECT bot_id AS "botId" FROM storage_use WHERE bot_id IN (
         SELECT DISTINCT bot_id FROM storage_use JOIN bot_home USING (bot_id) WHERE is_changed LIMIT $1)
       ORDER BY bot_id, slot FOR UPDATE`,
      [limit],
    );
    if (bots.length === 0) return [];
    const rows = await tx.query<Record<keyof StorageUse, string> & Omit<ChangedUse, keyof StorageUse>>(
      `WITH taken AS (
         UPDATE storage_use SET is_changed = false WHERE bot_id = ANY($1) RETURNING bot_id, file_bytes, vector_bytes)
       SELECT bot_id AS "botId", workspace_id AS "workspaceId", statement_timestamp() AS at, ${sums}
       FROM taken JOIN bot_home USING (bot_id) GROUP BY bot_id, workspace_id`,
      [bots.map(({ botId }) => botId)],
    );
    return rows.map((row) => ({ ...row, ...toUse(row) }));
  }

  /** Recounts the files of the bot; returns the former counters and the actual sums. */
  async recountUseOfBot(
    tx: Transaction,
    botId: string,
  ): Promise<{ before: StorageUse; after: StorageUse; wasWrong: boolean }> {
    // Creates all counter rows to lock: a change of a file waits for one of them before it becomes visible.
    await tx.query(
      `INSERT INTO storage_use (bot_id, slot, file_bytes, vector_bytes) SELECT $1, slot, 0, 0 FROM generate_series(0, 3) AS slot
       WHERE NOT EXISTS (SELECT FROM deleted_bot WHERE bot_id = $1)
       ON CONFLICT DO NOTHING`,
      [botId],
    );
    await tx.query('SELECT FROM storage_use WHERE bot_id = $1 ORDER BY slot FOR UPDATE', [botId]);
    const [before] = await tx.query<Record<keyof StorageUse, string>>(
      `SELECT ${sums} FROM storage_use WHERE bot_id = $1`,
      [botId],
    );
    const [after] = await tx.query<Record<keyof StorageUse, string>>(
      `SELECT coalesce(sum(bytes_of(file)), 0) AS "fileBytes", coalesce(sum(vector_bytes_of(file)), 0) AS "vectorBytes"
       FROM file WHERE bot_id = $1`,
      [botId],
    );
    const [was, is] = [toUse(before!), toUse(after!)];
    const wasWrong = was.fileBytes !== is.fileBytes || was.vectorBytes !== is.vectorBytes;
    if (wasWrong) {
      await tx.query(
        `UPDATE storage_use SET file_bytes = CASE slot WHEN 0 THEN $2 ELSE 0 END::bigint, is_changed = true,
           vector_bytes = CASE slot WHEN 0 THEN $3 ELSE 0 END::bigint WHERE bot_id = $1`,
        [botId, is.fileBytes, is.vectorBytes],
      );
    }
    return { before: was, after: is, wasWrong };
  }

  async listBotsWithFiles(after: string, limit: number): Promise<string[]> {
    const rows = await this.database.query<{ botId: string }>(
      `WITH RECURSIVE ${botsWithFiles}
       SELECT bot_id AS "botId" FROM (
         (SELECT bot_id FROM bot WHERE bot_id IS NOT NULL LIMIT $2)
         UNION
         (SELECT DISTINCT bot_id FROM storage_use WHERE bot_id > $1 ORDER BY bot_id LIMIT $2)) found
       ORDER BY bot_id LIMIT $2`,
      [after, limit],
    );
    return rows.map(({ botId }) => botId);
  }
}

function toUse({ fileBytes, vectorBytes }: Record<keyof StorageUse, string>): StorageUse {
  return { fileBytes: Number(fileBytes), vectorBytes: Number(vectorBytes) };
}
