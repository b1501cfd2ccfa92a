import { computedColumns } from './column-dependencies';
import { columnsOf, type TableSchemaRow } from './columns';
import { isSearchable, type WorkKind } from './dirty-flags';

/** Table whose schema change affects its rows. */
interface ComputedTable extends TableSchemaRow {
  is_compute_enabled: boolean;
}

/** Effect of a schema change on the data of all rows. Columns are identified by key. */
export interface EffectOnRows {
  emptied: string[];
  stale: string[];
  uncomputed: string[];
  /** Whether every row has to be indexed; undefined when the searchable columns are unchanged. */
  unindexed?: boolean;
}

/** Undefined when no row changes. */
export function effectOnRows(
  before: ComputedTable,
  after: ComputedTable,
  { emptied, staleColumns }: { emptied: string[]; staleColumns: string[] },
): EffectOnRows | undefined {
  const computed = new Set(computedKeys(after));
  const effect = {
    emptied: keysOf(before, emptied),
    stale: after.is_compute_enabled ? keysOf(after, staleColumns) : [],
    uncomputed: computedKeys(before).filter((key) => !computed.has(key)),
  };
  const searchable = searchableKeys(after);
  if (searchable.join() !== searchableKeys(before).join()) return { ...effect, unindexed: searchable.length > 0 };
  return Object.values(effect).some((keys) => keys.length > 0) ? effect : undefined;
}

/** Part of the effect that still applies to the current table. */
export function remainingEffect(effect: EffectOnRows, table: ComputedTable): EffectOnRows {
  const computed = new Set(computedKeys(table));
  return {
    ...effect,
    stale: table.is_compute_enabled ? effect.stale.filter((key) => computed.has(key)) : [],
    uncomputed: effect.uncomputed.filter((key) => !computed.has(key)),
    ...(effect.unindexed === undefined ? {} : { unindexed: searchableKeys(table).length > 0 }),
  };
}

export function workOf({ stale, unindexed }: EffectOnRows): WorkKind[] {
  return [
    ...(stale.length > 0 ? (['compute'] as const) : []),
    ...(unindexed === undefined ? [] : (['index'] as const)),
  ];
}

function computedKeys(table: TableSchemaRow): string[] {
  return computedColumns(columnsOf(table)).map(({ key }) => key);
}

function searchableKeys(table: TableSchemaRow): string[] {
  const searchable = [...columnsOf(table).values()].filter(isSearchable);
  return searchable.map(({ key }) => key).sort();
}

function keysOf(table: TableSchemaRow, names: string[]): string[] {
  const columns = columnsOf(table);
  return names.flatMap((name) => columns.get(name)?.key ?? []);
}
