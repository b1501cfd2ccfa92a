import { Injectable } from '@nestjs/common';
import type { Sql } from '@parley/database/database';
import { toJsonb } from '@parley/database/storable';
import type { EffectOnRows } from './effect-on-rows';
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
      `INSERT INTO table_work (table_number, kind) SELECT $1, kind FROM unnest($2::text[]) AS kind ORDER BY kind
       ${dueNow}`,
      [tableNumber, work],
    );
  }
}
