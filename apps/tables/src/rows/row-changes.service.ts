import { Injectable } from '@nestjs/common';
import type { BotCaller } from '@parley/contracts/access';
import { ApiError } from '@parley/contracts/errors';
import type { Row, StoredRows, UpdateTableRows, UpsertedRows, UpsertTableRows } from '@parley/contracts/tables/rows';
import { tables } from '@parley/contracts/tables/tables';
import { Database, type Sql, type Transaction } from '@parley/persistence/database';
import { Idempotency } from '@parley/persistence/idempotency';
import { TablesConfig } from '../config';
import { keyColumnOf } from '../schema/columns';
import { sizeOf } from '../schema/row-validator';
import { toRow } from '../tables/row.entity';
import { type CachedTable, TableCache } from '../tables/table.cache';
import { checkChanges, eachIdOnce, firstOfEach, withId, type ChangedRow, changeRow, newRow } from './change';
import { type LockedRow, RowChangesRepository } from './row-changes.repository';
import { RowProblems } from './row-problems';
import { comparableColumnOf, notComparable, RowTargetsService, setsKeys, type Target } from './row-targets.service';
import { TimeSlice } from './time-slice';
import { WrittenRowsService } from './written-rows.service';

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
  private readonly maxResponseBytes: number;

  constructor(
    { maxBodyBytes }: TablesConfig,
    private readonly database: Database,
    private readonly idempotency: Idempotency,
    private readonly tableCache: TableCache,
    private readonly targets: RowTargetsService,
    private readonly changes: RowChangesRepository,
    private readonly written: WrittenRowsService,
  ) {
    this.maxResponseBytes = Math.floor(maxBodyBytes / 2);
  }

  async update({ bot }: BotCaller, input: UpdateTableRows): Promise<StoredRows> {
    const stored = await this.tableCache.write(bot.id, input.table, (table) => this.updateIn(table, input));
    return { ...stored, rows: await this.written.settle(bot, input, stored.rows) };
  }

  async upsert(caller: BotCaller, input: UpsertTableRows): Promise<UpsertedRows> {
    const known = await this.idempotency.find<UpsertedRows>(caller, tables.rows.upsert, input);
    return known ?? this.tableCache.write(caller.bot.id, input.table, (table) => this.upsertIn(caller, table, input));
  }

  /** Undefined when the table has changed since it was read. */
  private async updateIn(table: CachedTable, input: UpdateTableRows): Promise<StoredRows | undefined> {
    const problems = RowProblems.of(input);
    const changes = eachIdOnce(withId(await checkChanges(table, input.rows, problems), problems), problems);
    const written = await this.database.transaction(async (tx) => {
      const isLocked = setsKeys(table, changes)
        ? (await this.changes.lockForKeys(tx, table)) !== undefined
        : await this.changes.lockVersion(tx, table);
      if (!isLocked) return undefined;

      const named = changes.map(({ id }) => [id!]);
      const targets = await this.targets.lockTargets(tx, table, undefined, changes, named, problems);
      return this.write(tx, table, await this.targets.withFreeKeys(tx, table, targets, problems), 0, problems);
    });
    return written && { rows: toRows(table, written), ...problems.toReply() };
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
      if ((await this.tableCache.current(table.bot_id, name)) === table) throw notComparable(table);
      return undefined;
    }
    const problems = RowProblems.of(input);
    const fit = await checkChanges(table, input.rows, problems);
    const changes = column ? firstOfEach(fit, column, problems) : eachIdOnce(fit, problems);
    const found = await this.targets.findIds(this.database, table, column, changes);
    const isKey = column !== undefined && column === keyColumnOf(table);
    // Updates of existing rows do not wait for concurrent inserts.
    const isChangeOnly = found.every((ids) => ids.length > 0) && (isKey || !setsKeys(table, changes));
    const write = async (tx: Transaction) => {
      if (isChangeOnly) {
        if (!(await this.changes.lockVersion(tx, table))) return undefined;
        const targets = await this.targets.lockTargets(tx, table, column, changes, found, problems);
        return targets.every(({ stored }) => stored) ? this.write(tx, table, targets, 0, problems) : undefined;
      }
      const nextId = await this.changes.lockForKeys(tx, table);
      if (nextId === undefined) return undefined;
      const ids = await this.targets.findIds(tx, table, column, changes);
      const targets = await this.targets.lockTargets(tx, table, column, changes, ids, problems);
      // A key that was searched for and not found is free.
      const free = isKey ? targets : await this.targets.withFreeKeys(tx, table, targets, problems);
      return this.write(tx, table, free, nextId, problems);
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
        return { inserted: toRows(table, inserted), updated: toRows(table, updated), ...problems.toReply() };
      },
      async (stored) => ({
        ...stored,
        inserted: await this.written.settle(caller.bot, input, stored.inserted),
        updated: await this.written.settle(caller.bot, input, stored.updated),
      }),
    );
  }

  /** Writes the valid rows in one statement. Results are in the order of the request. */
  private async write(
    tx: Sql,
    table: CachedTable,
    targets: Target[],
    nextId: number,
    problems: RowProblems,
  ): Promise<Written[]> {
    let added = 0;
    let sizeBytes = 0;
    const fit: Omit<Written, 'at'>[] = [];
    const slice = new TimeSlice();
    for (const { position, data, stored } of targets) {
      const state = stored ? changeRow(table, stored, data) : newRow(table, data);
      const missing = stored ? undefined : table.validator.requiredProblem(data);
      const rowBytes = sizeOf(state.data);
      const problem = missing ?? table.validator.sizeProblem(rowBytes);
      if (problem !== undefined) problems.refuse(position, problem);
      else {
        fit.push({ id: stored?.id ?? nextId + added++, stored, state });
        sizeBytes += rowBytes;
      }
      if (slice.isOver) await slice.yieldToEventLoop();
    }
    if (sizeBytes > this.maxResponseBytes) throw tooLarge(sizeBytes, this.maxResponseBytes);
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
