import type { CellState } from '@parley/contracts/tables/rows';
import type { KnownTable } from '../tables/table-catalog';

export type WorkKind = 'compute' | 'index';

/** What a row that was just written waits for. */
export interface Marks {
  computed: Record<string, CellState> | null;
  stale: string[] | null;
  unindexed: boolean;
  /** The queues that its table has to be in. */
  work: WorkKind[];
}

/** Of a new row: every computed column is to be computed, and its searchable text to be embedded. */
export function marksOfNewRow({ columns, is_compute_enabled: isComputeEnabled }: KnownTable): Marks {
  const all = [...columns.values()];
  const keys = all
    .filter(({ schema }) => isComputeEnabled && schema['x-zui'].computed && schema['x-zui'].computed.enabled !== false)
    .map(({ key }) => key);
  const unindexed = all.some(({ schema }) => schema['x-zui'].searchable);
  const hasStale = keys.length > 0;
  return {
    computed: hasStale ? Object.fromEntries(keys.map((key) => [key, { status: 'pending' }])) : null,
    stale: hasStale ? keys : null,
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
