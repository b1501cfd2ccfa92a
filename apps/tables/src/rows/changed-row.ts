import { isDeepStrictEqual } from 'node:util';
import { type Marks, marksOfChange, marksOfNewRow } from '../computed/marks';
import { withoutNulls } from '../tables/row-validator';
import type { KnownTable } from '../tables/table-catalog';
import type { StoredRow } from './row.entity';

export type RowState = Pick<StoredRow, 'data' | 'computed' | 'stale' | 'unindexed'>;

export type ChangedRow = RowState & Pick<Marks, 'work'>;

/**
 * Applies a change, in which null removes a value, and marks the dependent work. Drops values of columns that the table
 * no longer has.
 */
export function changeRow(
  table: KnownTable,
  stored: Omit<StoredRow, 'updated_at'>,
  change: Record<string, unknown>,
): ChangedRow {
  const data: Record<string, unknown> = {};
  const changed: string[] = [];
  for (const { name, key } of table.columns.values()) {
    const before = stored.data[key] ?? null;
    const value = change[key] === undefined ? before : change[key];
    if (value !== null) data[key] = value;
    if (value !== before && !isDeepStrictEqual(value, before)) changed.push(name);
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

export function newRow(table: KnownTable, given: Record<string, unknown>): ChangedRow {
  return { data: withoutNulls(given), ...marksOfNewRow(table) };
}
