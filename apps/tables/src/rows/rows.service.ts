import { Injectable } from '@nestjs/common';
import type { BotCaller } from '@parley/contracts/access';
import type { CreateTableRows, StoredRows } from '@parley/contracts/tables/rows';
import { tables } from '@parley/contracts/tables/tables';
import type { Transaction } from '@parley/persistence/database';
import { Idempotency } from '@parley/persistence/idempotency';
import { dirtyFlagsOfNewRow } from '../schema/dirty-flags';
import type { CheckedRow } from '../schema/row-validator';
import { toRow } from '../tables/row.entity';
import { type CachedTable, TableCache } from '../tables/table.cache';
import { checkRows } from './checked-rows';
import { InsertQueueService } from './insert-queue.service';
import { RowProblems } from './row-problems';
import { type Inserted, RowsRepository } from './rows.repository';
import { WrittenRowsService } from './written-rows.service';

type FitRow = CheckedRow & { position: number };

@Injectable()
export class RowsService {
  constructor(
    private readonly idempotency: Idempotency,
    private readonly tableCache: TableCache,
    private readonly queue: InsertQueueService,
    private readonly rows: RowsRepository,
    private readonly written: WrittenRowsService,
  ) {}

  async create(caller: BotCaller, input: CreateTableRows): Promise<StoredRows> {
    const known = await this.idempotency.find<StoredRows>(caller, tables.rows.create, input);
    return known ?? this.tableCache.write(caller.bot.id, input.table, (table) => this.insert(caller, table, input));
  }

  /** Undefined when the table has changed since it was read. */
  private async insert(caller: BotCaller, table: CachedTable, input: CreateTableRows): Promise<StoredRows | undefined> {
    const problems = RowProblems.of(input);
    const fit = await checkRows(input.rows, (row) => table.validator.checkNew(row), problems);
    // Without a write, the version of the table has to be checked here.
    if (fit.length === 0 && (await this.tableCache.current(table.bot_id, input.table)) !== table) return undefined;

    const settle = async (stored: StoredRows) => ({
      ...stored,
      rows: await this.written.settle(caller.bot, input, stored.rows),
    });
    const insert = async (store: () => Promise<Inserted | undefined>) => {
      if (fit.length === 0) return { rows: [], ...problems.toReply() };
      const inserted = await store();
      return inserted && toStoredRows(table, fit, inserted, problems);
    };
    if (caller.idempotencyKey === undefined) {
      const stored = await insert(() => this.queue.insert(table, fit));
      return stored && settle(stored);
    }
    const insertOnce = (tx: Transaction) => insert(() => this.rows.insertRows(tx, table, fit));
    return this.idempotency.run<StoredRows | undefined>(caller, tables.rows.create, input, insertOnce, settle);
  }
}

function toStoredRows(
  table: CachedTable,
  rows: FitRow[],
  { ids, createdAt }: Inserted,
  problems: RowProblems,
): StoredRows {
  const { computed, stale } = dirtyFlagsOfNewRow(table);
  const written = { computed, stale, created_at: createdAt, updated_at: createdAt };
  const stored = rows.flatMap(({ data, position }, index) => {
    const id = ids[index];
    if (id !== undefined) return [toRow(table.columns.values(), { id, data, ...written })];
    problems.refuse(position, `another row has the same ${table.key_column}, which must be unique`);
    return [];
  });
  return { rows: stored, ...problems.toReply() };
}
