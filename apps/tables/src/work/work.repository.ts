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

/** The queue of tables: one row for each kind of work that a table has. */
@Injectable()
export class WorkRepository {
  constructor(private readonly database: Database) {}

  /**
   * The table that has waited longest, of those on which nobody works. It is never due while it is taken, so that whoever
   * asks for work meanwhile leaves a trace.
   */
  async take(kind: WorkKind, id: string, leaseMs: number): Promise<Lease | undefined> {
    const [row] = await this.database.query<{ table_number: string; attempts: number }>(
      `UPDATE table_work SET lease = $2, taken_at = now(), due_at = 'infinity'
       WHERE (table_number, kind) = (
         SELECT table_number, kind FROM table_work
         WHERE kind = $1 AND CASE WHEN lease IS NULL THEN due_at <= now()
           ELSE taken_at < now() - $3 * interval '1 millisecond' END
         ORDER BY CASE WHEN lease IS NULL THEN due_at ELSE taken_at END
         LIMIT 1 FOR UPDATE SKIP LOCKED)
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
