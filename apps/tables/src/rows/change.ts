import { isDeepStrictEqual } from 'node:util';
import { maxRowId } from '@parley/contracts/tables/rows';
import type { TableColumn } from '../schema/columns';
import { type DirtyFlags, dirtyFlagsOfChange, dirtyFlagsOfNewRow } from '../schema/dirty-flags';
import { withoutNulls } from '../schema/row-validator';
import type { StoredRow } from '../tables/row.entity';
import type { CachedTable } from '../tables/table.cache';
import { checkRows } from './checked-rows';
import type { RowProblems } from './row-problems';

export interface Change {
  /** Position in the request, from 0. */
  position: number;
  /** Not validated yet: `eachIdOnce` checks it. */
  id?: number;
  /** Values by column key; null removes the value. */
  data: Record<string, unknown>;
}

export async function checkChanges(
  table: CachedTable,
  rows: Record<string, unknown>[],
  problems: RowProblems,
): Promise<Change[]> {
  const checked = await checkRows(rows, (row) => table.validator.checkChange(row), problems);
  return checked.map(({ position, data }) => ({
    position,
    id: (rows[position]!.id ?? undefined) as number | undefined,
    data,
  }));
}

export function withId(changes: Change[], problems: RowProblems): Change[] {
  return changes.filter(({ id, position }) => {
    if (id === undefined) problems.refuse(position, 'id is needed to find the row');
    return id !== undefined;
  });
}

/** Refuses invalid and repeated ids; changes without an id pass. */
export function eachIdOnce(changes: Change[], problems: RowProblems): Change[] {
  const seen = new Set<number>();
  return changes.filter(({ id, position }) => {
    if (id === undefined) return true;
    const isId = Number.isInteger(id) && id > 0 && id <= maxRowId;
    const isFirst = isId && !seen.has(id);
    if (!isId) problems.refuse(position, `id must be an integer from 1 to ${maxRowId}`);
    else if (!isFirst) problems.refuse(position, `an earlier row of the request has the id ${id}`);
    seen.add(id);
    return isFirst;
  });
}

/**
 * Returns the first change for each value in the column. Refuses later changes of the value, and changes without a
 * value.
 */
export function firstOfEach(changes: Change[], { name, key }: TableColumn, problems: RowProblems): Change[] {
  const seen = new Set<string>();
  return changes.filter(({ id, position, data }) => {
    const value = data[key] ?? null;
    const identity = identityOf(value);
    const isFirst = value !== null && !seen.has(identity);
    if (value === null) problems.refuse(position, `${name} is needed to find the row`);
    else if (!isFirst) problems.refuse(position, `an earlier row of the request has this ${name}`);
    else if (id !== undefined) problems.warn(position, 'id is set by the platform and was ignored');
    seen.add(identity);
    return isFirst;
  });
}

export function identityOf(value: unknown): string {
  return JSON.stringify(value ?? null);
}

export type RowState = Pick<StoredRow, 'data' | 'computed' | 'stale' | 'unindexed'>;

export type ChangedRow = RowState & Pick<DirtyFlags, 'work'>;

/**
 * Applies a change, in which null removes a value, and flags the dependent work. Drops values of columns that the table
 * no longer has.
 */
export function changeRow(
  table: CachedTable,
  stored: Omit<StoredRow, 'updated_at'>,
  change: Record<string, unknown>,
): ChangedRow {
  const data: Record<string, unknown> = {};
  const changed: string[] = [];
  for (const { name, key } of table.columns.values()) {
    const before = stored.data[key] ?? null;
    const value = change[key] === undefined ? before : change[key];
    if (value !== null) data[key] = value;
    if (value !== before && !isDeepStrictEqual(value, before)) changed.push(name);
  }
  const flags = dirtyFlagsOfChange(table, changed);
  return {
    data,
    computed: flags.computed ? { ...stored.computed, ...flags.computed } : stored.computed,
    stale: flags.stale ? [...new Set([...(stored.stale ?? []), ...flags.stale])] : stored.stale,
    unindexed: stored.unindexed || flags.unindexed,
    work: flags.work,
  };
}

export function newRow(table: CachedTable, given: Record<string, unknown>): ChangedRow {
  return { data: withoutNulls(given), ...dirtyFlagsOfNewRow(table) };
}
