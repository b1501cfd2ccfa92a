import { Injectable } from '@nestjs/common';
import type { EventStatus } from '@parley/contracts/chat/events';
import { Database } from '@parley/database/database';
import { firstIdAt } from '@parley/database/ids';

/** All but `scheduled`. */
const deleted: EventStatus[] = ['pending', 'processed', 'ignored', 'failed', 'canceled'];

@Injectable()
export class EventRetentionRepository {
  constructor(private readonly database: Database) {}

  /**
   * The next bots that have events, in the order of their ids, and whether the oldest event of each was made before this time.
   * By jumps along the primary key, a few for each bot.
   */
  async listBots(after: string, before: Date, limit: number): Promise<{ bot_id: string; has_old: boolean }[]> {
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
   * Deletes at most so many of each status that were made before this time, and due before it where they were scheduled;
   * how many there were. Those that somebody works on are left for the next time. Index event_status, in its order.
   */
  async deleteOld(botId: string, before: Date, limit: number): Promise<number> {
    const rows = await this.database.query(
      `DELETE FROM event USING unnest($2::text[]) AS ended (status), LATERAL (
         SELECT id FROM event WHERE bot_id = $1 AND event.status = ended.status AND id < $3
           AND (due_at IS NULL OR due_at < $4)
         ORDER BY id LIMIT $5 FOR UPDATE SKIP LOCKED) AS old
       WHERE event.bot_id = $1 AND event.id = old.id RETURNING 1`,
      [botId, deleted, firstIdAt('evt', before), before, limit],
    );
    return rows.length;
  }
}
