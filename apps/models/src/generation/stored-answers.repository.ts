import { Injectable } from '@nestjs/common';
import { Database } from '@parley/persistence/database';

@Injectable()
export class StoredAnswersRepository {
  constructor(private readonly database: Database) {}

  /** Undefined without a valid answer. */
  async find<Answer>(botId: string, key: string): Promise<Answer | undefined> {
    const [row] = await this.database.query<{ answer: Answer | null }>(
      'SELECT answer FROM stored_answer WHERE bot_id = $1 AND key = $2 AND expires_at > now()',
      [botId, key],
    );
    return row?.answer ?? undefined;
  }

  /** Claims the key for a request. False if another request has it, under way or answered. */
  async claim(botId: string, key: string, seconds: number): Promise<boolean> {
    const rows = await this.database.query(
      `INSERT INTO stored_answer (bot_id, key, expires_at) VALUES ($1, $2, now() + make_interval(secs => $3))
       ON CONFLICT (bot_id, key) DO UPDATE SET answer = NULL, expires_at = excluded.expires_at
         WHERE stored_answer.expires_at <= now()
       RETURNING 1`,
      [botId, key, seconds],
    );
    return rows.length > 0;
  }

  async keep(botId: string, key: string, answer: object, seconds: number): Promise<void> {
    await this.database.query(
      `INSERT INTO stored_answer (bot_id, key, answer, expires_at)
       SELECT $1, $2, $3, now() + make_interval(secs => $4)
       WHERE NOT EXISTS (SELECT 1 FROM deleted_bot WHERE bot_id = $1)
       ON CONFLICT (bot_id, key) DO UPDATE SET answer = excluded.answer, expires_at = excluded.expires_at`,
      [botId, key, JSON.stringify(answer), seconds],
    );
  }

  /** Gives a claimed key back: the request has failed. */
  async release(botId: string, key: string): Promise<void> {
    await this.database.query('DELETE FROM stored_answer WHERE bot_id = $1 AND key = $2 AND answer IS NULL', [
      botId,
      key,
    ]);
  }

  /** Deletes up to `limit` expired answers and returns their number. Index: stored_answer_expires. */
  async deleteExpired(limit: number): Promise<number> {
    const rows = await this.database.query(
      `DELETE FROM stored_answer WHERE ctid = ANY (ARRAY(
         SELECT ctid FROM stored_answer WHERE expires_at <= now() ORDER BY expires_at LIMIT $1)) RETURNING 1`,
      [limit],
    );
    return rows.length;
  }
}
