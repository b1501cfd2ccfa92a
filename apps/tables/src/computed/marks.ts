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
