import { maxRowId } from '@parley/contracts/tables/rows';
import type { Column } from '../tables/table.entity';
import type { KnownTable } from '../tables/table-catalog';
import { checkRows } from './checked-rows';
import type { Remarks } from './remarks';

/** What a request wants of one row, found to fit the table. */
export interface Change {
  /** In the request, from 0. */
  place: number;
  /** As it came: `eachIdOnce` checks it. */
  id?: number;
  /** Values by column key, null for a column to be emptied. */
  data: Record<string, unknown>;
}

/** The rows of a request that fit the table. */
export async function checkChanges(
  table: KnownTable,
  rows: Record<string, unknown>[],
  remarks: Remarks,
): Promise<Change[]> {
  const checked = await checkRows(rows, (row) => table.validator.checkChange(row), remarks);
  return checked.map(({ place, data }) => ({ place, id: (rows[place]!.id ?? undefined) as number | undefined, data }));
}

/** Those that name a row by its id. */
export function withId(changes: Change[], remarks: Remarks): Change[] {
  return changes.filter(({ id, place }) => {
    if (id === undefined) remarks.refuse(place, 'id is needed to find the row');
    return id !== undefined;
  });
}

/** Those that name no row, and the first that names each. */
export function eachIdOnce(changes: Change[], remarks: Remarks): Change[] {
  const seen = new Set<number>();
  return changes.filter(({ id, place }) => {
    if (id === undefined) return true;
    const isId = Number.isInteger(id) && id > 0 && id <= maxRowId;
    const isFirst = isId && !seen.has(id);
    if (!isId) remarks.refuse(place, `id must be the number of a row, from 1 to ${maxRowId}`);
    else if (!isFirst) remarks.refuse(place, `an earlier row of the request has the id ${id}`);
    seen.add(id);
    return isFirst;
  });
}

/** The first change with each value in the column; later ones, and those without a value, are refused. */
export function firstOfEach(changes: Change[], { name, key }: Column, remarks: Remarks): Change[] {
  const seen = new Set<string>();
  return changes.filter(({ id, place, data }) => {
    const value = data[key] ?? null;
    const identity = identityOf(value);
    const isFirst = value !== null && !seen.has(identity);
    if (value === null) remarks.refuse(place, `${name} is needed to find the row`);
    else if (!isFirst) remarks.refuse(place, `an earlier row of the request has this ${name}`);
    else if (id !== undefined) remarks.warn(place, 'id is set by the platform and was left out');
    seen.add(identity);
    return isFirst;
  });
}

/** The same text for the same string, number or boolean. */
export function identityOf(value: unknown): string {
  return JSON.stringify(value ?? null);
}
