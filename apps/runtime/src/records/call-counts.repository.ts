import { Injectable } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { Database, type Transaction } from '@parley/persistence/database';
import type { DueRows } from '@parley/persistence/due-rows';
import { lockNext } from '@parley/persistence/lock-next';
import { toJsonb } from '@parley/persistence/storable';
import { Repository } from 'typeorm';
import { isNotErased } from './erasure-queue';
import { CallCountEntity } from './call-count.entity';

export interface CountedCalls extends Pick<CallCountEntity, 'bot_id' | 'month' | 'workspace_id'> {
  calls: number;
}

/** Total of a bot in a month. */
export interface CallTotal extends Pick<CallCountEntity, 'bot_id' | 'workspace_id' | 'calls'> {
  at: Date;
}

const start = `(call_count.month || '-01')::timestamp`;
/** `at` lies within the month, also in a report after its end. */
const total = `call_count.bot_id, workspace_id, calls,
  greatest(${start}, least(now() AT TIME ZONE 'UTC', ${start} + interval '1 month' - interval '1 ms')) AT TIME ZONE 'UTC' AS at`;

/** Index call_count_report. */
export const dueReports: DueRows = { table: 'call_count', key: 'month', time: 'report_at' };

@Injectable()
export class CallCountsRepository {
  constructor(
    private readonly database: Database,
    @InjectRepository(CallCountEntity) private readonly counts: Repository<CallCountEntity>,
  ) {}

  /**
   * Adds to the totals, locked in one order, and schedules their report at most once a minute. Drops calls of bots under
   * erasure, so that they start no new total. Primary keys of both tables.
   */
  async addCalls(counted: CountedCalls[]): Promise<void> {
    await this.database.query(
      `INSERT INTO call_count (bot_id, month, workspace_id, calls, report_at)
       SELECT bot_id, month, workspace_id, calls, now() FROM jsonb_populate_recordset(NULL::call_count, $1) AS counted
       WHERE ${isNotErased('counted.bot_id')}
       ORDER BY bot_id, month
       ON CONFLICT (bot_id, month) DO UPDATE SET workspace_id = excluded.workspace_id,
         calls = call_count.calls + excluded.calls,
         report_at = coalesce(call_count.report_at, greatest(now(), call_count.reported_at + interval '1 minute'))`,
      [toJsonb(counted)],
    );
  }

  /** Totals to report; they are not due again until the next call. Index call_count_report. */
  takeDue(tx: Transaction, limit: number): Promise<CallTotal[]> {
    const due = lockNext({
      table: 'call_count',
      columns: 'bot_id, month',
      where: 'report_at <= now()',
      orderBy: 'report_at',
      limit: '$1',
    });
    return tx.query(
      `WITH due AS MATERIALIZED (${due})
       UPDATE call_count SET report_at = NULL, reported_at = now() FROM due
       WHERE call_count.bot_id = due.bot_id AND call_count.month = due.month RETURNING ${total}`,
      [limit],
    );
  }

  /** Deletes the totals of the bot. Returns those with calls that were not reported. Primary key. */
  async deleteOfBot(tx: Transaction, botId: string): Promise<CallTotal[]> {
    const rows = await tx.query<CallTotal & { report_at: Date | null }>(
      `DELETE FROM call_count WHERE bot_id = $1 RETURNING report_at, ${total}`,
      [botId],
    );
    return rows.filter(({ report_at }) => report_at !== null);
  }

  countOfBot(botId: string): Promise<number> {
    return this.counts.countBy({ bot_id: botId });
  }

  /** Deletes totals of the months before the last one. Reads the table: a bot has at most a few rows. */
  async deleteOld(): Promise<void> {
    await this.database.query(
      `DELETE FROM call_count WHERE month < to_char(now() AT TIME ZONE 'UTC' - interval '1 month', 'YYYY-MM')`,
    );
  }
}
