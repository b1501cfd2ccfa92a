import { Injectable } from '@nestjs/common';
import { Database } from '@parley/persistence/database';
import { toText } from '@parley/persistence/storable';
import type { WorkKind } from '../schema/dirty-flags';

/** Lease of this process on a table. It expires without heartbeats. */
export interface Lease {
  id: string;
  kind: WorkKind;
  tableNumber: string;
  attempts: number;
}

export type BatchResult = 'done' | 'more' | Obstructed;

export interface Obstructed {
  /** Requested minimum pause. Exponential backoff makes it longer after several failures in a row. */
  pauseMs: number;
  error: string;
  /** Resets the backoff: the batch did a part of its work. */
  hasProgressed?: boolean;
}

/** Tables with `ai` columns have workers of their own, because the completion server can be slow. */
export type WorkTables = 'all' | 'asking' | 'others';

/**
 * Conflict clause for `INSERT INTO table_work (table_number, kind)`: makes the table due now. A postponed table keeps
 * its due time. A leased table becomes due again after its batch. Lock order: insert several kinds with `ORDER BY
 * kind`, which prevents deadlocks.
 */
export const dueNow = `ON CONFLICT (table_number, kind) DO UPDATE SET due_at =
  CASE WHEN table_work.attempts > 0 AND table_work.lease IS NULL THEN table_work.due_at
  ELSE least(table_work.due_at, now()) END`;

const isAsking = `coalesce(jsonb_path_exists(schema, '$.properties.*."x-zui".computed ? (@.action == "ai")'), false)`;
const conditions: Record<WorkTables, string> = { all: 'true', asking: isAsking, others: `NOT ${isAsking}` };

/** Queue of tables: one row per table and kind of work. */
@Injectable()
export class TableWorkRepository {
  constructor(private readonly database: Database) {}

  /**
   * Leases the free table that is due for longest, of the bot whose last turn is the oldest. A leased table is never
   * due, so that new work shows as a changed due time. An expired lease counts as a failure, because the table may have
   * crashed its worker, and extends the wait before the next attempt. The last turns of all bots are computed once per
   * statement.
   */
  async takeTable(kind: WorkKind, id: string, leaseMs: number, tables: WorkTables = 'all'): Promise<Lease | undefined> {
    const [row] = await this.database.query<{ table_number: string; attempts: number }>(
      `WITH turn AS MATERIALIZED (
         SELECT bot_id, max(taken_at) AS last_at FROM table_work JOIN "table" ON number = table_number
         WHERE kind = $1 AND taken_at IS NOT NULL GROUP BY bot_id)
       UPDATE table_work SET lease = $2, taken_at = now(), due_at = 'infinity',
         attempts = attempts + CASE WHEN lease IS NULL THEN 0 ELSE 1 END
       WHERE (table_number, kind) = (
         SELECT work.table_number, work.kind FROM table_work work LEFT JOIN "table" ON number = table_number
           LEFT JOIN turn USING (bot_id)
         WHERE kind = $1 AND CASE WHEN lease IS NULL THEN due_at <= now()
           ELSE taken_at < now() - ($3 + least(1000 * (2 ^ least(attempts, 10) - 1), 60000)) * interval '1 millisecond' END
           AND ${conditions[tables]}
         ORDER BY last_at NULLS FIRST, CASE WHEN lease IS NULL THEN due_at ELSE taken_at END
         LIMIT 1 FOR UPDATE OF work SKIP LOCKED)
       RETURNING table_number, attempts`,
      [kind, id, leaseMs],
    );
    return row && { id, kind, tableNumber: row.table_number, attempts: row.attempts };
  }

  /** Heartbeat. False when another worker has taken over. */
  async renewLease({ id, kind, tableNumber }: Lease): Promise<boolean> {
    const rows = await this.database.query(
      `UPDATE table_work SET taken_at = now() WHERE table_number = $1 AND kind = $2 AND lease = $3 RETURNING 1`,
      [tableNumber, kind, id],
    );
    return rows.length > 0;
  }

  /** Releases the table with more work left, behind all tables that are due already. */
  async requeueTable({ id, kind, tableNumber }: Lease): Promise<void> {
    await this.database.query(
      `UPDATE table_work SET lease = NULL, due_at = now(), attempts = 0, last_error = NULL
       WHERE table_number = $1 AND kind = $2 AND lease = $3`,
      [tableNumber, kind, id],
    );
  }

  /** Releases the table for a retry after the pause. */
  async postponeTable(
    { id, kind, tableNumber }: Lease,
    pauseMs: number,
    error: string,
    attempts: number,
  ): Promise<void> {
    await this.database.query(
      `UPDATE table_work SET lease = NULL, due_at = now() + $4 * interval '1 millisecond', attempts = $6,
         last_error = $5
       WHERE table_number = $1 AND kind = $2 AND lease = $3`,
      [tableNumber, kind, id, pauseMs, toText(error), attempts],
    );
  }

  /** Removes the table from the queue, or keeps it due if work was added during the lease. */
  async finishTable({ id, kind, tableNumber }: Lease): Promise<void> {
    await this.database.query(
      `WITH done AS (
         DELETE FROM table_work WHERE table_number = $1 AND kind = $2 AND lease = $3 AND due_at = 'infinity'
         RETURNING 1)
       UPDATE table_work SET lease = NULL, attempts = 0, last_error = NULL
       WHERE table_number = $1 AND kind = $2 AND lease = $3 AND NOT EXISTS (SELECT 1 FROM done)`,
      [tableNumber, kind, id],
    );
  }
}
