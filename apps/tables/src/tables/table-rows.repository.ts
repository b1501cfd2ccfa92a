import { Injectable } from '@nestjs/common';
import { ApiError } from '@parley/contracts/errors';
import type { Sql, Transaction } from '@parley/persistence/database';
import { isStopped } from '@parley/persistence/errors';
import { toJsonb } from '@parley/persistence/storable';
import { type EffectOnRows, workOf } from '../schema/effect-on-rows';
import type { TableRow } from './table.entity';
import { queuedWork } from './table-queues';

export interface Duplicate {
  value: unknown;
  ids: number[];
}

/** Processed rows. `lastId` is null when there were none. */
export interface Settled {
  lastId: number | null;
  rows: number;
}

/** Statement timeout for setting the keys of all rows. Three such statements fit the timeout of the operation. */
const rekeyTimeoutMs = 9_000;

@Injectable()
export class TableRowsRepository {
  async measureTable(sql: Sql, { number }: Pick<TableRow, 'number'>): Promise<{ rows: number; lastRowId: number }> {
    const [row] = await sql.query<{ rows: string; lastRowId: number }>(
      `SELECT next_row_id - 1 - unused_ids AS rows, (next_row_id - 1)::int AS "lastRowId"
       FROM table_state JOIN "table" USING (number) WHERE number = $1`,
      [number],
    );
    return { ...row!, rows: Number(row!.rows) };
  }

  /** Up to `limit` values that several rows have in the column, each with its first two rows. Throws OperationTimeout. */
  listDuplicates(tx: Transaction, tableNumber: string, columnKey: string, limit: number): Promise<Duplicate[]> {
    return patiently(tx, () =>
      tx.query<Duplicate>(
        `SELECT (array_agg(data -> $2 ORDER BY id))[1] AS value, (array_agg(id ORDER BY id))[1:2] AS ids
         FROM row WHERE table_number = $1 AND row_key(data -> $2) IS NOT NULL
         GROUP BY row_key(data -> $2) HAVING count(*) > 1 ORDER BY min(id) LIMIT $3`,
        [tableNumber, columnKey, limit],
      ),
    );
  }

  /** Sets the keys of all rows of a locked table from the column. Throws OperationTimeout. */
  rekeyRows(tx: Transaction, tableNumber: string, columnKey: string): Promise<void> {
    return patiently(tx, async () => {
      // Cleared first: a new key could conflict with the former key of another row. Keys remain when a table loses its
      // key column.
      await tx.query('UPDATE row SET key = NULL WHERE table_number = $1 AND key IS NOT NULL', [tableNumber]);
      await tx.query(
        'UPDATE row SET key = row_key(data -> $2) WHERE table_number = $1 AND row_key(data -> $2) IS NOT NULL',
        [tableNumber, columnKey],
      );
    });
  }

  /**
   * Applies the effect to the next rows. Undefined when the table has changed since it was read. Index: the primary
   * key.
   */
  async applyEffect(
    tx: Sql,
    { number, bot_id, version }: Pick<TableRow, 'number' | 'bot_id' | 'version'>,
    effect: EffectOnRows,
    afterId: number,
    limit: number,
  ): Promise<Settled | undefined> {
    const { emptied, stale, uncomputed, unindexed = null } = effect;
    const work = workOf(effect);
    const [settled] = await tx.query<Settled>(
      `WITH state AS MATERIALIZED (
         SELECT 1 FROM table_state WHERE number = $1 AND version = $2 FOR KEY SHARE),
       page AS MATERIALIZED (
         SELECT id FROM row WHERE table_number = $1 AND id > $3 AND (SELECT count(*) FROM state) = 1 ORDER BY id LIMIT $4),
       changed AS (
         UPDATE row SET
           data = data - $5::text[],
           computed = nullif((coalesce(computed, '{}') - $6::text[]) || $8::jsonb, '{}'),
           stale = nullif(ARRAY(SELECT unnest(stale || $7::text[]) EXCEPT SELECT unnest($6::text[])), '{}'),
           unindexed = coalesce($9, unindexed),
           revision = revision + 1
         WHERE table_number = $1 AND id = ANY (ARRAY(
           SELECT id FROM row
           WHERE table_number = $1 AND id = ANY (ARRAY(SELECT id FROM page))
             AND (cardinality($7::text[]) > 0 OR data ?| $5::text[] OR computed ?| $6::text[] OR stale && $6::text[]
               OR unindexed <> $9)
           ORDER BY id FOR UPDATE))
         RETURNING 1)
       ${queuedWork(work, '$1', '$10', 'state')}
       SELECT (SELECT max(id) FROM page) AS "lastId", (SELECT count(*)::int FROM changed) AS rows FROM state`,
      [
        number,
        version,
        afterId,
        limit,
        emptied,
        [...emptied, ...uncomputed],
        stale,
        toJsonb(Object.fromEntries(stale.map((key) => [key, { status: 'pending' }]))),
        unindexed,
        ...(work.length > 0 ? [bot_id] : []),
      ],
    );
    return settled;
  }
}

async function patiently<T>(tx: Transaction, work: () => Promise<T>): Promise<T> {
  await tx.query(`SET LOCAL statement_timeout = ${rekeyTimeoutMs}`);
  return work().catch((error: unknown) => {
    if (!isStopped(error)) throw error;
    throw new ApiError(
      'OperationTimeout',
      `keyColumn: setting the keys of all rows took more than ${rekeyTimeoutMs / 1000} s; nothing was changed. Try again ` +
        'when the load is lower, or create a table with this keyColumn and import an export of this table.',
      { cause: error },
    );
  });
}
