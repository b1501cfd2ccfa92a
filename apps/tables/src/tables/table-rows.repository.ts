import { Injectable } from '@nestjs/common';
import type { Sql } from '@parley/database/database';
import { toJsonb } from '@parley/database/storable';
import type { EffectOnRows } from './effect-on-rows';
import type { TableRow } from './table.entity';
import { dueNow } from '../work/queue-sql';

/** Two rows with one value. */
export interface Duplicate {
  value: unknown;
  ids: number[];
}

/** All rows of a table at once, for a table that is locked. */
@Injectable()
export class TableRowsRepository {
  /** Up to so many values that several rows have in the column, with the first two of these rows. */
  async listDuplicates(tx: Sql, tableNumber: string, columnKey: string, limit: number): Promise<Duplicate[]> {
    return tx.query<Duplicate>(
      `SELECT (array_agg(data -> $2 ORDER BY id))[1] AS value, (array_agg(id ORDER BY id))[1:2] AS ids
       FROM row WHERE table_number = $1 AND row_key(data -> $2) IS NOT NULL
       GROUP BY row_key(data -> $2) HAVING count(*) > 1 ORDER BY min(id) LIMIT $3`,
      [tableNumber, columnKey, limit],
    );
  }

  async apply(tx: Sql, tableNumber: string, effect: EffectOnRows): Promise<void> {
    const { rekey, stale, uncomputed, unindexed = null, work } = effect;
    // Row by row, a new key could meet the old one of another row.
    if (rekey?.from && rekey.to) await tx.query('UPDATE row SET key = NULL WHERE table_number = $1', [tableNumber]);
    await tx.query(
      `UPDATE row SET
         key = CASE WHEN $2 THEN row_key(data -> $3) ELSE key END,
         stale = nullif(ARRAY(SELECT unnest(stale || $4::text[]) EXCEPT SELECT unnest($5::text[])), '{}'),
         computed = nullif((coalesce(computed, '{}') - $5::text[]) || $6::jsonb, '{}'),
         unindexed = coalesce($7, unindexed),
         revision = revision + 1
       WHERE table_number = $1`,
      [
        tableNumber,
        rekey !== undefined,
        rekey?.to ?? null,
        stale,
        uncomputed,
        toJsonb(Object.fromEntries(stale.map((key) => [key, { status: 'pending' }]))),
        unindexed,
      ],
    );
    await tx.query(
      `INSERT INTO table_work (table_number, kind) SELECT $1, unnest($2::text[])
       ${dueNow}`,
      [tableNumber, work],
    );
  }

  /**
   * Copies the rows, their ids from 1 in the order of the source, with how far each computed column is; how many there
   * are. The copy has the columns of the source by other keys.
   */
  async copy(
    tx: Sql,
    source: string,
    copy: TableRow,
    keys: Record<string, string>,
    isSearchable: boolean,
  ): Promise<number> {
    const [{ count } = { count: '0' }] = await tx.query<{ count: string }>(
      `WITH copied AS (
         INSERT INTO row (table_number, id, key, data, computed, stale, unindexed)
         SELECT $2::bigint, (row_number() OVER (ORDER BY id))::int, key,
           (SELECT coalesce(jsonb_object_agg($3::jsonb ->> name, value), '{}') FROM jsonb_each(data) AS entry (name, value)
            WHERE $3::jsonb ? name),
           (SELECT jsonb_object_agg($3::jsonb ->> name, value) FROM jsonb_each(computed) AS entry (name, value)
            WHERE $3::jsonb ? name),
           (SELECT array_agg($3::jsonb ->> name) FROM unnest(stale) AS name WHERE $3::jsonb ? name),
           $4::boolean
         FROM row WHERE table_number = $1
         RETURNING stale),
       counted AS (SELECT count(*) AS count, count(stale) AS stale FROM copied),
       state AS (UPDATE table_state SET next_row_id = 1 + count FROM counted WHERE number = $2),
       queued AS (
         INSERT INTO table_work (table_number, kind)
         SELECT $2, kind FROM counted, LATERAL (VALUES ('compute', stale > 0), ('index', $4 AND count > 0)) AS work (kind, is_due)
         WHERE is_due)
       SELECT count FROM counted`,
      [source, copy.number, toJsonb(keys), isSearchable],
    );
    return Number(count);
  }
}
