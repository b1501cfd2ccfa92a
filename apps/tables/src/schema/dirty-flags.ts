import type { CellState } from '@parley/contracts/tables/rows';
import { computedColumns, dependenciesOf, reachedFrom } from './column-dependencies';
import type { TableColumn } from './columns';

export type WorkKind = 'compute' | 'index';

/** Dirty flags of a written row: the work that it waits for. */
export interface DirtyFlags {
  computed: Record<string, CellState> | null;
  stale: string[] | null;
  unindexed: boolean;
  work: WorkKind[];
}

interface FlaggedTable {
  columns: ReadonlyMap<string, TableColumn>;
  is_compute_enabled: boolean;
}

export function dirtyFlagsOfNewRow(table: FlaggedTable): DirtyFlags {
  return toDirtyFlags(columnsToCompute(table), [...table.columns.values()].some(isSearchable));
}

/**
 * Marks the columns that depend on the changed ones, directly or indirectly, as stale. The caller merges `computed` and
 * `stale` into those of the row.
 * @param changed names of columns
 */
export function dirtyFlagsOfChange(table: FlaggedTable, changed: Iterable<string>): DirtyFlags {
  const stale = reachedFrom(changed, columnsToCompute(table), (column) => dependenciesOf(column, table.columns));
  const names = new Set([...changed, ...[...stale].map(({ name }) => name)]);
  const touchesText = [...table.columns.values()].some((column) => isSearchable(column) && names.has(column.name));
  return toDirtyFlags([...stale], touchesText);
}

/** Enabled computed columns in dependency order; empty when computing is disabled for the table. */
export function columnsToCompute({ columns, is_compute_enabled: isEnabled }: FlaggedTable): TableColumn[] {
  return isEnabled ? computedColumns(columns) : [];
}

export function isSearchable({ schema }: TableColumn): boolean {
  return schema['x-zui'].searchable === true;
}

function toDirtyFlags(columns: TableColumn[], unindexed: boolean): DirtyFlags {
  const stale = columns.map(({ key }) => key);
  const hasStale = stale.length > 0;
  return {
    computed: hasStale ? Object.fromEntries(stale.map((key) => [key, { status: 'pending' }])) : null,
    stale: hasStale ? stale : null,
    unindexed,
    work: [...(hasStale ? (['compute'] as const) : []), ...(unindexed ? (['index'] as const) : [])],
  };
}
