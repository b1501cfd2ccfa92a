import { Injectable } from '@nestjs/common';
import type { ModelLeftovers } from '@parley/contracts/models/leftovers';
import { Database, type Transaction } from '@parley/persistence/database';

/** Tables with rows of bots, and the column of their key. Reservations end by themselves, within two minutes. */
const tables = { call_content: 'call_id', content_setting: 'bot_id', model_call: 'id', stored_answer: 'key' };

@Injectable()
export class ErasureRepository {
  constructor(private readonly database: Database) {}

  async insertTombstone(botId: string): Promise<void> {
    await this.database.query('INSERT INTO deleted_bot (bot_id) VALUES ($1) ON CONFLICT DO NOTHING', [botId]);
  }

  /** Deletes up to `limit` rows of each table and returns their number. The sums of the workspace stay. */
  async deleteRows(botId: string, limit: number): Promise<number> {
    let deleted = 0;
    for (const [table, key] of Object.entries(tables)) {
      const rows = await this.database.query(
        `DELETE FROM ${table} WHERE ctid = ANY (ARRAY(
           SELECT ctid FROM ${table} WHERE bot_id = $1 ORDER BY ${key} LIMIT $2)) RETURNING 1`,
        [botId, limit],
      );
      deleted += rows.length;
    }
    return deleted;
  }

  async count(botId: string): Promise<ModelLeftovers> {
    const [row] = await this.database.query<ModelLeftovers>(
      `SELECT (SELECT count(*) FROM model_call WHERE bot_id = $1)::int AS "modelCalls",
         (SELECT count(*) FROM stored_answer WHERE bot_id = $1)::int AS "storedAnswers",
         (SELECT count(*) FROM spend WHERE scope = 'bot' AND scope_id = $1)::int AS "modelSpends",
         (SELECT count(*) FROM budget WHERE scope = 'bot' AND scope_id = $1)::int AS "modelBudgets",
         ((SELECT count(*) FROM call_content WHERE bot_id = $1)
           + (SELECT count(*) FROM content_setting WHERE bot_id = $1))::int AS "modelContents"`,
      [botId],
    );
    return row!;
  }

  async deleteSums(tx: Transaction, botId: string): Promise<void> {
    for (const table of ['spend', 'budget', 'budget_notice'])
      await tx.query(`DELETE FROM ${table} WHERE scope = 'bot' AND scope_id = $1`, [botId]);
  }
}
