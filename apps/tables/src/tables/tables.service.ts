import { isDeepStrictEqual } from 'node:util';
import { Injectable } from '@nestjs/common';
import type { BotCaller } from '@parley/contracts/access';
import { mergeEntries, ownEntry } from '@parley/contracts/entries';
import { ApiError, forbiddenHeader, notFound, unavailable } from '@parley/contracts/errors';
import type { Empty } from '@parley/contracts/paging';
import {
  type CreateTable,
  type DuplicatedTable,
  type DuplicateTable,
  type GetOrCreateTable,
  type GottenOrCreatedTable,
  isTableId,
  type ListTables,
  maxTags,
  type RenameTableColumn,
  type TableDraft,
  type TableName,
  tableName,
  tableNameProblem,
  type TableReply,
  type Tables,
  type TableWithCounts,
  type UpdatedTable,
  type UpdateTable,
} from '@parley/contracts/tables/table-definition';
import type { TableSchema } from '@parley/contracts/tables/table-schema';
import { tables as operations } from '@parley/contracts/tables/tables';
import { Database, type Transaction } from '@parley/persistence/database';
import { Idempotency } from '@parley/persistence/idempotency';
import { SandboxService } from '../sandbox/sandbox.service';
import { RowBatchesRepository } from './row-batches.repository';
import { ImportsExportsService } from '../imports-exports/imports-exports.service';
import { show } from '../schema/column-names';
import { copyNames } from './copy-names';
import { computedColumns } from '../schema/column-dependencies';
import { codeIn } from '../schema/computed-settings';
import { effectOnRows } from '../schema/effect-on-rows';
import { columnsOf, isComparable, keyColumnOf, type TableRow, toTable, withColumns } from './table.entity';
import { TableCache } from './table.cache';
import { TableRowsRepository } from './table-rows.repository';
import { changeSchema, createSchema, renameColumn } from '../schema/table-schema';
import { type NewTable, TablesRepository } from './tables.repository';
import { invalid } from '../schema/value-schema';

/** Limit per bot: a list returns all tables in one response. */
const maxTables = 500;
const maxTries = 5;
const maxDuplicates = 5;
/** Rows that a request copies itself; a job copies more. */
const maxCopiedRows = 5_000;

/** Rows that a request updates itself after a schema change; a job updates more. */
const maxSettledRows = 5_000;
/** Limit for changing the key column: measured, about 10 s during which other writes to the table wait. */
const maxRekeyedRows = 150_000;

type Transact<T> = (work: (tx: Transaction) => Promise<T | undefined>) => Promise<T | undefined>;

@Injectable()
export class TablesService {
  constructor(
    private readonly database: Database,
    private readonly idempotency: Idempotency,
    private readonly tables: TablesRepository,
    private readonly rows: TableRowsRepository,
    private readonly catalog: TableCache,
    private readonly jobs: ImportsExportsService,
    private readonly jobRows: RowBatchesRepository,
    private readonly sandbox: SandboxService,
  ) {}

  async create(caller: BotCaller, input: CreateTable): Promise<TableReply> {
    await this.checkCode(input.schema);
    return this.idempotency.run(caller, operations.create, input, async (tx) => ({
      table: toTable(await this.insert(tx, draftOf(caller.bot.id, input.name, input))),
    }));
  }

  /** Concurrent requests with the same name create one table. */
  async getOrCreate(caller: BotCaller, input: GetOrCreateTable): Promise<GottenOrCreatedTable> {
    for (let tries = 0; tries < maxTries; tries++) {
      try {
        return await this.idempotency.run(caller, operations.getOrCreate, input, (tx) =>
          this.getOrInsert(tx, caller.bot.id, input),
        );
      } catch (error) {
        if (!isTaken(error)) throw error;
      }
    }
    throw busy();
  }

  async get({ bot }: BotCaller, { table }: TableName): Promise<TableWithCounts> {
    const row = await this.catalog.current(bot.id, table);
    return { table: toTable(row), ...(await this.tables.count(row)) };
  }

  async list({ bot }: BotCaller, { tags }: ListTables): Promise<Tables> {
    return { tables: (await this.tables.listByTags(bot.id, tags)).map(toTable) };
  }

  async update({ bot }: BotCaller, input: UpdateTable): Promise<UpdatedTable> {
    if (input.schema) await this.checkCode(input.schema);
    return this.change(bot.id, input.table, async (tx, before) => {
      const { table, ...change } = changed(before, input);
      if (before.frozen && table.frozen) refuseChange(before, table);
      const row = await this.tables.updateTable(tx, table);
      await this.settleRows(tx, before, row, change);
      return { table: toTable(row), staleColumns: change.staleColumns };
    });
  }

  renameColumn({ bot }: BotCaller, { table, name, newName }: RenameTableColumn): Promise<TableReply> {
    return this.change(bot.id, table, async (tx, before) => {
      const schema = renameColumn(before.schema, name, newName);
      const after = { ...before, schema, key_column: before.key_column === name ? newName : before.key_column };
      if (before.frozen) refuseChange(before, after);
      return { table: toTable(await this.tables.updateTable(tx, after)) };
    });
  }

  async duplicate(caller: BotCaller, input: DuplicateTable): Promise<DuplicatedTable> {
    for (let tries = 0; tries < maxTries; tries++) {
      try {
        return await this.change(
          caller.bot.id,
          input.sourceTableId,
          (tx, source) => this.copy(tx, source, input),
          (work) => this.idempotency.run(caller, operations.duplicate, input, work),
        );
      } catch (error) {
        // Another request took the free name: retry.
        if (input.tableName !== undefined || !isTaken(error)) throw error;
      }
    }
    throw busy();
  }

  delete({ bot }: BotCaller, { table }: TableName): Promise<Empty> {
    return this.change(bot.id, table, async (tx, row) => {
      await this.tables.deleteTable(tx, row);
      return {};
    });
  }

  /** Throws InvalidJsonSchema for code with a syntax error. */
  private async checkCode(schema: Record<string, unknown>): Promise<void> {
    for (const { column, code } of codeIn(schema)) {
      const problem = await this.sandbox.problemOf(code);
      if (problem)
        throw invalid(`${show(column)}.x-zui.computed.code`, `cannot be read. ${problem.replace(/\.$/, '')}`);
    }
  }

  /** Runs `work` with the current table under an exclusive lock. Throws ResourceNotFound. */
  private async change<T extends object>(
    botId: string,
    nameOrId: string,
    work: (tx: Transaction, table: TableRow) => Promise<T>,
    transact: Transact<T> = (change) => this.database.transaction(change),
  ): Promise<T> {
    for (let tries = 0; tries < maxTries; tries++) {
      const answer = await transact(async (tx) => {
        const table = await this.tables.findLockedByNameOrId(tx, botId, nameOrId);
        if (!table) return undefined;
        tx.afterCommit(() => this.catalog.forget(table));
        return work(tx, table);
      });
      if (answer) return answer;
    }
    throw busy();
  }

  private async getOrInsert(
    tx: Transaction,
    botId: string,
    { table: nameOrId, ...draft }: GetOrCreateTable,
  ): Promise<GottenOrCreatedTable> {
    const row = await this.tables.findByNameOrId(botId, nameOrId, tx);
    if (row) return { table: toTable(row), created: false, ...(await this.tables.count(row, tx)) };
    if (isTableId(nameOrId)) throw notFound('table', nameOrId);
    if (!tableName.test(nameOrId)) throw new ApiError('InvalidPayload', `table ${tableNameProblem}.`);
    await this.checkCode(draft.schema);
    const table = toTable(await this.insert(tx, draftOf(botId, nameOrId, draft)));
    return { table, created: true, rows: 0, stale: 0, indexing: 0 };
  }

  private async insert(tx: Transaction, table: NewTable): Promise<TableRow> {
    checkKeyColumn(table);
    if ((await this.tables.countByBot(tx, table.bot_id)) >= maxTables)
      throw new ApiError('LimitExceeded', `At most ${maxTables} tables per bot. Delete a table that is not needed.`);
    const row = await this.tables.insertTable(tx, table);
    if (!row) throw forbiddenHeader('x-bot-id', table.bot_id);
    return row;
  }

  /** Updates the rows after a schema change: in the same transaction, or by a job for many rows. */
  private async settleRows(tx: Transaction, before: TableRow, after: TableRow, change: ChangedColumns): Promise<void> {
    const { rows, lastRowId } = await this.rows.measureTable(tx, after);
    if (rows === 0) return;
    const keyColumn = keyColumnOf(withColumns(after));
    if (keyColumn && keyColumn.key !== keyColumnOf(withColumns(before))?.key) {
      if (rows > maxRekeyedRows) throw tooManyToRekey(rows);
      await this.refuseDuplicates(tx, after, keyColumn.key);
      await this.rows.rekeyRows(tx, after.number, keyColumn.key);
    }
    const effect = effectOnRows(before, after, change);
    if (!effect) return;
    if (rows <= maxSettledRows) {
      await this.rows.applyEffect(tx, after, effect, 0, maxSettledRows);
      return;
    }
    const { unindexed: _unindexed, ...columns } = effect;
    const isOfColumns = Object.values(columns).some((keys) => keys.length > 0);
    const type = isOfColumns ? ('clear_column' as const) : ('clear_vectors' as const);
    const task = { type, tableNumber: after.number, lastRowId, effect };
    await this.jobs.start(tx, { botId: after.bot_id, tableId: after.id, task });
  }

  private async refuseDuplicates(tx: Transaction, table: TableRow, columnKey: string): Promise<void> {
    const duplicates = await this.rows.listDuplicates(tx, table.number, columnKey, maxDuplicates + 1);
    if (duplicates.length === 0) return;
    const named = duplicates
      .slice(0, maxDuplicates)
      .map(({ value, ids: [first, second] }) => `${show(String(value))} in rows ${first} and ${second}`);
    const more = duplicates.length > maxDuplicates ? ', and others' : '';
    throw new ApiError(
      'AlreadyExists',
      `keyColumn: the values of ${table.key_column} are not unique: ${named.join(', ')}${more}.`,
    );
  }

  private async copy(tx: Transaction, source: TableRow, input: DuplicateTable): Promise<DuplicatedTable> {
    const { schemaOnly = false, factor = source.factor } = input;
    const { rows: count, lastRowId } = schemaOnly ? { rows: 0, lastRowId: 0 } : await this.rows.measureTable(tx, source);
    if (factor < source.factor && count > 0)
      throw new ApiError('InvalidPayload', `factor must be at least ${source.factor}, the factor of the source table.`);
    const name = input.tableName ?? (await this.freeName(tx, source));
    const copy = await this.insert(tx, { ...source, name, factor, frozen: false });
    const job = count === 0 ? undefined : await this.copyRows(tx, source, copy, { count, lastRowId });
    return { table: toTable(copy), rows: count, ...(job ? { job: { id: job.id, status: job.status } } : {}) };
  }

  /** Copies in the same transaction, or by a job for many rows. */
  private async copyRows(
    tx: Transaction,
    source: TableRow,
    copy: TableRow,
    { count, lastRowId }: { count: number; lastRowId: number },
  ) {
    const columns = columnsOf(copy);
    const keys = [...columnsOf(source).values()].map(({ name, key }) => [key, columns.get(name)!.key]);
    const task = {
      sourceNumber: source.number,
      lastRowId,
      keys: Object.fromEntries(keys) as Record<string, string>,
    };
    if (count > maxCopiedRows) {
      return this.jobs.start(tx, { botId: copy.bot_id, tableId: copy.id, task: { type: 'duplicate_table', ...task } });
    }
    await this.jobRows.copyRows(tx, { ...copy, columns }, task, 0, count);
    return undefined;
  }

  private async freeName(tx: Transaction, { bot_id, name }: TableRow): Promise<string> {
    const names = copyNames(name, maxTables + 1);
    const taken = new Set(await this.tables.listTakenNames(tx, bot_id, names));
    return names.find((candidate) => !taken.has(candidate))!;
  }
}

function draftOf(botId: string, name: string, draft: TableDraft): NewTable {
  const { schema, nextIndex } = createSchema(draft.schema);
  return {
    bot_id: botId,
    name,
    factor: draft.factor ?? 1,
    frozen: draft.frozen ?? false,
    key_column: draft.keyColumn ?? null,
    schema,
    next_index: nextIndex,
    tags: draft.tags ?? {},
    is_compute_enabled: draft.isComputeEnabled ?? true,
  };
}

interface ChangedColumns {
  staleColumns: string[];
  emptied: string[];
}

function changed(before: TableRow, input: UpdateTable): ChangedColumns & { table: TableRow } {
  const current = { schema: before.schema, nextIndex: before.next_index };
  const change = input.schema ? changeSchema(current, input.schema) : { ...current, staleColumns: [], emptied: [] };
  const table: TableRow = {
    ...before,
    name: input.name ?? before.name,
    factor: input.factor ?? before.factor,
    frozen: input.frozen ?? before.frozen,
    key_column: input.keyColumn === undefined ? before.key_column : input.keyColumn,
    schema: change.schema,
    next_index: change.nextIndex,
    tags: mergeEntries(before.tags, input.tags),
    is_compute_enabled: input.isComputeEnabled ?? before.is_compute_enabled,
  };
  checkKeyColumn(table);
  if (table.factor < before.factor)
    throw new ApiError('InvalidPayload', `factor must be at least ${before.factor}: it cannot be reduced.`);
  if (Object.keys(table.tags).length > maxTags)
    throw new ApiError('InvalidPayload', `tags must have at most ${maxTags} entries.`);
  const isComputedAgain = table.is_compute_enabled && !before.is_compute_enabled;
  const staleColumns = isComputedAgain
    ? computedColumns(columnsOf(table)).map(({ name }) => name)
    : change.staleColumns;
  return { table, staleColumns, emptied: change.emptied };
}

function checkKeyColumn({ key_column, schema }: { key_column: string | null; schema: TableSchema }): void {
  if (key_column === null) return;
  const column = ownEntry(schema.properties, key_column);
  if (column?.['x-zui'].computed)
    throw new ApiError(
      'InvalidPayload',
      `keyColumn must not be a computed column, but "${show(key_column)}" is computed.`,
    );
  if (column && isComparable(column)) return;
  throw new ApiError(
    'InvalidPayload',
    `keyColumn must be a column of the table of type string, number or boolean; "${show(key_column)}" is not.`,
  );
}

/** A frozen table can change anything except its name, columns and key column. */
function refuseChange(before: TableRow, after: TableRow): void {
  const isSame =
    before.name === after.name &&
    before.key_column === after.key_column &&
    isDeepStrictEqual(before.schema, after.schema);
  if (isSame) return;
  throw new ApiError(
    'ResourceLockedConflict',
    `The table "${before.name}" is frozen: its name, columns and keyColumn cannot change. Set frozen to false first.`,
  );
}

function tooManyToRekey(rows: number): ApiError {
  return new ApiError(
    'LimitExceeded',
    `keyColumn can be set for a table of at most ${maxRekeyedRows} rows, got ${rows}. Create a table with ` +
      'this keyColumn and import an export of this table.',
  );
}

function isTaken(error: unknown): boolean {
  return error instanceof ApiError && error.type === 'AlreadyExists';
}

function busy(): ApiError {
  return unavailable('The table is being changed by other requests. Try again in a moment.');
}
