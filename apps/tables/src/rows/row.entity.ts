import type { CellState, Row } from '@parley/contracts/tables/rows';
import type { Column } from '../tables/table.entity';

export interface StoredRow {
  id: number;
  /** Values by column key; absent is null. */
  data: Record<string, unknown>;
  computed: Record<string, CellState> | null;
  stale: string[] | null;
  unindexed: boolean;
  created_at: Date;
  updated_at: Date;
}

export function toRow(
  columns: Iterable<Column>,
  { id, data, computed, stale, created_at, updated_at }: Omit<StoredRow, 'unindexed'>,
): Row {
  const row: Row = { id, createdAt: created_at.toISOString(), updatedAt: updated_at.toISOString(), computed: {} };
  const staleNames: string[] = [];
  for (const { name, key } of columns) {
    row[name] = data[key] ?? null;
    if (!computed && !stale) continue;
    const state = computed?.[key];
    if (state) row.computed[name] = state;
    if (stale?.includes(key)) staleNames.push(name);
  }
  if (staleNames.length > 0) row.stale = staleNames;
  return row;
}
