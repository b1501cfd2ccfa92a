import { Injectable } from '@nestjs/common';
import type { EventStatus } from '@parley/contracts/chat/events';
import { Database } from '@parley/persistence/database';
import { firstIdAt } from '@parley/persistence/ids';
import { lockNext } from '@parley/persistence/lock-next';

/** Every status except `scheduled`. */
const deleted: EventStatus[] = ['pending', 'processed', 'ignored', 'failed', 'canceled'];

@Injectable()
export class EventRetentionRepository {
  constructor(private readonly database: Database) {}

  /**
   * Next bots with events, by id, and whether the oldest event of each was created before this time. Skip scan of the
   * primary key: a few index lookups per bot.
   */
  async listBotsWithEvents(
    after: string,
    before: Date,
    limit: number,
  ): Promise<{ bot_id: string; has_old: boolean }[]> {
    const next = (last: string) => `SELECT bot_id, id FROM event WHERE bot_id > ${last} ORDER BY bot_id, id LIMIT 1`;
    return this.database.query(
      `WITH RECURSIVE bots AS (
         (${next('$1')})
         UNION ALL
         SELECT following.* FROM bots CROSS JOIN LATERAL (${next('bots.bot_id')}) following)
       SELECT bot_id, id < $2 AS has_old FROM bots LIMIT $3`,
      [after, firstIdAt('evt', before), limit],
    );
  }

  /**
   * Deletes at most `limit` events of each status that were created, and due if scheduled, before this time. Returns
   * the number. Skips locked rows until the next round. Index event_status, in its order.
   */
  async deleteOldEvents(botId: string, before: Date, limit: number): Promise<number> {
    const rows = await this.database.query(
      `DELETE FROM event USING unnest($2::text[]) AS ended (status), LATERAL (
         ${lockNext({
           table: 'event',
           columns: 'id',
           where: 'bot_id = $1 AND event.status = ended.status AND id < $3 AND (due_at IS NULL OR due_at < $4)',
           orderBy: 'id',
           limit: '$5',
         })}) AS old
       WHERE event.bot_id = $1 AND event.id = old.id RETURNING 1`,
      [botId, deleted, firstIdAt('evt', before), before, limit],
    );
    return rows.length;
  }
}
