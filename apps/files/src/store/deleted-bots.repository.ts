import { Injectable } from '@nestjs/common';
import type { Leftovers } from '@parley/contracts/files';
import { mayRemoveContent } from '@parley/persistence/content-hold';
import { Database, type Sql } from '@parley/persistence/database';
import type { Condition } from '@parley/persistence/due-rows';
import { WorkQueue } from '@parley/work-queue/work-queue.service';

const tables = [
  'file',
  'upload',
  'indexing_job',
  'passage',
  'knowledge_base',
  'storage_use',
  'bot_home',
  'idempotency_key',
] as const;
const batchSize = 5_000;

const isUnerased = `(erased_at IS NULL OR erased_at < deleted_at + interval '1 hour')
  AND ((erased_at IS NULL AND deleted_at < now() - interval '1 minute')
    OR deleted_at < now() - interval '1 hour'
    OR (SELECT true FROM file WHERE file.bot_id = deleted_bot.bot_id LIMIT 1))`;

/** Whether `listUnerased` finds bots. */
export const hasUnerased: Condition = { condition: `EXISTS (SELECT FROM deleted_bot WHERE ${isUnerased})` };

@Injectable()
export class DeletedBotsRepository {
  constructor(
    private readonly database: Database,
    private readonly work: WorkQueue,
  ) {}

  /** From now on, all writes for this bot are rejected. */
  async insertDeletedBot(sql: Sql, botId: string): Promise<void> {
    await sql.query('INSERT INTO deleted_bot (bot_id) VALUES ($1) ON CONFLICT DO NOTHING', [botId]);
  }

  /** Deletes every row of the bot in batches, so that no lock is held for long. */
  async eraseRows(botId: string): Promise<void> {
    for (const table of tables) {
      let deleted = batchSize;
      // Repeats until nothing is found: a batch skips rows that change during its deletion.
      while (deleted > 0) {
        const rows = await this.database.query(
          `DELETE FROM ${table} WHERE ctid IN (SELECT ctid FROM ${table} WHERE bot_id = $1 LIMIT $2) RETURNING 1`,
          [botId, batchSize],
        );
        deleted = rows.length;
      }
    }
    await this.work.deleteOfTenant(this.database, botId);
  }

  /** False while a backup copies contents. */
  mayRemoveContent(): Promise<boolean> {
    return mayRemoveContent(this.database);
  }

  async markErased(botId: string): Promise<void> {
    await this.database.query('UPDATE deleted_bot SET erased_at = now() WHERE bot_id = $1', [botId]);
  }

  /**
   * Bots whose erasure was never completed, bots that received files during their erasure, and each deleted bot once
   * more after an hour: a worker or upload that was killed may have left data without a row. Nothing is erased after
   * that, so few bots are examined. LIMIT keeps Postgres from reading all files for them.
   */
  async listUnerased(): Promise<string[]> {
    const rows = await this.database.query<{ botId: string }>(
      `SELECT bot_id AS "botId" FROM deleted_bot
       WHERE ${isUnerased}
       ORDER BY erased_at NULLS FIRST LIMIT 100`,
    );
    return rows.map(({ botId }) => botId);
  }

  async countRows(botId: string): Promise<Pick<Leftovers, 'files' | 'passages'>> {
    const [row] = await this.database.query<{ files: string; passages: string }>(
      `SELECT (SELECT count(*) FROM file WHERE bot_id = $1) AS files,
              (SELECT count(*) FROM passage WHERE bot_id = $1) AS passages`,
      [botId],
    );
    return { files: Number(row!.files), passages: Number(row!.passages) };
  }
}
