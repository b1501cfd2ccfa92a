import type { CellState } from '@parley/contracts/tables/rows';
import { computedColumns, dependenciesOf, reachedFrom } from '../tables/computed-columns';
import type { Column, TableWithColumns } from '../tables/table.entity';

export type WorkKind = 'compute' | 'index';

/** What a row that was just written waits for. */
export interface Marks {
  computed: Record<string, CellState> | null;
  stale: string[] | null;
  unindexed: boolean;
  /** The queues that its table has to be in. */
  work: WorkKind[];
}

type MarkedTable = Pick<TableWithColumns, 'columns' | 'is_compute_enabled'>;

/** Of a new row: every computed column is to be computed, and its searchable text to be embedded. */
export function marksOfNewRow(table: MarkedTable): Marks {
  return toMarks(columnsToCompute(table), [...table.columns.values()].some(isSearchable));
}

/**
 * Of a row whose columns of these names got other values: what is computed from them, directly or by way of each other,
 * is to be computed again. Its `computed` and `stale` belong beside those which the row has already.
 */
export function marksOfChange(table: MarkedTable, changed: Iterable<string>): Marks {
  const stale = reachedFrom(changed, columnsToCompute(table), (column) => dependenciesOf(column, table.columns));
  const names = new Set([...changed, ...[...stale].map(({ name }) => name)]);
  const touchesText = [...table.columns.values()].some((column) => isSearchable(column) && names.has(column.name));
  return toMarks([...stale], touchesText);
}

/** The columns of a row that the platform computes, those that need others behind them. */
export function columnsToCompute({ columns, is_compute_enabled: isEnabled }: MarkedTable): Column[] {
  return isEnabled ? computedColumns(columns) : [];
}

export function isSearchable({ schema }: Column): boolean {
  return schema['x-zui'].searchable === true;
}

function toMarks(columns: Column[], unindexed: boolean): Marks {
  const stale = columns.map(({ key }) => key);
  const hasStale = stale.length > 0;
  return {
    computed: hasStale ? Object.fromEntries(stale.map((key) => [key, { status: 'pending' }])) : null,
    stale: hasStale ? stale : null,
    unindexed,
    work: [...(hasStale ? (['compute'] as const) : []), ...(unindexed ? (['index'] as const) : [])],
  };
}
