import { Injectable } from '@nestjs/common';
import { keptContentDays } from '@parley/contracts/models/contents';
import { Database } from '@parley/persistence/database';
import { deleteOlder } from '@parley/persistence/delete-older';

const deletedAtOnce = 5_000;

@Injectable()
export class ContentsRepository {
  constructor(private readonly database: Database) {}

  async isKept(botId: string): Promise<boolean> {
    const rows = await this.database.query('SELECT 1 FROM content_setting WHERE bot_id = $1', [botId], 'contents_kept');
    return rows.length > 0;
  }

  async keepFromNow(botId: string): Promise<void> {
    await this.database.query('INSERT INTO content_setting (bot_id) VALUES ($1) ON CONFLICT DO NOTHING', [botId]);
  }

  /** Ends the setting and deletes what was kept. Idempotent. */
  async end(botId: string): Promise<void> {
    await this.database.query('DELETE FROM content_setting WHERE bot_id = $1', [botId]);
    let deleted = deletedAtOnce;
    while (deleted === deletedAtOnce) {
      const rows = await this.database.query(
        `DELETE FROM call_content WHERE ctid = ANY (ARRAY(
           SELECT ctid FROM call_content WHERE bot_id = $1 LIMIT $2)) RETURNING 1`,
        [botId, deletedAtOnce],
      );
      deleted = rows.length;
    }
  }

  /** Nothing happens once the setting has ended: the lock makes its end wait. */
  async insert(callId: string, botId: string, sealed: string): Promise<void> {
    await this.database.query(
      `INSERT INTO call_content (call_id, bot_id, sealed)
       SELECT $1, bot_id, $3 FROM content_setting WHERE bot_id = $2 FOR KEY SHARE
       ON CONFLICT DO NOTHING`,
      [callId, botId, sealed],
      'keep_contents',
    );
  }

  async listSealed(botId: string, callIds: string[]): Promise<Map<string, string>> {
    const rows = await this.database.query<{ call_id: string; sealed: string }>(
      `SELECT call_id, sealed FROM call_content JOIN content_setting USING (bot_id)
       WHERE bot_id = $1 AND call_id = ANY($2) AND created_at >= kept_since`,
      [botId, callIds],
    );
    return new Map(rows.map(({ call_id: id, sealed }) => [id, sealed]));
  }

  /** Index model_call_of_conversation. */
  async deleteOfConversation(botId: string, conversationId: string): Promise<void> {
    await this.database.query(
      `DELETE FROM call_content USING model_call
       WHERE call_id = model_call.id AND model_call.bot_id = $1 AND conversation_id = $2`,
      [botId, conversationId],
    );
  }

  deleteOld(): Promise<void> {
    return deleteOlder(this.database, 'call_content', 'created_at', keptContentDays * 24);
  }
}
