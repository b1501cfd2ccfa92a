import { Injectable } from '@nestjs/common';
import type { BotCaller } from '@parley/contracts/access';
import { ApiError } from '@parley/contracts/errors';
import type { DeletedRows, DeleteTableRows } from '@parley/contracts/tables/rows';
import { Database } from '@parley/database/database';
import { type KnownTable, TableCatalog } from '../tables/table-catalog';
import { TablesRepository } from '../tables/tables.repository';
import { RowDeletionsRepository } from './row-deletions.repository';

@Injectable()
export class RowDeletionsService {
  constructor(
    private readonly database: Database,
    private readonly catalog: TableCatalog,
    private readonly tables: TablesRepository,
    private readonly deletions: RowDeletionsRepository,
  ) {}

  delete({ bot }: BotCaller, { table, ids, filter, deleteAllRows = false }: DeleteTableRows): Promise<DeletedRows> {
    const given = [ids !== undefined, filter !== undefined, deleteAllRows].filter(Boolean);
    if (given.length !== 1) throw new ApiError('InvalidPayload', 'Give one of ids, filter and deleteAllRows: true.');
    if (ids) return this.catalog.write(bot.id, table, (known) => this.deleteByIds(known, ids));
    return this.catalog.write(bot.id, table, (known) => this.deleteAll(known));
  }

  private async deleteByIds(table: KnownTable, ids: number[]): Promise<DeletedRows | undefined> {
    const gone = await this.deletions.deleteByIds(this.database, table, ids);
    return gone && { deletedRows: gone.length };
  }

  /** At once, whatever the number of rows: they are out of reach, and a sweeper deletes them. */
  private async deleteAll(table: KnownTable): Promise<DeletedRows | undefined> {
    const deletedRows = await this.database.transaction(async (tx) =>
      (await this.tables.lock(tx, table)) ? this.deletions.empty(tx, table) : undefined,
    );
    this.catalog.forget(table);
    return deletedRows === undefined ? undefined : { deletedRows };
  }
}
