import { Injectable } from '@nestjs/common';
import type { Distribution } from '@parley/contracts/models/use';
import type { Sql, Transaction } from '@parley/persistence/database';

/** Calls of a bot in one hour. Sums of `bigint` columns arrive as text, so that they are cast. */
export interface HourRow {
  bot_id: string;
  workspace_id: string;
  hour: Date;
  calls: number;
  errors: number;
  input_tokens: number;
  output_tokens: number;
  latency: Distribution;
  tokens_per_second: Distribution;
  /** In billionths of a US dollar. */
  cost: Distribution;
}

export interface SpentRow {
  bot_id: string;
  month: string;
  dollars: number;
}

/**
 * A call is visible when its statement has ended, at most this time after its `created_at`: the statement timeout is
 * shorter. Each call of this time is read once more.
 */
const visibleAfter = `interval '1 minute'`;
/** Longest time that one statement reads, after the service was away. */
const longestStep = `interval '10 minutes'`;

const distribution = (value: string, where: string) => `jsonb_build_object(
  'count', count(*) FILTER (WHERE ${where}), 'sum', coalesce(sum(${value}) FILTER (WHERE ${where}), 0),
  'squares', coalesce(sum((${value}) * (${value})) FILTER (WHERE ${where}), 0),
  'min', coalesce(min(${value}) FILTER (WHERE ${where}), 0), 'max', coalesce(max(${value}) FILTER (WHERE ${where}), 0))`;
const isAnswered = `finish <> 'error' AND NOT is_cached`;

@Injectable()
export class UseReportsRepository {
  /** Advances the time that is reported, unless another process does: then undefined. */
  async advance(tx: Transaction): Promise<{ from: Date; until: Date; is_behind: boolean } | undefined> {
    const [row] = await tx.query<{ from: Date; until: Date; is_behind: boolean }>(
      `WITH former AS (SELECT reported_until FROM use_report FOR UPDATE SKIP LOCKED)
       UPDATE use_report SET reported_until = least(now(), former.reported_until + ${longestStep}) FROM former
       RETURNING former.reported_until - ${visibleAfter} AS "from", use_report.reported_until AS until,
         use_report.reported_until < now() AS is_behind`,
    );
    return row;
  }

  /**
   * Figures, since its start, of each hour with calls of this time, by bot. Index model_call_created: reads the calls of the
   * hours.
   */
  listHours(tx: Transaction, from: Date, until: Date): Promise<HourRow[]> {
    return tx.query<HourRow>(
      `SELECT bot_id, max(workspace_id) AS workspace_id, date_trunc('hour', created_at, 'UTC') AS hour,
         count(*)::int AS calls, count(*) FILTER (WHERE finish = 'error')::int AS errors,
         sum(input_tokens)::float8 AS input_tokens, sum(output_tokens)::float8 AS output_tokens,
         ${distribution('latency_ms::float8', isAnswered)} AS latency,
         ${distribution('output_tokens * 1000 / latency_ms::float8', `${isAnswered} AND output_tokens > 0 AND latency_ms > 0`)} AS tokens_per_second,
         ${distribution('cost', 'true')} AS cost
       FROM model_call
       WHERE created_at >= date_trunc('hour', $1::timestamptz, 'UTC') AND created_at < date_trunc('hour', $2::timestamptz, 'UTC') + interval '1 hour'
       GROUP BY bot_id, hour HAVING max(created_at) >= $1`,
      [from, until],
      'list_hours_of_use',
    );
  }

  /** Money that bots have spent in these months. Primary key of spend. */
  listSpent(sql: Sql, botIds: string[], months: string[]): Promise<SpentRow[]> {
    return sql.query<SpentRow>(
      `SELECT scope_id AS bot_id, month, settled_cost / 1e9::float8 AS dollars FROM spend
       WHERE scope = 'bot' AND scope_id = ANY($1) AND month = ANY($2) AND settled_cost > 0`,
      [botIds, months],
      'list_spent',
    );
  }
}
