import { Injectable } from '@nestjs/common';
import type { BotCaller } from '@parley/contracts/access';
import type { CreateTableRows, StoredRows } from '@parley/contracts/tables/rows';
import { marksOfNewRow } from '../computed/marks';
import { type KnownTable, TableCatalog } from '../tables/table-catalog';
import { checkRows } from './checked-rows';
import { InsertQueue } from './insert-queue';
import { Remarks } from './remarks';
import { toRow } from './row.entity';
import { WrittenRows } from './written-rows';

@Injectable()
export class RowsService {
  constructor(
    private readonly catalog: TableCatalog,
    private readonly queue: InsertQueue,
    private readonly written: WrittenRows,
  ) {}

  async create({ bot }: BotCaller, input: CreateTableRows): Promise<StoredRows> {
    const stored = await this.catalog.write(bot.id, input.table, (table) => this.insert(table, input));
    return { ...stored, rows: await this.written.settle(bot.id, input, stored.rows) };
  }

  /** Undefined when the table is no longer what it is taken for. */
  private async insert(table: KnownTable, input: CreateTableRows): Promise<StoredRows | undefined> {
    const remarks = Remarks.of(input);
    const fit = await checkRows(input.rows, (row) => table.validator.checkNew(row), remarks);
    if (fit.length === 0) {
      // Nothing is written that would show whether the table is still the same.
      const isCurrent = (await this.catalog.current(table.bot_id, input.table)) === table;
      return isCurrent ? { rows: [], ...remarks.toAnswer() } : undefined;
    }
    const inserted = await this.queue.insert(table, fit);
    if (!inserted) return undefined;

    const { computed, stale } = marksOfNewRow(table);
    const written = { computed, stale, created_at: inserted.createdAt, updated_at: inserted.createdAt };
    const stored = fit.flatMap(({ data, place }, index) => {
      const id = inserted.ids[index];
      if (id !== undefined) return [toRow(table.columns.values(), { id, data, ...written })];
      remarks.refuse(place, `another row has this ${table.key_column}, which is unique in the table`);
      return [];
    });
    return { rows: stored, ...remarks.toAnswer() };
  }
}
