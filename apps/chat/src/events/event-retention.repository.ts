import { Injectable } from '@nestjs/common';
import type { EventStatus } from '@parley/contracts/chat/events';
import { Database } from '@parley/persistence/database';
import { firstIdAt } from '@parley/persistence/ids';
import { lockNext } from '@parley/persistence/lock-next';

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
   * Deletes the next events of this status, by id, that were created, and due if scheduled, before this time. Returns the last id, where
   * the next batch continues: without it, each would read again what the former ones deleted. Skips locked rows until the
   * next round. Index event_status, then the primary key.
   */
  async deleteOldEventsAfter(
    id: string,
    botId: string,
    status: EventStatus,
    before: Date,
    limit: number,
  ): Promise<string | undefined> {
    const [row] = await this.database.query<{ last: string | null }>(
      `WITH old AS MATERIALIZED (
         ${lockNext({
           table: 'event',
           columns: 'id',
           where: 'bot_id = $1 AND status = $2 AND id > $3 AND id < $4 AND (due_at IS NULL OR due_at < $5)',
           orderBy: 'id',
           limit: '$6',
         })}),
       gone AS (DELETE FROM event WHERE bot_id = $1 AND id = ANY (ARRAY(SELECT id FROM old)))
       SELECT max(id) AS last FROM old`,
      [botId, status, id, firstIdAt('evt', before), before, limit],
    );
    return row?.last ?? undefined;
  }
}
