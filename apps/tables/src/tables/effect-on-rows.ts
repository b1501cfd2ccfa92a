import type { WorkKind } from '../computed/marks';
import { columnsOf, type TableRow } from './table.entity';
import { computedColumns } from './table-schema';

/** What a change of a table means for all of its rows. Columns are named by their keys. */
export interface EffectOnRows {
  /** The column that the rows have their key from now on; undefined when it is the one that they had. */
  rekey?: { from: string | null; to: string | null };
  /** Computed columns whose values are to be made anew. */
  stale: string[];
  /** Columns that are not computed any more. */
  uncomputed: string[];
  /** Whether every row waits to be indexed; undefined when the searchable columns are those that there were. */
  unindexed?: boolean;
  work: WorkKind[];
}

/** Undefined when the rows stay as they are. */
export function effectOnRows(before: TableRow, after: TableRow, staleColumns: string[]): EffectOnRows | undefined {
  const from = keyColumnOf(before);
  const to = keyColumnOf(after);
  const stale = keysOf(after, after.is_compute_enabled ? staleColumns : []);
  const computed = new Set(keysOf(after, [...computedColumns(after.schema).keys()]));
  const uncomputed = keysOf(before, [...computedColumns(before.schema).keys()]).filter((key) => !computed.has(key));
  const searchable = searchableOf(after);
  const unindexed = searchable.join() === searchableOf(before).join() ? undefined : searchable.length > 0;
  if (from === to && stale.length === 0 && uncomputed.length === 0 && unindexed === undefined) return undefined;
  return {
    ...(from === to ? {} : { rekey: { from, to } }),
    stale,
    uncomputed,
    ...(unindexed === undefined ? {} : { unindexed }),
    work: [
      ...(stale.length > 0 ? (['compute'] as const) : []),
      ...(unindexed === undefined ? [] : (['index'] as const)),
    ],
  };
}

/** The key of the column that rows have their key from. */
export function keyColumnOf(table: TableRow): string | null {
  return keysOf(table, table.key_column === null ? [] : [table.key_column])[0] ?? null;
}

function keysOf(table: TableRow, names: string[]): string[] {
  const columns = columnsOf(table);
  return names.flatMap((name) => columns.get(name)?.key ?? []);
}

function searchableOf(table: TableRow): string[] {
  return [...columnsOf(table).values()]
    .filter(({ schema }) => schema['x-zui'].searchable)
    .map(({ key }) => key)
    .sort();
}
