import { Injectable } from '@nestjs/common';
import type { BotCaller } from '@parley/contracts/access';
import { ApiError } from '@parley/contracts/errors';
import type { CreateTable, TableName, TableReply, TableWithCounts } from '@parley/contracts/tables/table-definition';
import { Database } from '@parley/database/database';
import { type TableRow, toTable } from './table.entity';
import { TableCatalog } from './table-catalog';
import { createSchema } from './table-schema';
import { TablesRepository } from './tables.repository';

@Injectable()
export class TablesService {
  constructor(
    private readonly database: Database,
    private readonly tables: TablesRepository,
    private readonly catalog: TableCatalog,
  ) {}

  async create({ bot }: BotCaller, input: CreateTable): Promise<TableReply> {
    const { schema, nextIndex } = createSchema(input.schema);
    const row = await this.tables.insert({
      bot_id: bot.id,
      name: input.name,
      factor: input.factor ?? 1,
      frozen: input.frozen ?? false,
      key_column: input.keyColumn ?? null,
      schema,
      next_index: nextIndex,
      tags: input.tags ?? {},
      is_compute_enabled: input.isComputeEnabled ?? true,
    });
    if (!row) throw new ApiError('Forbidden', `x-bot-id "${bot.id}" names nothing that this token may use.`);
    return { table: toTable(row) };
  }

  async get({ bot }: BotCaller, { table }: TableName): Promise<TableWithCounts> {
    const row = await this.catalog.current(bot.id, table);
    return { table: toTable(row), ...(await this.tables.count(row)) };
  }

  async delete({ bot }: BotCaller, { table }: TableName) {
    for (;;) {
      const row = await this.catalog.current(bot.id, table);
      this.catalog.forget(row);
      // Once more when it was changed meanwhile; one that was deleted is not found then.
      if (await this.deleteAs(row)) return {};
    }
  }

  /** False when it is no longer what it is taken for. */
  private deleteAs(row: TableRow): Promise<boolean> {
    return this.database.transaction(async (tx) => {
      if (!(await this.tables.lock(tx, row))) return false;
      await this.tables.delete(tx, row);
      return true;
    });
  }
}
