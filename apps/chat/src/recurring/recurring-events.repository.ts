import { Injectable } from '@nestjs/common';
import { Database, type Sql } from '@parley/database/database';

/** A row of `recurring_event`. */
export interface RecurringEventRow {
  bot_id: string;
  name: string;
  type: string;
  payload: Record<string, unknown>;
  cron: string;
  /** Null for never again. */
  next_at: Date | null;
  /** How far ahead the next time was when it was computed. */
  period_seconds: number;
}

/** One that is due, and what time it is. */
export type DueRecurringEvent = Omit<RecurringEventRow, 'next_at' | 'period_seconds'> & { next_at: Date; now: Date };

type Moved = Pick<RecurringEventRow, 'bot_id' | 'name' | 'next_at' | 'period_seconds'>;

@Injectable()
export class RecurringEventsRepository {
  constructor(private readonly database: Database) {}

  /** What time it is; undefined when this revision or a later one was taken in before. Locks the bot's recurring events. */
  async isNews(tx: Sql, botId: string, revision: number): Promise<Date | undefined> {
    const [row] = await tx.query<{ now: Date }>(
      `INSERT INTO recurring_revision (bot_id, revision) VALUES ($1, $2)
       ON CONFLICT (bot_id) DO UPDATE SET revision = excluded.revision
       WHERE recurring_revision.revision < excluded.revision RETURNING now()`,
      [botId, revision],
    );
    return row?.now;
  }

  /** What a bot has from now on. One whose cron expression stays is due when it was to be, unless that is too far ahead. */
  async replace(tx: Sql, botId: string, events: RecurringEventRow[]): Promise<void> {
    const names = events.map(({ name }) => name);
    await tx.query('DELETE FROM recurring_event WHERE bot_id = $1 AND name <> ALL ($2::text[])', [botId, names]);
    await tx.query(
      `INSERT INTO recurring_event AS kept (bot_id, name, type, payload, cron, next_at, period_seconds)
       SELECT bot_id, name, type, payload, cron, next_at, period_seconds
       FROM jsonb_populate_recordset(NULL::recurring_event, $1)
       ON CONFLICT (bot_id, name) DO UPDATE SET type = excluded.type, payload = excluded.payload, cron = excluded.cron,
         next_at = CASE WHEN kept.cron = excluded.cron THEN kept.next_at ELSE excluded.next_at END,
         period_seconds = CASE WHEN kept.cron = excluded.cron THEN kept.period_seconds ELSE excluded.period_seconds END`,
      [JSON.stringify(events)],
    );
  }

  /** Up to so many that nobody else has taken, of bots that are there. Index recurring_event_due. */
  async takeDue(tx: Sql, limit: number): Promise<DueRecurringEvent[]> {
    return tx.query<DueRecurringEvent>(
      `SELECT bot_id, name, type, payload, cron, next_at, now() FROM recurring_event due
       WHERE next_at <= now() AND NOT EXISTS (SELECT FROM dropped_bot WHERE dropped_bot.bot_id = due.bot_id)
       ORDER BY next_at LIMIT $1 FOR UPDATE SKIP LOCKED`,
      [limit],
    );
  }

  /** Up to so many whose time is further ahead than it was when it was computed. Index recurring_event_computed. */
  async takeMisplaced(
    tx: Sql,
    limit: number,
  ): Promise<(Pick<RecurringEventRow, 'bot_id' | 'name' | 'cron'> & { now: Date })[]> {
    return tx.query(
      `SELECT bot_id, name, cron, now() FROM recurring_event
       WHERE next_at IS NOT NULL AND next_at AT TIME ZONE 'UTC' - period_seconds * interval '1 second' > now() AT TIME ZONE 'UTC'
       LIMIT $1 FOR UPDATE SKIP LOCKED`,
      [limit],
    );
  }

  async reschedule(tx: Sql, events: Moved[]): Promise<void> {
    await tx.query(
      `UPDATE recurring_event SET next_at = fresh.next_at, period_seconds = fresh.period_seconds
       FROM jsonb_populate_recordset(NULL::recurring_event, $1) AS fresh
       WHERE recurring_event.bot_id = fresh.bot_id AND recurring_event.name = fresh.name`,
      [JSON.stringify(events)],
    );
  }

  /** Undefined when none is due within this time. Those that are due already are somebody's just now. Index recurring_event_due. */
  async msUntilNextDue(withinMs: number): Promise<number | undefined> {
    const [next] = await this.database.query<{ ms: number | null }>(
      `SELECT (extract(epoch FROM min(next_at) - clock_timestamp()) * 1000)::float8 AS ms
       FROM recurring_event WHERE next_at > now() AND next_at <= now() + $1 * interval '1 millisecond'`,
      [withinMs],
    );
    return next!.ms === null ? undefined : Math.max(0, Math.ceil(next!.ms));
  }
}
