import { Injectable } from '@nestjs/common';
import { Database } from '@parley/database/database';
import { toText } from '@parley/database/storable';
import type { WorkKind } from '../computed/marks';

/** A table that this process works on until it lets go, or until it is silent for too long. */
export interface Lease {
  id: string;
  kind: WorkKind;
  tableNumber: string;
  /** Failures in a row. */
  attempts: number;
}

/** Which tables a worker takes: those that ask a completion server may take long and have workers of their own. */
export type WorkTables = 'all' | 'asking' | 'others';

const isAsking = `coalesce(jsonb_path_exists(schema, '$.properties.*."x-zui".computed ? (@.action == "ai")'), false)`;
const conditions: Record<WorkTables, string> = { all: 'true', asking: isAsking, others: `NOT ${isAsking}` };

/** The queue of tables: one row for each kind of work that a table has. */
@Injectable()
export class WorkRepository {
  constructor(private readonly database: Database) {}

  /**
   * Of the tables on which nobody works the one that has waited longest, of the bot whose last turn is longest ago. It is
   * never due while it is taken, so that whoever asks for work meanwhile leaves a trace. A table whose worker fell silent
   * may be what ended it: that counts as a failure, and the pause before the next try grows. The last turns are found once
   * for all tables that wait.
   */
  async take(kind: WorkKind, id: string, leaseMs: number, tables: WorkTables = 'all'): Promise<Lease | undefined> {
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

  /** Shows that its worker is alive. False when another one has taken over. */
  async renew({ id, kind, tableNumber }: Lease): Promise<boolean> {
    const rows = await this.database.query(
      `UPDATE table_work SET taken_at = now() WHERE table_number = $1 AND kind = $2 AND lease = $3 RETURNING 1`,
      [tableNumber, kind, id],
    );
    return rows.length > 0;
  }

  /** There is more to do: the table goes behind all that are due already. */
  async requeue({ id, kind, tableNumber }: Lease): Promise<void> {
    await this.database.query(
      `UPDATE table_work SET lease = NULL, due_at = now(), attempts = 0, last_error = NULL
       WHERE table_number = $1 AND kind = $2 AND lease = $3`,
      [tableNumber, kind, id],
    );
  }

  /** Nothing can be done for so long, after so many failures in a row. */
  async postpone({ id, kind, tableNumber }: Lease, pauseMs: number, error: string, attempts: number): Promise<void> {
    await this.database.query(
      `UPDATE table_work SET lease = NULL, due_at = now() + $4 * interval '1 millisecond', attempts = $6,
         last_error = $5
       WHERE table_number = $1 AND kind = $2 AND lease = $3`,
      [tableNumber, kind, id, pauseMs, toText(error), attempts],
    );
  }

  /** Nothing is left to do, unless somebody has asked for more meanwhile: then it is due already. */
  async finish({ id, kind, tableNumber }: Lease): Promise<void> {
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
