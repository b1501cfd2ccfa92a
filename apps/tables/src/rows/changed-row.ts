import { isDeepStrictEqual } from 'node:util';
import { type DirtyFlags, dirtyFlagsOfChange, dirtyFlagsOfNewRow } from '../schema/dirty-flags';
import { withoutNulls } from '../schema/row-validator';
import type { StoredRow } from '../tables/row.entity';
import type { CachedTable } from '../tables/table.cache';

export type RowState = Pick<StoredRow, 'data' | 'computed' | 'stale' | 'unindexed'>;

export type ChangedRow = RowState & Pick<DirtyFlags, 'work'>;

/**
 * Applies a change, in which null removes a value, and flags the dependent work. Drops values of columns that the table
 * no longer has.
 */
export function changeRow(
  table: CachedTable,
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
  const flags = dirtyFlagsOfChange(table, changed);
  return {
    data,
    computed: flags.computed ? { ...stored.computed, ...flags.computed } : stored.computed,
    stale: flags.stale ? [...new Set([...(stored.stale ?? []), ...flags.stale])] : stored.stale,
    unindexed: stored.unindexed || flags.unindexed,
    work: flags.work,
  };
}

export function newRow(table: CachedTable, given: Record<string, unknown>): ChangedRow {
  return { data: withoutNulls(given), ...dirtyFlagsOfNewRow(table) };
}
