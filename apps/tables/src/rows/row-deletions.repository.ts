import { Injectable } from '@nestjs/common';
import type { Sql, Transaction } from '@parley/persistence/database';
import { ofMatching, conditionOf } from '../queries/filter-sql';
import type { Filter } from '../queries/filter';
import { isSearchable } from '../schema/dirty-flags';
import type { CachedTable } from '../tables/table.cache';
import type { TableRow } from '../tables/table.entity';
import { queuedWork } from '../tables/table-queues';

/**
 * Deletes rows that meet the condition and counts their ids as unused. Returns nothing when the table's version has
 * changed. Rows are locked by id and the condition is evaluated after the lock. Ids are passed as arrays, which rules
 * out a bad join plan, and OFFSET 0 keeps the condition from choosing an index.
 */
function deletion(condition: string, queued: string): string {
  return `
    WITH state AS MATERIALIZED (
      SELECT 1 FROM table_state WHERE number = $1 AND version = $2 FOR KEY SHARE),
    gone AS (
      DELETE FROM row WHERE table_number = $1 AND id = ANY (ARRAY(
        SELECT row.id FROM (
          SELECT * FROM row WHERE table_number = $1 AND id = ANY ($3::integer[]) AND (SELECT count(*) FROM state) = 1
          ORDER BY id OFFSET 0 FOR UPDATE) AS row
        WHERE ${condition}))
      RETURNING id),
    ids AS (SELECT coalesce(array_agg(id ORDER BY id), '{}') AS gone FROM gone),
    counted AS (
      UPDATE "table" SET unused_ids = unused_ids + cardinality(ids.gone) FROM ids
      WHERE number = $1 AND cardinality(ids.gone) > 0)
    ${queued}
    SELECT ids.gone FROM ids, state`;
}

const queuePoints = (botId: string) => `,
    noted AS (INSERT INTO dropped_point (table_number, row_id) SELECT $1, id FROM gone)
    ${queuedWork(['index'], '$1', botId, 'state')}`;

type DeletedFrom = Pick<CachedTable, 'number' | 'bot_id' | 'version' | 'columns'>;

const everyRow: Filter = { kind: 'all', of: [] };

@Injectable()
export class RowDeletionsRepository {
  /**
   * Returns the ids of the deleted rows that match the filter. Undefined, with nothing deleted, when the table has
   * changed since it was read.
   */
  async deleteRows(
    sql: Sql,
    { number, bot_id, version, columns }: DeletedFrom,
    ids: number[],
    filter: Filter = everyRow,
  ): Promise<number[] | undefined> {
    const values: unknown[] = [number, version, ids];
    const condition = conditionOf(filter, values);
    const hasPoints = [...columns.values()].some(isSearchable);
    const statement = deletion(condition, hasPoints ? queuePoints(`$${values.push(bot_id)}`) : '');
    const [done] = await sql.query<{ gone: number[] }>(statement, values).catch((error: unknown) => {
      throw ofMatching(filter, error);
    });
    return done?.gone;
  }

  /** `deleteRows` with a statement timeout, which is a 503. */
  async deleteRowsWithin(
    tx: Transaction,
    timeoutMs: number,
    table: DeletedFrom,
    ids: number[],
    filter: Filter,
  ): Promise<number[] | undefined> {
    await tx.query(`SET LOCAL statement_timeout = ${timeoutMs}`);
    return this.deleteRows(tx, table, ids, filter);
  }

  /**
   * Truncates a locked table in constant time: it gets a new table number without rows. The rows of the
   * old number are left. Returns the number of rows.
   */
  async truncateTable(tx: Sql, { id, bot_id, number }: Pick<TableRow, 'id' | 'bot_id' | 'number'>): Promise<number> {
    const [done] = await tx.query<{ rows: string }>(
      `WITH old AS (DELETE FROM table_state WHERE number = $1 RETURNING version, next_row_id),
         state AS (
           INSERT INTO table_state (number, version, next_row_id)
           SELECT nextval('table_number'), version + 1, next_row_id FROM old RETURNING number, next_row_id),
         before AS (SELECT unused_ids FROM "table" WHERE id = $2 AND bot_id = $3),
         renumbered AS (
           UPDATE "table" SET number = state.number, unused_ids = state.next_row_id - 1
           FROM state WHERE id = $2 AND bot_id = $3)
       SELECT next_row_id - 1 - unused_ids AS rows FROM old, before`,
      [number, id, bot_id],
    );
    return Number(done!.rows);
  }
}
