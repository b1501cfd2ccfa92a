import type { CellState } from '@parley/contracts/tables/rows';
import type { KnownTable } from '../tables/table-catalog';
import type { Column } from '../tables/table.entity';

export type WorkKind = 'compute' | 'index';

/** What a row that was just written waits for. */
export interface Marks {
  computed: Record<string, CellState> | null;
  stale: string[] | null;
  unindexed: boolean;
  /** The queues that its table has to be in. */
  work: WorkKind[];
}

type MarkedTable = Pick<KnownTable, 'columns' | 'is_compute_enabled'>;

/** Of a new row: every computed column is to be computed, and its searchable text to be embedded. */
export function marksOfNewRow(table: MarkedTable): Marks {
  return toMarks(computedColumns(table), [...table.columns.values()].some(isSearchable));
}

/**
 * Of a row whose columns of these names got other values: what is computed from them, directly or by way of each other,
 * is to be computed again. Its `computed` and `stale` belong beside those which the row has already.
 */
export function marksOfChange(table: MarkedTable, changed: Iterable<string>): Marks {
  const names = new Set(changed);
  const stale = new Set<Column>();
  for (let before = -1; before < stale.size;) {
    before = stale.size;
    for (const column of computedColumns(table)) {
      if (stale.has(column) || !dependenciesOf(column, table).some((name) => names.has(name))) continue;
      stale.add(column);
      names.add(column.name);
    }
  }
  const touchesText = [...table.columns.values()].some((column) => isSearchable(column) && names.has(column.name));
  return toMarks([...stale], touchesText);
}

/** The columns that the platform computes, those that need others behind them, and those of a circle as it comes. */
export function computedColumns(table: MarkedTable): Column[] {
  if (!table.is_compute_enabled) return [];
  const ordered = new Set<Column>();
  const visited = new Set<Column>();
  const visit = (column: Column | undefined) => {
    if (!column || !isComputed(column) || visited.has(column)) return;
    visited.add(column);
    dependenciesOf(column, table).forEach((name) => visit(table.columns.get(name)));
    ordered.add(column);
  };
  for (const column of table.columns.values()) visit(column);
  return [...ordered];
}

/** Names of the columns that a computed one is computed from. Who names none has all that nobody computes. */
export function dependenciesOf({ schema }: Column, { columns }: Pick<KnownTable, 'columns'>): string[] {
  const named = schema['x-zui'].computed?.dependencies ?? [];
  if (named.length > 0) return named.filter((name) => columns.has(name));
  return [...columns.values()].filter((column) => !column.schema['x-zui'].computed).map(({ name }) => name);
}

export function isSearchable({ schema }: Column): boolean {
  return schema['x-zui'].searchable === true;
}

function isComputed({ schema }: Column): boolean {
  const { computed } = schema['x-zui'];
  return computed !== undefined && computed.enabled !== false;
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

/** Of a row some of whose columns changed: what is computed from them, by way of other columns too, and its text. */
export function marksFor(
  { columns, is_compute_enabled: isComputeEnabled }: KnownTable,
  changed: ReadonlySet<string>,
): Pick<Marks, 'unindexed' | 'work'> & { stale: string[] } {
  const stale = new Set<string>();
  const reached = [...changed];
  for (const name of reached) {
    for (const column of isComputeEnabled ? columns.values() : []) {
      const { computed } = column.schema['x-zui'];
      if (!computed || computed.enabled === false || !computed.dependencies?.includes(name)) continue;
      if (stale.has(column.key)) continue;
      stale.add(column.key);
      reached.push(column.name);
    }
  }
  const unindexed = [...changed].some((name) => columns.get(name)?.schema['x-zui'].searchable);
  return {
    stale: [...stale],
    unindexed,
    work: [...(stale.size > 0 ? (['compute'] as const) : []), ...(unindexed ? (['index'] as const) : [])],
  };
}
