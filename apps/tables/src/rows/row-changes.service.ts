import { Injectable } from '@nestjs/common';
import type { BotCaller } from '@parley/contracts/access';
import { ApiError } from '@parley/contracts/errors';
import type { Row, StoredRows, UpdateTableRows, UpsertedRows, UpsertTableRows } from '@parley/contracts/tables/rows';
import { Database, type Sql } from '@parley/database/database';
import type { Column } from '../tables/table.entity';
import { type KnownTable, TableCatalog } from '../tables/table-catalog';
import { type Change, checkChanges, eachIdOnce, firstOfEach, identityOf, withId } from './change';
import { changeRow, newRow } from './changed-row';
import { Remarks } from './remarks';
import { type StoredRow, toRow } from './row.entity';
import { RowChangesRepository } from './row-changes.repository';
import { WrittenRows } from './written-rows';

/** A change with the row that it changes, which is locked; a new row has none. */
interface Target extends Change {
  stored?: StoredRow;
}

interface Written {
  row: Row;
  isNew: boolean;
}

const comparableTypes = ['string', 'number', 'boolean'];

@Injectable()
export class RowChangesService {
  constructor(
    private readonly database: Database,
    private readonly catalog: TableCatalog,
    private readonly changes: RowChangesRepository,
    private readonly written: WrittenRows,
  ) {}

  async update({ bot }: BotCaller, input: UpdateTableRows): Promise<StoredRows> {
    const stored = await this.catalog.write(bot.id, input.table, (table) => this.updateIn(table, input));
    return { ...stored, rows: await this.written.settle(bot.id, input, stored.rows) };
  }

  async upsert({ bot }: BotCaller, input: UpsertTableRows): Promise<UpsertedRows> {
    const stored = await this.catalog.write(bot.id, input.table, (table) => this.upsertIn(table, input));
    return {
      ...stored,
      inserted: await this.written.settle(bot.id, input, stored.inserted),
      updated: await this.written.settle(bot.id, input, stored.updated),
    };
  }

  /** Undefined when the table is no longer what it is taken for. */
  private updateIn(table: KnownTable, input: UpdateTableRows): Promise<StoredRows | undefined> {
    const remarks = Remarks.of(input);
    const changes = eachIdOnce(withId(checkChanges(table, input.rows, remarks), remarks), remarks);
    const key = keyColumnOf(table);
    // Only who gives keys has to keep others from doing so.
    const givesKeys = key !== undefined && changes.some(({ data }) => (data[key.key] ?? null) !== null);
    return this.database.transaction(async (tx) => {
      const isLocked = givesKeys
        ? (await this.changes.lockForKeys(tx, table)) !== undefined
        : await this.changes.lockVersion(tx, table);
      if (!isLocked) return undefined;

      const targets = await this.lockTargets(tx, table, changes, remarks);
      const written = await this.write(tx, table, await this.withFreeKeys(tx, table, targets, remarks), 0, remarks);
      return { rows: written.map(({ row }) => row), ...remarks.toAnswer() };
    });
  }

  /** Undefined when the table is no longer what it is taken for. */
  private upsertIn(table: KnownTable, input: UpsertTableRows): Promise<UpsertedRows | undefined> {
    const { keyColumn } = input;
    const remarks = Remarks.of(input);
    const changes = checkChanges(table, input.rows, remarks);
    return this.database.transaction(async (tx) => {
      const nextId = await this.changes.lockForKeys(tx, table);
      if (nextId === undefined) return undefined;

      const column = keyColumn === undefined || keyColumn === 'id' ? undefined : comparableColumn(table, keyColumn);
      const targets = await (column
        ? this.findTargets(tx, table, column, changes, remarks)
        : this.lockTargets(tx, table, eachIdOnce(changes, remarks), remarks));
      // What was looked for by its key and not found has a free one.
      const free =
        column && column === keyColumnOf(table) ? targets : await this.withFreeKeys(tx, table, targets, remarks);
      const written = await this.write(tx, table, free, nextId, remarks);
      return {
        inserted: written.filter(({ isNew }) => isNew).map(({ row }) => row),
        updated: written.filter(({ isNew }) => !isNew).map(({ row }) => row),
        ...remarks.toAnswer(),
      };
    });
  }

  /** The rows that the changes name by id. A change without an id is a new row. */
  private async lockTargets(tx: Sql, table: KnownTable, changes: Change[], remarks: Remarks): Promise<Target[]> {
    const ids = changes.flatMap(({ id }) => (id === undefined ? [] : [id]));
    const rows = await this.changes.lockRows(tx, table, ids);
    return changes.flatMap((change) => {
      if (change.id === undefined) return [change];
      const stored = rows.get(change.id);
      if (stored) return [{ ...change, stored }];
      remarks.refuse(change.place, `there is no row ${change.id} in this table`);
      return [];
    });
  }

  /** The rows that have the same value in the column; a change that finds none is a new row. */
  private async findTargets(
    tx: Sql,
    table: KnownTable,
    column: Column,
    all: Change[],
    remarks: Remarks,
  ): Promise<Target[]> {
    const { name, key } = column;
    const changes = firstOfEach(all, ({ data }) => data[key], remarks, {
      missing: `${name} is needed to find the row`,
      repeated: `an earlier row of the request has this ${name}`,
    });
    for (const { id, place } of changes) {
      if (id !== undefined) remarks.warn(place, 'id is set by the platform and was left out');
    }
    const values = changes.map(({ data }) => data[key]);
    const found = await (column === keyColumnOf(table)
      ? this.changes.findByKey(tx, table, values)
      : this.changes.findByColumn(tx, table, column, values));
    const rows = await this.changes.lockRows(tx, table, found.flat());
    return changes.flatMap((change, index) => {
      const ids = found[index]!;
      if (ids.length > 1) {
        remarks.refuse(change.place, `more than one row has this ${name}`);
        return [];
      }
      const stored = rows.get(ids[0]!);
      // One that was deleted or changed until it was locked is not the one that was meant.
      const isMeant = stored && identityOf(stored.data[key]) === identityOf(change.data[key]);
      return [isMeant ? { ...change, stored } : change];
    });
  }

  /** Those whose key no other row has or, earlier in the request, gets. */
  private async withFreeKeys(tx: Sql, table: KnownTable, targets: Target[], remarks: Remarks): Promise<Target[]> {
    const column = keyColumnOf(table);
    if (!column) return targets;
    const { name, key } = column;
    const getsKey = ({ data, stored }: Target) =>
      (data[key] ?? null) !== null && (!stored || identityOf(stored.data[key]) !== identityOf(data[key]));
    const getting = targets.filter(getsKey);
    if (getting.length === 0) return targets;

    const holders = await this.changes.findByKey(
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
      else remarks.refuse(target.place, `another row has this ${name}, which is unique in the table`);
      return isFree;
    });
  }

  /** Stores what fits the table as a whole, in one statement, and answers it in the order of the request. */
  private async write(
    tx: Sql,
    table: KnownTable,
    targets: Target[],
    nextId: number,
    remarks: Remarks,
  ): Promise<Written[]> {
    let added = 0;
    const fit = targets.flatMap(({ place, data, stored }) => {
      const state = stored ? changeRow(table, stored, data) : newRow(table, data);
      const missing = stored ? undefined : table.validator.requiredProblem(data);
      const problem = missing ?? table.validator.wholeProblem(state.data);
      if (problem === undefined) return [{ id: stored?.id ?? nextId + added++, stored, state }];
      remarks.refuse(place, problem);
      return [];
    });
    if (fit.length === 0) return [];

    const at = await this.changes.write(tx, table, keyColumnOf(table), {
      rows: fit.map(({ id, state }) => ({
        id,
        data: state.data,
        computed: state.computed,
        stale: state.stale,
        unindexed: state.unindexed,
      })),
      added,
      work: [...new Set(fit.flatMap(({ state }) => state.work))],
    });
    const columns = [...table.columns.values()];
    return fit.map(({ id, stored, state }) => ({
      row: toRow(columns, { ...state, id, created_at: stored?.created_at ?? at, updated_at: at }),
      isNew: !stored,
    }));
  }
}

function keyColumnOf(table: KnownTable): Column | undefined {
  return table.columns.get(table.key_column ?? '');
}

/** Throws InvalidPayload. */
function comparableColumn({ columns }: KnownTable, name: string): Column {
  const column = columns.get(name);
  if (column && comparableTypes.includes(column.schema.type)) return column;
  const right = [...columns.values()].filter(({ schema }) => comparableTypes.includes(schema.type));
  throw new ApiError(
    'InvalidPayload',
    `keyColumn must be id or a column of type string, number or boolean: ${right.map((one) => one.name).join(', ') || 'this table has none'}.`,
  );
}
