import { Injectable } from '@nestjs/common';
import { Database, type Sql } from '@parley/persistence/database';
import { lockNext } from '@parley/persistence/lock-next';
import type { RecurringEventEntity } from './event.entity';
import type { DueRows } from '@parley/persistence/due-rows';

type Definition = Omit<RecurringEventEntity, 'failed_attempts' | 'settled_at'>;

export type DueRecurringEvent = Omit<Definition, 'next_at' | 'period_seconds'> & { next_at: Date; now: Date };

type RescheduledEvent = Pick<RecurringEventEntity, 'bot_id' | 'name' | 'next_at' | 'period_seconds'>;

const computedAt = `next_at AT TIME ZONE 'UTC' - period_seconds * interval '1 second'`;
const isTooFarAhead = `next_at IS NOT NULL AND ${computedAt} > now() AT TIME ZONE 'UTC'`;

const isOfKeptBot = 'NOT EXISTS (SELECT FROM dropped_bot WHERE dropped_bot.bot_id = recurring_event.bot_id)';

/** Events that are too far ahead count as due. Indexes recurring_event_due, recurring_event_computed. */
export const dueRecurringEvents: DueRows = {
  table: 'recurring_event',
  key: 'name',
  time: 'next_at',
  where: isOfKeptBot,
  orWhere: isTooFarAhead,
};

@Injectable()
export class RecurringEventsRepository {
  constructor(private readonly database: Database) {}

  /**
   * Stores the revision and locks it for the bot. Returns the time of the database; undefined if this or a newer
   * revision was stored before.
   */
  async storeNewerRevision(tx: Sql, botId: string, revision: number): Promise<Date | undefined> {
    const [row] = await tx.query<{ now: Date }>(
      `INSERT INTO recurring_revision (bot_id, revision) VALUES ($1, $2)
       ON CONFLICT (bot_id) DO UPDATE SET revision = excluded.revision
       WHERE recurring_revision.revision < excluded.revision RETURNING now()`,
      [botId, revision],
    );
    return row?.now;
  }

  /**
   * Replaces the recurring events of the bot. An event with an unchanged cron expression keeps its next time. Failures of
   * a changed event are counted anew.
   */
  async replaceRecurringEvents(tx: Sql, botId: string, events: Definition[]): Promise<void> {
    const names = events.map(({ name }) => name);
    await tx.query('DELETE FROM recurring_event WHERE bot_id = $1 AND name <> ALL ($2::text[])', [botId, names]);
    await tx.query(
      `INSERT INTO recurring_event AS kept (bot_id, name, type, payload, cron, next_at, period_seconds)
       SELECT bot_id, name, type, payload, cron, next_at, period_seconds
       FROM jsonb_populate_recordset(NULL::recurring_event, $1)
       ON CONFLICT (bot_id, name) DO UPDATE SET type = excluded.type, payload = excluded.payload, cron = excluded.cron,
         failed_attempts = CASE WHEN (kept.type, kept.payload, kept.cron) = (excluded.type, excluded.payload, excluded.cron)
           THEN kept.failed_attempts ELSE 0 END,
         next_at = CASE WHEN kept.cron = excluded.cron THEN kept.next_at ELSE excluded.next_at END,
         period_seconds = CASE WHEN kept.cron = excluded.cron THEN kept.period_seconds ELSE excluded.period_seconds END`,
      [JSON.stringify(events)],
    );
  }

  /** Failure state after this outcome. Undefined if a success changes nothing, or the event is no longer defined. */
  async countOutcome(
    tx: Sql,
    botId: string,
    name: string,
    isFailed: boolean,
  ): Promise<Pick<RecurringEventEntity, 'failed_attempts' | 'settled_at'> | undefined> {
    const [row] = await tx.query<Pick<RecurringEventEntity, 'failed_attempts' | 'settled_at'>>(
      `UPDATE recurring_event SET failed_attempts = CASE WHEN $3 THEN failed_attempts + 1 ELSE 0 END,
         settled_at = greatest(now(), settled_at + interval '1 millisecond')
       WHERE bot_id = $1 AND name = $2 AND ($3 OR failed_attempts > 0) RETURNING failed_attempts, settled_at`,
      [botId, name, isFailed],
    );
    return row;
  }

  /** Claims at most `limit` due events of bots that are not deleted, skipping locked rows. Index recurring_event_due. */
  async claimDueRecurringEvents(tx: Sql, limit: number): Promise<DueRecurringEvent[]> {
    return tx.query<DueRecurringEvent>(
      lockNext({
        table: 'recurring_event',
        columns: 'bot_id, name, type, payload, cron, next_at, now()',
        where: `next_at <= now() AND ${isOfKeptBot}`,
        orderBy: 'next_at',
        limit: '$1',
      }),
      [limit],
    );
  }

  /**
   * Events whose next time is further away than when it was computed: the clock went back. Index
   * recurring_event_computed.
   */
  async claimRecurringEventsTooFarAhead(
    tx: Sql,
    limit: number,
  ): Promise<(Pick<RecurringEventEntity, 'bot_id' | 'name' | 'cron'> & { now: Date })[]> {
    return tx.query(
      lockNext({
        table: 'recurring_event',
        columns: 'bot_id, name, cron, now()',
        where: isTooFarAhead,
        orderBy: computedAt,
        limit: '$1',
      }),
      [limit],
    );
  }

  async rescheduleRecurringEvents(tx: Sql, events: RescheduledEvent[]): Promise<void> {
    await tx.query(
      `UPDATE recurring_event SET next_at = fresh.next_at, period_seconds = fresh.period_seconds
       FROM jsonb_populate_recordset(NULL::recurring_event, $1) AS fresh
       WHERE recurring_event.bot_id = fresh.bot_id AND recurring_event.name = fresh.name`,
      [JSON.stringify(events)],
    );
  }
}
