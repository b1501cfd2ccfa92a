import { Injectable } from '@nestjs/common';
import type { TableLeftovers } from '@parley/contracts/tables/tables';
import { Database } from '@parley/persistence/database';
import { tablesOfBot } from '../tables/tables.repository';

/** Dropped rows: inaccessible, until the sweeper has deleted them. */
@Injectable()
export class ErasureRepository {
  constructor(private readonly database: Database) {}

  /** Makes the bot's tables inaccessible and refuses new ones. */
  async dropBot(botId: string): Promise<void> {
    // A transaction of its own: a concurrent createTable has either committed before the lock is granted, or finds the
    // bot deleted.
    await this.database.transaction(async (tx) => {
      await tx.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [tablesOfBot(botId)]);
      await tx.query('INSERT INTO deleted_bot (bot_id) VALUES ($1) ON CONFLICT DO NOTHING', [botId]);
    });
    await this.database.transaction(async (tx) => {
      // Lock order: the state of a table is locked before anything else of the table.
      await tx.query(
        `SELECT 1 FROM table_state JOIN "table" USING (number) WHERE bot_id = $1 ORDER BY number FOR UPDATE OF table_state`,
        [botId],
      );
      await tx.query(
        `WITH gone AS (DELETE FROM "table" WHERE bot_id = $1 RETURNING number),
           state AS (DELETE FROM table_state USING gone WHERE table_state.number = gone.number)
         INSERT INTO dropped_rows (number, bot_id) SELECT number, $1 FROM gone`,
        [botId],
      );
    });
  }

  /** Deletes up to `limit` idempotency keys of the bot and returns their number. Index: idempotency_key_of_bot. */
  async deleteIdempotencyKeys(botId: string, limit: number): Promise<number> {
    const rows = await this.database.query(
      `DELETE FROM idempotency_key WHERE ctid = ANY (ARRAY(
         SELECT ctid FROM idempotency_key WHERE bot_id = $1 ORDER BY scope, operation, key LIMIT $2)) RETURNING 1`,
      [botId, limit],
    );
    return rows.length;
  }

  /** Claims due table numbers for a minute: they become due again unless `deleteEmptied` removes them. */
  async takeDroppedNumbers(limit: number): Promise<string[]> {
    const rows = await this.database.query<{ number: string }>(
      `UPDATE dropped_rows SET due_at = now() + interval '1 minute'
       WHERE number = ANY (ARRAY(
         SELECT number FROM dropped_rows WHERE due_at <= now() ORDER BY number LIMIT $1 FOR UPDATE SKIP LOCKED))
       RETURNING number`,
      [limit],
    );
    return rows.map(({ number }) => number);
  }

  /**
   * Deletes up to `limit` rows and returns their number. Renews the claim on the number for a minute. An array of ids
   * prevents a bad join plan. Index: the primary key.
   */
  async deleteDroppedRows(number: string, limit: number): Promise<number> {
    const rows = await this.database.query(
      `WITH taken AS (UPDATE dropped_rows SET due_at = now() + interval '1 minute' WHERE number = $1)
       DELETE FROM row WHERE table_number = $1
         AND id = ANY (ARRAY(SELECT id FROM row WHERE table_number = $1 ORDER BY id LIMIT $2)) RETURNING 1`,
      [number, limit],
    );
    return rows.length;
  }

  /** Whether a worker has an unexpired lease on the table. Index: the primary key. */
  async isWorkedOn(number: string, leaseMs: number): Promise<boolean> {
    const rows = await this.database.query(
      `SELECT 1 FROM table_work
       WHERE table_number = $1 AND lease IS NOT NULL AND taken_at > now() - $2 * interval '1 millisecond'`,
      [number, leaseMs],
    );
    return rows.length > 0;
  }

  /** Removes the claim and the queued work of a number that has no rows any more. False when rows are left. */
  async deleteEmptied(number: string): Promise<boolean> {
    const [done] = await this.database.query<{ isEmpty: boolean }>(
      `WITH rest AS MATERIALIZED (SELECT id FROM row WHERE table_number = $1 ORDER BY id LIMIT 1),
         gone AS (DELETE FROM dropped_rows WHERE number = $1 AND NOT EXISTS (SELECT 1 FROM rest)),
         work AS (DELETE FROM table_work WHERE table_number = $1 AND NOT EXISTS (SELECT 1 FROM rest)),
         points AS (DELETE FROM dropped_point WHERE table_number = $1 AND NOT EXISTS (SELECT 1 FROM rest))
       SELECT NOT EXISTS (SELECT 1 FROM rest) AS "isEmpty"`,
      [number],
    );
    return done!.isEmpty;
  }

  async countLeftovers(botId: string): Promise<TableLeftovers> {
    const [counts] = await this.database.query<Record<keyof TableLeftovers, string>>(
      `WITH numbers AS (
         SELECT number FROM "table" WHERE bot_id = $1 UNION SELECT number FROM dropped_rows WHERE bot_id = $1)
       SELECT (SELECT count(*) FROM numbers) AS tables,
         (SELECT count(*) FROM row WHERE table_number = ANY (ARRAY(SELECT number FROM numbers))) AS rows,
         (SELECT count(*) FROM idempotency_key WHERE bot_id = $1) AS "tableAnswers"`,
      [botId],
    );
    return { tables: Number(counts!.tables), rows: Number(counts!.rows), tableAnswers: Number(counts!.tableAnswers) };
  }
}
