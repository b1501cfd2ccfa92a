import { Injectable } from '@nestjs/common';
import type { TableLeftovers } from '@parley/contracts/tables/tables';
import { Database } from '@parley/persistence/database';
import { WorkQueue } from '@parley/work-queue/work-queue.service';
import { eraseRows, indexRows } from '../tables/table-queues';
import { tablesOfBot } from '../tables/tables.repository';

/** Rows of deleted and emptied tables: inaccessible, until they are deleted. */
@Injectable()
export class ErasureRepository {
  constructor(
    private readonly database: Database,
    private readonly queue: WorkQueue,
  ) {}

  /** Makes the bot's tables inaccessible and refuses new ones. */
  async dropBot(botId: string): Promise<void> {
    // A transaction of its own: a concurrent createTable has either committed before the lock is granted, or finds the
    // bot deleted.
    await this.database.transaction(async (tx) => {
      await tx.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [tablesOfBot(botId)]);
      await tx.query('INSERT INTO deleted_bot (bot_id) VALUES ($1) ON CONFLICT DO NOTHING', [botId]);
      await tx.query('DELETE FROM computing_bot WHERE bot_id = $1', [botId]);
      await tx.query('DELETE FROM bot_home WHERE bot_id = $1', [botId]);
    });
    await this.database.transaction(async (tx) => {
      // Lock order: the state of a table is locked before anything else of the table.
      await tx.query(
        `SELECT 1 FROM table_state JOIN "table" USING (number) WHERE bot_id = $1 ORDER BY number FOR UPDATE OF table_state`,
        [botId],
      );
      const gone = await tx.query<{ number: string }>(
        `WITH gone AS (DELETE FROM "table" WHERE bot_id = $1 RETURNING number)
         DELETE FROM table_state USING gone WHERE table_state.number = gone.number RETURNING gone.number`,
        [botId],
      );
      const works = gone.map(({ number }) => ({ key: number, tenant: botId, payload: null }));
      await this.queue.add(tx, eraseRows, works);
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

  /** Deletes up to `limit` rows and returns their number. An array of ids prevents a bad join plan. Index: the primary key. */
  async deleteRows(number: string, limit: number): Promise<number> {
    const rows = await this.database.query(
      `DELETE FROM row WHERE table_number = $1
         AND id = ANY (ARRAY(SELECT id FROM row WHERE table_number = $1 ORDER BY id LIMIT $2)) RETURNING 1`,
      [number, limit],
    );
    return rows.length;
  }

  /** Whether a worker writes points of the table. Index: the primary key. */
  async isIndexed(number: string): Promise<boolean> {
    const rows = await this.database.query(`SELECT 1 FROM work WHERE queue = $1 AND key = $2 AND state = 'running'`, [
      indexRows.name,
      number,
    ]);
    return rows.length > 0;
  }

  async deleteDroppedPoints(number: string): Promise<void> {
    await this.database.query('DELETE FROM dropped_point WHERE table_number = $1', [number]);
  }

  /** Index: the primary key. */
  async hasRows(number: string): Promise<boolean> {
    const rows = await this.database.query('SELECT 1 FROM row WHERE table_number = $1 LIMIT 1', [number]);
    return rows.length > 0;
  }

  async countLeftovers(botId: string): Promise<TableLeftovers> {
    const [counts] = await this.database.query<Record<keyof TableLeftovers, string>>(
      `WITH numbers AS (
         SELECT number FROM "table" WHERE bot_id = $1
         UNION SELECT key::bigint FROM work WHERE queue = '${eraseRows.name}' AND tenant = $1)
       SELECT (SELECT count(*) FROM numbers) AS tables,
         (SELECT count(*) FROM row WHERE table_number = ANY (ARRAY(SELECT number FROM numbers))) AS rows,
         (SELECT count(*) FROM idempotency_key WHERE bot_id = $1) AS "tableAnswers"`,
      [botId],
    );
    return { tables: Number(counts!.tables), rows: Number(counts!.rows), tableAnswers: Number(counts!.tableAnswers) };
  }
}
