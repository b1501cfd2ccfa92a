import { Injectable } from '@nestjs/common';
import { ApiError, forbiddenHeader, unavailable } from '@parley/contracts/errors';
import { Database, type Transaction } from '@parley/persistence/database';
import { checkKeyColumn } from './table-changes';
import { TableCache } from './table.cache';
import type { TableRow } from './table.entity';
import { type NewTable, TablesRepository } from './tables.repository';

/** Limit per bot: a list returns all tables in one response. */
export const maxTables = 500;
export const maxTries = 5;

type Transact<T> = (work: (tx: Transaction) => Promise<T | undefined>) => Promise<T | undefined>;

/** Inserts tables, and changes them under their lock. */
@Injectable()
export class TableWriterService {
  constructor(
    private readonly database: Database,
    private readonly tables: TablesRepository,
    private readonly tableCache: TableCache,
  ) {}

  async insert(tx: Transaction, table: NewTable): Promise<TableRow> {
    checkKeyColumn(table);
    if ((await this.tables.countByBot(tx, table.bot_id)) >= maxTables)
      throw new ApiError('LimitExceeded', `At most ${maxTables} tables per bot. Delete a table that is not needed.`);
    const row = await this.tables.insertTable(tx, table);
    if (!row) throw forbiddenHeader('x-bot-id', table.bot_id);
    return row;
  }

  /** Runs `work` with the current table under an exclusive lock. Throws ResourceNotFound. */
  async change<T extends object>(
    botId: string,
    nameOrId: string,
    work: (tx: Transaction, table: TableRow) => Promise<T>,
    transact: Transact<T> = (change) => this.database.transaction(change),
  ): Promise<T> {
    for (let tries = 0; tries < maxTries; tries++) {
      const result = await transact(async (tx) => {
        const table = await this.tables.findLockedByNameOrId(tx, botId, nameOrId);
        if (!table) return undefined;
        tx.afterCommit(() => this.tableCache.forget(table));
        return work(tx, table);
      });
      if (result) return result;
    }
    throw busy();
  }
}

export function isNameTaken(error: unknown): boolean {
  return error instanceof ApiError && error.type === 'AlreadyExists';
}

export function busy(): ApiError {
  return unavailable('The table is being changed by other requests. Try again in a moment.');
}
