import { Injectable } from '@nestjs/common';
import type { BotCaller } from '@parley/contracts/access';
import { ApiError } from '@parley/contracts/errors';
import { type DeletedRows, type DeleteTableRows, maxRowId } from '@parley/contracts/tables/rows';
import { Database } from '@parley/database/database';
import type { Filter } from '../find/filter';
import { FindRepository } from '../find/find.repository';
import { FindService } from '../find/find.service';
import { type KnownTable, TableCatalog } from '../tables/table-catalog';
import { TablesRepository } from '../tables/tables.repository';
import { RowDeletionsRepository } from './row-deletions.repository';

/** What is found before it is deleted, and what one statement deletes. */
const idsAtOnce = 100_000;
const rowsAtOnce = 5_000;

/** Less than the operation may take, by more than the last search and the last statement do. */
const maxDeletionMs = 20_000;

const everythingMeant = 'filter has no condition: give deleteAllRows: true to delete every row.';

@Injectable()
export class RowDeletionsService {
  constructor(
    private readonly database: Database,
    private readonly catalog: TableCatalog,
    private readonly tables: TablesRepository,
    private readonly find: FindService,
    private readonly rows: FindRepository,
    private readonly deletions: RowDeletionsRepository,
  ) {}

  delete({ bot }: BotCaller, { table, ids, filter, deleteAllRows = false }: DeleteTableRows): Promise<DeletedRows> {
    const given = [ids !== undefined, filter !== undefined, deleteAllRows].filter(Boolean);
    if (given.length !== 1) throw new ApiError('InvalidPayload', 'Give one of ids, filter and deleteAllRows: true.');
    if (filter) return this.deleteMatching(bot.id, table, filter);
    return this.catalog.write(bot.id, table, (known) => (ids ? this.deleteByIds(known, ids) : this.deleteAll(known)));
  }

  private async deleteByIds(table: KnownTable, ids: number[]): Promise<DeletedRows | undefined> {
    const possible = ids.filter((id) => id > 0 && id <= maxRowId);
    const gone = await this.deletions.delete(this.database, table, possible);
    return gone && { deletedRows: gone.length };
  }

  /** In batches, so that no lock is held for long. A table that changes meanwhile is read again, and so is the filter. */
  private async deleteMatching(botId: string, name: string, filter: Record<string, unknown>): Promise<DeletedRows> {
    const deadline = Date.now() + maxDeletionMs;
    for (let deletedRows = 0; ;) {
      const table = await this.catalog.current(botId, name);
      const question = await this.find.readQuestion(table, filter);
      if (meansEverything(question.filter)) throw new ApiError('InvalidPayload', everythingMeant);
      const found = await this.rows.listIds(question, idsAtOnce);
      let left = found;
      while (left.length > 0) {
        if (Date.now() > deadline) throw unfinished(deletedRows);
        const gone = await this.deletions.delete(this.database, table, left.slice(0, rowsAtOnce), question.filter);
        if (!gone) break;
        deletedRows += gone.length;
        left = left.slice(rowsAtOnce);
      }
      if (left.length === 0 && found.length < idsAtOnce) return { deletedRows };
    }
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

/** A list of conditions that holds none: who made it may have meant some. */
function meansEverything(filter: Filter): boolean {
  return filter.kind === 'all' && filter.of.every(meansEverything);
}

function unfinished(deletedRows: number): ApiError {
  return new ApiError(
    'OperationTimeout',
    `${deletedRows} rows are deleted, and there are more. Send the same request again for the rest.`,
  );
}
