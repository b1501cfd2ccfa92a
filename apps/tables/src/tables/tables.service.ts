import { Injectable } from '@nestjs/common';
import type { BotCaller } from '@parley/contracts/access';
import { ApiError, notFound } from '@parley/contracts/errors';
import type { Empty } from '@parley/contracts/paging';
import {
  type CreateTable,
  type GetOrCreateTable,
  type GottenOrCreatedTable,
  isTableId,
  type ListTables,
  type RenameTableColumn,
  type TableName,
  tableName,
  tableNameProblem,
  type TableReply,
  type Tables,
  type TableWithCounts,
  type UpdatedTable,
  type UpdateTable,
} from '@parley/contracts/tables/table-definition';
import { tables as operations } from '@parley/contracts/tables/tables';
import type { Transaction } from '@parley/persistence/database';
import { Idempotency } from '@parley/persistence/idempotency';
import { WorkQueue } from '@parley/work-queue/work-queue.service';
import { BotsRepository } from '../bots/bots.repository';
import { SandboxService } from '../sandbox/sandbox.service';
import { show } from '../schema/column-names';
import { codeIn } from '../schema/computed-settings';
import { renameColumn } from '../schema/table-schema';
import { invalid } from '../schema/value-schema';
import { SchemaChangesService } from './schema-changes.service';
import { refuseFrozenChange, toNewTable, applyTableChange } from './table-changes';
import { busy, isNameTaken, maxTries, TableWriterService } from './table-writer.service';
import { eraseRows } from './table-queues';
import { TableCache } from './table.cache';
import { toTable } from './table.entity';
import { TablesRepository } from './tables.repository';

@Injectable()
export class TablesService {
  constructor(
    private readonly idempotency: Idempotency,
    private readonly tables: TablesRepository,
    private readonly tableCache: TableCache,
    private readonly writer: TableWriterService,
    private readonly schemaChanges: SchemaChangesService,
    private readonly sandbox: SandboxService,
    private readonly computingBots: BotsRepository,
    private readonly queue: WorkQueue,
  ) {}

  async create(caller: BotCaller, input: CreateTable): Promise<TableReply> {
    await this.checkCode(caller.bot.id, input.schema);
    return this.idempotency.run(caller, operations.create, input, async (tx) => ({
      table: toTable(await this.writer.insert(tx, toNewTable(caller.bot.id, input.name, input))),
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
        if (!isNameTaken(error)) throw error;
      }
    }
    throw busy();
  }

  async get({ bot }: BotCaller, { table }: TableName): Promise<TableWithCounts> {
    const row = await this.tableCache.current(bot.id, table);
    return { table: toTable(row), ...(await this.tables.countRows(row)) };
  }

  async list({ bot }: BotCaller, { tags }: ListTables): Promise<Tables> {
    return { tables: (await this.tables.listByTags(bot.id, tags)).map(toTable) };
  }

  async update({ bot }: BotCaller, input: UpdateTable): Promise<UpdatedTable> {
    if (input.schema) await this.checkCode(bot.id, input.schema);
    return this.writer.change(bot.id, input.table, async (tx, before) => {
      const { table, ...change } = applyTableChange(before, input);
      if (before.frozen && table.frozen) refuseFrozenChange(before, table);
      const row = await this.tables.updateTable(tx, table);
      await this.schemaChanges.settleRows(tx, before, row, change);
      return { table: toTable(row), staleColumns: change.staleColumns };
    });
  }

  renameColumn({ bot }: BotCaller, { table, name, newName }: RenameTableColumn): Promise<TableReply> {
    return this.writer.change(bot.id, table, async (tx, before) => {
      const schema = renameColumn(before.schema, name, newName);
      const after = { ...before, schema, key_column: before.key_column === name ? newName : before.key_column };
      if (before.frozen) refuseFrozenChange(before, after);
      return { table: toTable(await this.tables.updateTable(tx, after)) };
    });
  }

  delete({ bot }: BotCaller, { table }: TableName): Promise<Empty> {
    return this.writer.change(bot.id, table, async (tx, row) => {
      await this.tables.deleteTable(tx, row);
      await this.queue.add(tx, eraseRows, [{ key: row.number, tenant: row.bot_id, payload: null }]);
      return {};
    });
  }

  /** Throws InvalidJsonSchema for code with a syntax error, except if the bot itself computes the column. */
  private async checkCode(botId: string, schema: Record<string, unknown>): Promise<void> {
    const codes = codeIn(schema);
    if (codes.length === 0 || (await this.computingBots.computesRows(botId))) return;
    for (const { column, code } of codes) {
      const problem = await this.sandbox.problemOf(code);
      if (problem)
        throw invalid(`${show(column)}.x-zui.computed.code`, `cannot be read. ${problem.replace(/\.$/, '')}`);
    }
  }

  private async getOrInsert(
    tx: Transaction,
    botId: string,
    { table: nameOrId, ...draft }: GetOrCreateTable,
  ): Promise<GottenOrCreatedTable> {
    const row = await this.tables.findByNameOrId(botId, nameOrId, tx);
    if (row) return { table: toTable(row), created: false, ...(await this.tables.countRows(row, tx)) };
    if (isTableId(nameOrId)) throw notFound('table', nameOrId);
    if (!tableName.test(nameOrId)) throw new ApiError('InvalidPayload', `table ${tableNameProblem}.`);
    await this.checkCode(botId, draft.schema);
    const table = toTable(await this.writer.insert(tx, toNewTable(botId, nameOrId, draft)));
    return { table, created: true, rows: 0, stale: 0, indexing: 0 };
  }
}
