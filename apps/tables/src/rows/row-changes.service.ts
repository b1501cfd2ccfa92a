import { Injectable } from '@nestjs/common';
import type { BotCaller } from '@parley/contracts/access';
import { ApiError } from '@parley/contracts/errors';
import type { Row, StoredRows, UpdateTableRows, UpsertedRows, UpsertTableRows } from '@parley/contracts/tables/rows';
import { tables } from '@parley/contracts/tables/tables';
import { Database, type Sql, type Transaction } from '@parley/persistence/database';
import { Idempotency } from '@parley/persistence/idempotency';
import { TablesConfig } from '../config';
import { sizeOf } from '../schema/row-validator';
import { isComparable, keyColumnOf, type TableColumn } from '../tables/table.entity';
import { type CachedTable, TableCache } from '../tables/table.cache';
import { type Change, checkChanges, eachIdOnce, firstOfEach, identityOf, withId } from './change';
import { type ChangedRow, changeRow, newRow } from './changed-row';
import { RowProblems } from './row-problems';
import { toRow } from '../tables/row.entity';
import { type LockedRow, RowChangesRepository } from './row-changes.repository';
import { TimeSlice } from './time-slice';
import { WrittenRowsService } from './written-rows.service';

/** A change with its locked row; without one it inserts. */
interface Target extends Change {
  stored?: LockedRow;
}

interface Written {
  id: number;
  stored?: LockedRow;
  state: ChangedRow;
  at: Date;
}

@Injectable()
export class RowChangesService {
  /**
   * Limit for the data of the changed rows, half of the body limit: the rest is for names and other fields. A response
   * above the body limit would be lost although the change is done.
   */
  private readonly maxAnswerBytes: number;

  constructor(
    { maxBodyBytes }: TablesConfig,
    private readonly database: Database,
    private readonly idempotency: Idempotency,
    private readonly catalog: TableCache,
    private readonly changes: RowChangesRepository,
    private readonly written: WrittenRowsService,
  ) {
    this.maxAnswerBytes = Math.floor(maxBodyBytes / 2);
  }

  async update({ bot }: BotCaller, input: UpdateTableRows): Promise<StoredRows> {
    const stored = await this.catalog.write(bot.id, input.table, (table) => this.updateIn(table, input));
    return { ...stored, rows: await this.written.settle(bot.id, input, stored.rows) };
  }

  async upsert(caller: BotCaller, input: UpsertTableRows): Promise<UpsertedRows> {
    const known = await this.idempotency.find<UpsertedRows>(caller, tables.rows.upsert, input);
    return known ?? this.catalog.write(caller.bot.id, input.table, (table) => this.upsertIn(caller, table, input));
  }

  /** Undefined when the table has changed since it was read. */
  private async updateIn(table: CachedTable, input: UpdateTableRows): Promise<StoredRows | undefined> {
    const remarks = RowProblems.of(input);
    const changes = eachIdOnce(withId(await checkChanges(table, input.rows, remarks), remarks), remarks);
    const written = await this.database.transaction(async (tx) => {
      const isLocked = givesKeys(table, changes)
        ? (await this.changes.lockForKeys(tx, table)) !== undefined
        : await this.changes.lockVersion(tx, table);
      if (!isLocked) return undefined;

      const named = changes.map(({ id }) => [id!]);
      const targets = await this.lockTargets(tx, table, undefined, changes, named, remarks);
      return this.write(tx, table, await this.withFreeKeys(tx, table, targets, remarks), 0, remarks);
    });
    return written && { rows: toRows(table, written), ...remarks.toReply() };
  }

  /** Undefined when the table, or one of the rows found, has changed since it was read. */
  private async upsertIn(
    caller: BotCaller,
    table: CachedTable,
    input: UpsertTableRows,
  ): Promise<UpsertedRows | undefined> {
    const { table: name, keyColumn = 'id' } = input;
    const column = keyColumn === 'id' ? undefined : comparableColumnOf(table, keyColumn);
    if (keyColumn !== 'id' && !column) {
      if ((await this.catalog.current(table.bot_id, name)) === table) throw notComparable(table);
      return undefined;
    }
    const remarks = RowProblems.of(input);
    const fit = await checkChanges(table, input.rows, remarks);
    const changes = column ? firstOfEach(fit, column, remarks) : eachIdOnce(fit, remarks);
    const found = await this.findIds(this.database, table, column, changes);
    const isKey = column !== undefined && column === keyColumnOf(table);
    // Updates of existing rows do not wait for concurrent inserts.
    const isChangeOnly = found.every((ids) => ids.length > 0) && (isKey || !givesKeys(table, changes));
    const write = async (tx: Transaction) => {
      if (isChangeOnly) {
        if (!(await this.changes.lockVersion(tx, table))) return undefined;
        const targets = await this.lockTargets(tx, table, column, changes, found, remarks);
        return targets.every(({ stored }) => stored) ? this.write(tx, table, targets, 0, remarks) : undefined;
      }
      const nextId = await this.changes.lockForKeys(tx, table);
      if (nextId === undefined) return undefined;
      const ids = await this.findIds(tx, table, column, changes);
      const targets = await this.lockTargets(tx, table, column, changes, ids, remarks);
      // A key that was searched for and not found is free.
      const free = isKey ? targets : await this.withFreeKeys(tx, table, targets, remarks);
      return this.write(tx, table, free, nextId, remarks);
    };
    return this.idempotency.run<UpsertedRows | undefined>(
      caller,
      tables.rows.upsert,
      input,
      async (tx) => {
        const written = await write(tx);
        if (!written) return undefined;
        const inserted = written.filter(({ stored }) => !stored);
        const updated = written.filter(({ stored }) => stored);
        return { inserted: toRows(table, inserted), updated: toRows(table, updated), ...remarks.toReply() };
      },
      async (stored) => ({
        ...stored,
        inserted: await this.written.settle(table.bot_id, input, stored.inserted),
        updated: await this.written.settle(table.bot_id, input, stored.updated),
      }),
    );
  }

  /** For each change, up to two ids of rows with its value in the column; without a column, the id of the change. */
  private async findIds(
    sql: Sql,
    table: CachedTable,
    column: TableColumn | undefined,
    changes: Change[],
  ): Promise<number[][]> {
    if (!column) return changes.map(({ id }) => (id === undefined ? [] : [id]));
    const values = changes.map(({ data }) => data[column.key]);
    return column === keyColumnOf(table)
      ? this.changes.listIdsByKeys(sql, table, values)
      : this.changes.listIdsByColumn(sql, table, column, values);
  }

  /** Locks the rows found and assigns them to the changes. A change without a row inserts. */
  private async lockTargets(
    tx: Sql,
    table: CachedTable,
    column: TableColumn | undefined,
    changes: Change[],
    found: number[][],
    remarks: RowProblems,
  ): Promise<Target[]> {
    const rows = await this.changes.lockRows(tx, table, found.flat());
    return changes.flatMap((change, index) => {
      const [id, another] = found[index]!;
      const stored = id === undefined ? undefined : rows.get(id);
      if (column && another !== undefined) {
        remarks.refuse(change.position, `more than one row has this ${column.name}`);
        return [];
      }
      if (!column && id !== undefined && !stored) {
        remarks.refuse(change.position, `there is no row ${id} in this table`);
        return [];
      }
      // A row that changed before it was locked may no longer have the value.
      const isMeant =
        stored && (!column || identityOf(stored.data[column.key]) === identityOf(change.data[column.key]));
      return [isMeant ? { ...change, stored } : change];
    });
  }

  /** Refuses changes that set a key of another row, or of an earlier row of the request. */
  private async withFreeKeys(tx: Sql, table: CachedTable, targets: Target[], remarks: RowProblems): Promise<Target[]> {
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
      else remarks.refuse(target.position, `another row has the same ${name}, which must be unique`);
      return isFree;
    });
  }

  /** Writes the valid rows in one statement. Results are in the order of the request. */
  private async write(
    tx: Sql,
    table: CachedTable,
    targets: Target[],
    nextId: number,
    remarks: RowProblems,
  ): Promise<Written[]> {
    let added = 0;
    let sizeBytes = 0;
    const fit: Omit<Written, 'at'>[] = [];
    const turn = new TimeSlice();
    for (const { position: place, data, stored } of targets) {
      const state = stored ? changeRow(table, stored, data) : newRow(table, data);
      const missing = stored ? undefined : table.validator.requiredProblem(data);
      const rowBytes = sizeOf(state.data);
      const problem = missing ?? table.validator.sizeProblem(rowBytes);
      if (problem !== undefined) remarks.refuse(place, problem);
      else {
        fit.push({ id: stored?.id ?? nextId + added++, stored, state });
        sizeBytes += rowBytes;
      }
      if (turn.isOver) await turn.yieldToEventLoop();
    }
    if (sizeBytes > this.maxAnswerBytes) throw tooLarge(sizeBytes, this.maxAnswerBytes);
    if (fit.length === 0) return [];

    const at = await this.changes.writeRows(tx, table, keyColumnOf(table), {
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
    return fit.map((row) => ({ ...row, at }));
  }
}

function tooLarge(sizeBytes: number, maxBytes: number): ApiError {
  return new ApiError(
    'LimitExceeded',
    `The response would have ${sizeBytes} bytes of rows; the limit is ${maxBytes} bytes. Nothing was changed: send fewer rows per request.`,
  );
}

function toRows(table: CachedTable, written: Written[]): Row[] {
  const columns = [...table.columns.values()];
  return written.map(({ id, stored, state: { data, computed, stale }, at }) =>
    toRow(columns, { id, data, computed, stale, created_at: stored?.created_at ?? at, updated_at: at }),
  );
}

/** Whether a change sets a key, which needs the lock against concurrent inserts. */
function givesKeys(table: CachedTable, changes: Change[]): boolean {
  const column = keyColumnOf(table);
  return column !== undefined && changes.some(({ data }) => (data[column.key] ?? null) !== null);
}

function comparableColumnOf({ columns }: CachedTable, name: string): TableColumn | undefined {
  const column = columns.get(name);
  return column && isComparable(column.schema) ? column : undefined;
}

function notComparable({ columns }: CachedTable): ApiError {
  const names = [...columns.values()].filter(({ schema }) => isComparable(schema)).map(({ name }) => name);
  return new ApiError(
    'InvalidPayload',
    `keyColumn must be id or a column of type string, number or boolean: ${names.join(', ') || 'this table has none'}.`,
  );
}
