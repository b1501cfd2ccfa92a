import { Injectable } from '@nestjs/common';
import {
  type CaptureObservation,
  type ListObservations,
  maxCountNames,
  maxEventTypes,
} from '@parley/contracts/chat/analytics';
import { Database, type Sql } from '@parley/persistence/database';
import { deleteOlder } from '@parley/persistence/delete-older';
import { firstIdAt, newId, timeOfId } from '@parley/persistence/ids';
import { BoundedReadsService } from '../queries/bounded-reads.service';
import { Keyset, pageSize } from '@parley/persistence/keyset';
import { toJsonb } from '@parley/persistence/storable';
import type { Scope } from '../queries/scope';
import type { ObservationEntity } from './analytics.entity';

export interface DayFigures {
  day: Date;
  returning_users: number;
  new_users: number;
  sessions: number;
  user_messages: number;
  bot_messages: number;
  events: number;
  event_types: Record<string, number>;
  custom_events: Record<string, number>;
}

const today = `(now() AT TIME ZONE 'UTC')::date`;
const sessionPause = `interval '30 minutes'`;
const narrowing = 'Give a shorter range of days.';

/**
 * Figures by day in UTC; days without any are left out. `$2` and `$3` bound the time, `$4` and `$5` the ids of events.
 * Messages of 30 minutes before the range tell whether its first session began in it. Indexes: message_created,
 * user_created, and the primary keys of users, events and counts.
 */
const figuresStatement = `
  WITH written AS MATERIALIZED (
    SELECT direction, user_id, created_at, date_trunc('day', created_at, 'UTC') AS day FROM message
    WHERE bot_id = $1 AND created_at >= $2::timestamptz - ${sessionPause} AND created_at < $3),
  received AS (
    SELECT day, user_id, created_at - lag(created_at) OVER (PARTITION BY user_id ORDER BY created_at) AS pause
    FROM written WHERE direction = 'incoming'),
  active AS (
    SELECT day, user_id, count(*) AS messages,
      count(*) FILTER (WHERE pause IS NULL OR pause > ${sessionPause}) AS sessions
    FROM received WHERE day >= $2 GROUP BY day, user_id),
  typed AS (
    SELECT date_trunc('day', created_at, 'UTC') AS day, type, count(*) AS count FROM event
    WHERE bot_id = $1 AND id >= $4 AND id < $5 AND status NOT IN ('scheduled', 'canceled') GROUP BY 1, 2),
  ranked AS (SELECT typed.*, row_number() OVER (PARTITION BY day ORDER BY count DESC, type) AS rank FROM typed),
  figures AS (
    SELECT day, count(*) FILTER (WHERE author.created_at < day) AS returning_users, 0 AS new_users,
      sum(sessions) AS sessions, sum(messages) AS user_messages, 0 AS bot_messages, 0 AS events,
      NULL::jsonb AS event_types, NULL::jsonb AS custom_events
    FROM active LEFT JOIN "user" author ON author.bot_id = $1 AND author.id = user_id GROUP BY day
    UNION ALL
    SELECT day, 0, 0, 0, 0, count(*), 0, NULL, NULL FROM written
    WHERE direction = 'outgoing' AND day >= $2 GROUP BY day
    UNION ALL
    SELECT date_trunc('day', created_at, 'UTC'), 0, count(*), 0, 0, 0, 0, NULL, NULL FROM "user"
    WHERE bot_id = $1 AND id <> $1 AND created_at >= $2 AND created_at < $3 GROUP BY 1
    UNION ALL
    SELECT day, 0, 0, 0, 0, 0, sum(count),
      jsonb_object_agg(type, count) FILTER (WHERE rank <= ${maxEventTypes}), NULL FROM ranked GROUP BY day
    UNION ALL
    SELECT day::timestamp AT TIME ZONE 'UTC', 0, 0, 0, 0, 0, 0, NULL, jsonb_object_agg(name, count) FROM analytics_count
    WHERE bot_id = $1 AND day >= ($2::timestamptz AT TIME ZONE 'UTC')::date
      AND day < ($3::timestamptz AT TIME ZONE 'UTC')::date GROUP BY day)
  SELECT day, sum(returning_users)::int AS returning_users, sum(new_users)::int AS new_users,
    sum(sessions)::int AS sessions, sum(user_messages)::int AS user_messages, sum(bot_messages)::int AS bot_messages,
    sum(events)::int AS events, coalesce((array_agg(event_types) FILTER (WHERE event_types IS NOT NULL))[1], '{}') AS event_types,
    coalesce((array_agg(custom_events) FILTER (WHERE custom_events IS NOT NULL))[1], '{}') AS custom_events
  FROM figures GROUP BY day`;

const newestFirst = new Keyset<ObservationEntity>([{ sql: 'id', type: 'text', of: (row) => row.id }], 'desc');

@Injectable()
export class AnalyticsRepository {
  constructor(
    private readonly database: Database,
    private readonly bounded: BoundedReadsService,
  ) {}

  /** False if the bot has too many names on this day. Primary key. */
  async addToCount(sql: Sql, botId: string, name: string, count: number): Promise<boolean> {
    const rows = await sql.query(
      `INSERT INTO analytics_count (bot_id, day, name, count)
       SELECT $1, ${today}, $2, $3
       WHERE EXISTS (SELECT FROM analytics_count WHERE bot_id = $1 AND day = ${today} AND name = $2)
         OR (SELECT count(*) FROM analytics_count WHERE bot_id = $1 AND day = ${today}) < ${maxCountNames}
       ON CONFLICT (bot_id, day, name) DO UPDATE SET count = analytics_count.count + excluded.count RETURNING 1`,
      [botId, name, count],
    );
    return rows.length > 0;
  }

  /** Throws OperationTimeout for a range with too many messages or events. */
  async findFigures(botId: string, from: Date, until: Date): Promise<DayFigures[]> {
    const values = [botId, from, until, firstIdAt('evt', from), firstIdAt('evt', until)];
    return this.bounded.read<DayFigures>(figuresStatement, values, narrowing);
  }

  /** Index analytics_count_day. */
  async deleteCountsBefore(days: number): Promise<void> {
    await deleteOlder(this.database, 'analytics_count', 'day', days * 24);
  }

  async insertObservation(sql: Sql, { botId, alias }: Scope, observation: CaptureObservation): Promise<void> {
    const id = newId('obs');
    const { name, id: callerId, messageId, eventId, conversationId, userId, errorId, traceId } = observation;
    await sql.query(
      `INSERT INTO observation (bot_id, id, integration_alias, name, caller_id, data, message_id, event_id,
         conversation_id, user_id, error_id, trace_id, created_at)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)`,
      [
        ...[botId, id, alias, name, callerId, toJsonb(observation.data), messageId, eventId],
        ...[conversationId, userId, errorId, traceId, timeOfId(id)],
      ],
    );
  }

  /** Primary key; with a trace, index observation_trace. */
  async listObservations({ botId, traceId, ...query }: ListObservations) {
    const limit = pageSize(query);
    const boundTo = [botId, traceId];
    const values: unknown[] = [botId];
    const ofTrace = traceId === undefined ? '' : `AND trace_id = $${values.push(traceId)}`;
    const rows = await this.database.query<ObservationEntity>(
      `SELECT * FROM observation WHERE bot_id = $1 ${ofTrace} AND ${newestFirst.after(query.nextToken, boundTo, values)}
       ORDER BY ${newestFirst.orderBy} LIMIT ${limit + 1}`,
      values,
    );
    return newestFirst.page(rows, limit, boundTo);
  }

  /** Index observation_created. */
  async deleteBefore(days: number): Promise<void> {
    await deleteOlder(this.database, 'observation', 'created_at', days * 24);
  }
}
