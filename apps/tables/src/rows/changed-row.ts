import { isDeepStrictEqual } from 'node:util';
import { type Marks, marksOfChange, marksOfNewRow } from '../computed/marks';
import { withoutNulls } from '../tables/row-validator';
import type { KnownTable } from '../tables/table-catalog';
import type { StoredRow } from './row.entity';

/** What a change of a row writes. */
export type RowState = Pick<StoredRow, 'data' | 'computed' | 'stale' | 'unindexed'>;

type Changed = RowState & Pick<Marks, 'work'>;

/** The row with these columns changed, null emptying them, and what has to be done about it. */
export function changeRow(
  table: KnownTable,
  stored: Omit<StoredRow, 'updated_at'>,
  change: Record<string, unknown>,
): Changed {
  const data = { ...stored.data };
  const changed: string[] = [];
  for (const { name, key } of table.columns.values()) {
    const value = change[key];
    if (value === undefined || isDeepStrictEqual(value, stored.data[key] ?? null)) continue;
    changed.push(name);
    if (value === null) delete data[key];
    else data[key] = value;
  }
  const marks = marksOfChange(table, changed);
  return {
    data,
    computed: marks.computed ? { ...stored.computed, ...marks.computed } : stored.computed,
    stale: marks.stale ? [...new Set([...(stored.stale ?? []), ...marks.stale])] : stored.stale,
    unindexed: stored.unindexed || marks.unindexed,
    work: marks.work,
  };
}

export function newRow(table: KnownTable, given: Record<string, unknown>): Changed {
  return { data: withoutNulls(given), ...marksOfNewRow(table) };
}
