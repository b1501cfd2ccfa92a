import { isDeepStrictEqual } from 'node:util';
import { type Marks, marksFor, marksOfNewRow } from '../computed/marks';
import type { KnownTable } from '../tables/table-catalog';
import type { StoredRow } from './row.entity';

/** What a change of a row writes. */
export type RowState = Pick<StoredRow, 'data' | 'computed' | 'stale' | 'unindexed'>;

type Changed = RowState & Pick<Marks, 'work'>;

/** The row with these columns changed, null emptying them, and what has to be done about it. */
export function changeRow(table: KnownTable, stored: StoredRow, change: Record<string, unknown>): Changed {
  const data = withoutNulls({ ...stored.data, ...change });
  const changed = [...table.columns.values()].filter(({ key }) => !isDeepStrictEqual(data[key], stored.data[key]));
  const marks = marksFor(table, new Set(changed.map(({ name }) => name)));
  const stale = [...new Set([...(stored.stale ?? []), ...marks.stale])];
  const pending = marks.stale.map((key) => [key, { status: 'pending' as const }]);
  return {
    data,
    computed: pending.length > 0 ? { ...stored.computed, ...Object.fromEntries(pending) } : stored.computed,
    stale: stale.length > 0 ? stale : null,
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
