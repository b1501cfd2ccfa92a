import { isDeepStrictEqual } from 'node:util';
import { type Marks, marksOfChange, marksOfNewRow } from '../computed/marks';
import type { KnownTable } from '../tables/table-catalog';
import type { StoredRow } from './row.entity';

/** What a change of a row writes. */
export type RowState = Pick<StoredRow, 'data' | 'computed' | 'stale' | 'unindexed'>;

type Changed = RowState & Pick<Marks, 'work'>;

/** The row with these columns changed, null emptying them, and what has to be done about it. */
export function changeRow(table: KnownTable, stored: StoredRow, change: Record<string, unknown>): Changed {
  const data = withoutNulls({ ...stored.data, ...change });
  const changed = [...table.columns.values()].filter(({ key }) => !isDeepStrictEqual(data[key], stored.data[key]));
  const marks = marksOfChange(
    table,
    changed.map(({ name }) => name),
  );
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

function withoutNulls(data: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(data).filter(([, value]) => value !== null));
}
