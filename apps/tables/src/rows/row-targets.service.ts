import { Injectable } from '@nestjs/common';
import { ApiError } from '@parley/contracts/errors';
import type { Sql } from '@parley/persistence/database';
import { isComparable, keyColumnOf, type TableColumn } from '../schema/columns';
import type { CachedTable } from '../tables/table.cache';
import { type Change, identityOf } from './change';
import { type LockedRow, RowChangesRepository } from './row-changes.repository';
import type { RowProblems } from './row-problems';

/** A change with its locked row; without one it inserts. */
export interface Target extends Change {
  stored?: LockedRow;
}

/** Target rows of changes: found by id, key or column, locked, and checked for the uniqueness of keys. */
@Injectable()
export class RowTargetsService {
  constructor(private readonly changes: RowChangesRepository) {}

  /** For each change, up to two ids of rows with its value in the column; without a column, the id of the change. */
  async findIds(sql: Sql, table: CachedTable, column: TableColumn | undefined, changes: Change[]): Promise<number[][]> {
    if (!column) return changes.map(({ id }) => (id === undefined ? [] : [id]));
    const values = changes.map(({ data }) => data[column.key]);
    return column === keyColumnOf(table)
      ? this.changes.listIdsByKeys(sql, table, values)
      : this.changes.listIdsByColumn(sql, table, column, values);
  }

  /** Locks the rows found and assigns them to the changes. A change without a row inserts. */
  async lockTargets(
    tx: Sql,
    table: CachedTable,
    column: TableColumn | undefined,
    changes: Change[],
    found: number[][],
    problems: RowProblems,
  ): Promise<Target[]> {
    const rows = await this.changes.lockRows(tx, table, found.flat());
    return changes.flatMap((change, index) => {
      const [id, another] = found[index]!;
      const stored = id === undefined ? undefined : rows.get(id);
      if (column && another !== undefined) {
        problems.refuse(change.position, `more than one row has this ${column.name}`);
        return [];
      }
      if (!column && id !== undefined && !stored) {
        problems.refuse(change.position, `there is no row ${id} in this table`);
        return [];
      }
      // A row that changed before it was locked may no longer have the value.
      const isStillMatching =
        stored && (!column || identityOf(stored.data[column.key]) === identityOf(change.data[column.key]));
      return [isStillMatching ? { ...change, stored } : change];
    });
  }

  /** Refuses changes that set a key of another row, or of an earlier row of the request. */
  async withFreeKeys(tx: Sql, table: CachedTable, targets: Target[], problems: RowProblems): Promise<Target[]> {
    const column = keyColumnOf(table);
    if (!column) return targets;
    const { name, key } = column;
    const getsKey = ({ data, stored }: Target) =>
      (data[key] ?? null) !== null && (!stored || identityOf(stored.data[key]) !== identityOf(data[key]));
    const getting = targets.filter(getsKey);
    if (getting.length === 0) return targets;

    const holders = await this.changes.listIdsByKeys(
      tx,
      table,
      getting.map(({ data }) => data[key]),
    );
    const taken = new Set(getting.filter((_target, index) => holders[index]!.length > 0));
    const given = new Set<string>();
    return targets.filter((target) => {
      if (!getsKey(target)) return true;
      const identity = identityOf(target.data[key]);
      const isFree = !taken.has(target) && !given.has(identity);
      if (isFree) given.add(identity);
      else problems.refuse(target.position, `another row has the same ${name}, which must be unique`);
      return isFree;
    });
  }
}

/** Whether a change sets a key, which needs the lock against concurrent inserts. */
export function setsKeys(table: CachedTable, changes: Change[]): boolean {
  const column = keyColumnOf(table);
  return column !== undefined && changes.some(({ data }) => (data[column.key] ?? null) !== null);
}

export function comparableColumnOf({ columns }: CachedTable, name: string): TableColumn | undefined {
  const column = columns.get(name);
  return column && isComparable(column.schema) ? column : undefined;
}

export function notComparable({ columns }: CachedTable): ApiError {
  const names = [...columns.values()].filter(({ schema }) => isComparable(schema)).map(({ name }) => name);
  return new ApiError(
    'InvalidPayload',
    `keyColumn must be id or a column of type string, number or boolean: ${names.join(', ') || 'this table has none'}.`,
  );
}
