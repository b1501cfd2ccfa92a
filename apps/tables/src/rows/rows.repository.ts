import { Injectable } from '@nestjs/common';
import { maxRowId } from '@parley/contracts/tables/rows';
import { ApiError } from '@parley/contracts/errors';
import type { Sql } from '@parley/persistence/database';
import { isOutOfRange } from '@parley/persistence/errors';
import { toJsonb } from '@parley/persistence/storable';
import { keyColumnOf } from '../schema/columns';
import { dirtyFlagsOfNewRow, type WorkKind } from '../schema/dirty-flags';
import type { CheckedRow } from '../schema/row-validator';
import type { CachedTable } from '../tables/table.cache';
import { queuedWork } from '../tables/table-queues';

export interface Inserted {
  /** Id of each row, in order; undefined when its key is taken. */
  ids: (number | undefined)[];
  createdAt: Date;
}

/**
 * Inserts rows in order, with consecutive ids. Returns nothing when the table's version has changed. Locks the table's
 * state until the commit.
 */
const insertStatement = (work: WorkKind[]) => `
  WITH state AS (
    UPDATE table_state SET next_row_id = next_row_id + $3
    WHERE number = $1 AND version = $2
    RETURNING next_row_id - $3 AS first_id),
  fresh AS (
    INSERT INTO row (table_number, id, key, data, computed, stale, unindexed)
    SELECT $1, first_id + place - 1, row_key(data -> $5), data, $6, $7, $8
    FROM state, jsonb_array_elements($4::jsonb) WITH ORDINALITY AS entry (data, place)
    ON CONFLICT DO NOTHING
    RETURNING id),
  stored AS (SELECT count(*) AS count FROM fresh),
  wasted AS (
    UPDATE "table" SET unused_ids = unused_ids + $3 - count FROM stored WHERE number = $1 AND count < $3)
  ${queuedWork(work, '$1', '$9', 'state')}
  SELECT first_id::int, now()::timestamptz(3) AS created_at,
    CASE WHEN count < $3 THEN (SELECT array_agg(id) FROM fresh) END AS ids, count::int
  FROM state, stored`;

@Injectable()
export class RowsRepository {
  /** One statement. Undefined when the table has changed since it was read. */
  async insertRows(sql: Sql, table: CachedTable, rows: Pick<CheckedRow, 'json'>[]): Promise<Inserted | undefined> {
    const { computed, stale, unindexed, work } = dirtyFlagsOfNewRow(table);
    const [done] = await sql
      .query<{ first_id: number; created_at: Date; count: number; ids: number[] | null }>(
        insertStatement(work),
        [
          table.number,
          table.version,
          rows.length,
          `[${rows.map(({ json }) => json).join(',')}]`,
          keyColumnOf(table)?.key ?? null,
          computed && toJsonb(computed),
          stale,
          unindexed,
          ...(work.length > 0 ? [table.bot_id] : []),
        ],
        ['insert_rows', ...work].join('_'),
      )
      .catch((error: unknown) => {
        throw noMoreIds(error);
      });
    if (!done) return undefined;
    const stored = done.count < rows.length ? new Set(done.ids) : undefined;
    const ids = rows.map((_row, index) => {
      const id = done.first_id + index;
      return !stored || stored.has(id) ? id : undefined;
    });
    return { ids, createdAt: done.created_at };
  }
}

/** Maps an id out of range to LimitExceeded; returns every other error unchanged. */
export function noMoreIds(error: unknown): unknown {
  return isOutOfRange(error)
    ? new ApiError(
        'LimitExceeded',
        `The table has used all of its ${maxRowId} row ids. Copy its rows into a new table.`,
      )
    : error;
}
