import { Injectable } from '@nestjs/common';
import type { BotCaller } from '@parley/contracts/access';
import { ApiError } from '@parley/contracts/errors';
import { type DeletedRows, type DeleteTableRows, maxRowId } from '@parley/contracts/tables/rows';
import { Database } from '@parley/persistence/database';
import { WorkQueue } from '@parley/work-queue/work-queue.service';
import type { Filter } from '../queries/filter';
import { QueriesRepository } from '../queries/queries.repository';
import { QueriesService } from '../queries/queries.service';
import { isSearchable } from '../schema/dirty-flags';
import { eraseRows, indexRows } from '../tables/table-queues';
import { type CachedTable, TableCache } from '../tables/table.cache';
import { TablesRepository } from '../tables/tables.repository';
import { RowDeletionsRepository } from './row-deletions.repository';

/** Ids per search, and rows per deleting statement. */
const idsAtOnce = 100_000;
const rowsAtOnce = 5_000;

/** Deadline below the timeout of the operation. Each statement gets the time that is left. */
const maxDeletionMs = 25_000;

const emptyFilterMessage = 'filter has no condition: give deleteAllRows: true to delete every row.';

@Injectable()
export class RowDeletionsService {
  constructor(
    private readonly database: Database,
    private readonly tableCache: TableCache,
    private readonly tables: TablesRepository,
    private readonly queries: QueriesService,
    private readonly rows: QueriesRepository,
    private readonly deletions: RowDeletionsRepository,
    private readonly queue: WorkQueue,
  ) {}

  delete({ bot }: BotCaller, { table, ids, filter, deleteAllRows = false }: DeleteTableRows): Promise<DeletedRows> {
    const given = [ids !== undefined, filter !== undefined, deleteAllRows].filter(Boolean);
    if (given.length !== 1)
      throw new ApiError('InvalidPayload', 'Exactly one of ids, filter and deleteAllRows: true is required.');
    if (filter) return this.deleteMatching(bot.id, table, filter);
    return this.tableCache.write(bot.id, table, (known) =>
      ids ? this.deleteByIds(known, ids) : this.deleteAll(known),
    );
  }

  private async deleteByIds(table: CachedTable, ids: number[]): Promise<DeletedRows | undefined> {
    const possible = ids.filter((id) => id > 0 && id <= maxRowId);
    const gone = await this.deletions.deleteRows(this.database, table, possible);
    if (gone) this.wakeIndexing(table);
    return gone && { deletedRows: gone.length };
  }

  /** Small transactions, so that no lock is held for long. An error reports the number of rows deleted so far. */
  private async deleteMatching(botId: string, name: string, filter: Record<string, unknown>): Promise<DeletedRows> {
    const deletion = { deletedRows: 0, deadline: Date.now() + maxDeletionMs };
    try {
      while (!(await this.deleteSome(botId, name, filter, deletion)));
    } catch (error) {
      throw withDeletedCount(error, deletion);
    }
    return { deletedRows: deletion.deletedRows };
  }

  /**
   * Deletes up to `idsAtOnce` rows. True when none are left; false also when the table changed meanwhile, so that the
   * table and the filter are read again.
   */
  private async deleteSome(
    botId: string,
    name: string,
    filter: Record<string, unknown>,
    deletion: Deletion,
  ): Promise<boolean> {
    const { table, query, ids } = await this.tableCache.read(botId, name, async (table) => {
      const query = await this.queries.readQuery(table, filter);
      if (isEmptyFilter(query.filter)) throw new ApiError('InvalidPayload', emptyFilterMessage);
      return { table, query, ids: await this.rows.listMatchingIds(query, idsAtOnce, leftMs(deletion)) };
    });
    for (let start = 0; start < ids.length; start += rowsAtOnce) {
      const some = ids.slice(start, start + rowsAtOnce);
      const gone = await this.database.transaction((tx) =>
        this.deletions.deleteRowsWithin(tx, leftMs(deletion), table, some, query.filter),
      );
      if (!gone) return false;
      this.wakeIndexing(table);
      deletion.deletedRows += gone.length;
    }
    return ids.length < idsAtOnce;
  }

  private wakeIndexing({ columns }: CachedTable): void {
    if ([...columns.values()].some(isSearchable)) this.queue.wake(indexRows.name);
  }

  /** Constant time: the rows become inaccessible and are erased later. */
  private async deleteAll(table: CachedTable): Promise<DeletedRows | undefined> {
    const deletedRows = await this.database.transaction(async (tx) => {
      if (!(await this.tables.lockTable(tx, table))) return undefined;
      await this.queue.add(tx, eraseRows, [{ key: table.number, tenant: table.bot_id, payload: null }]);
      return this.deletions.truncateTable(tx, table);
    });
    this.tableCache.forget(table);
    return deletedRows === undefined ? undefined : { deletedRows };
  }
}

/** A filter without conditions is refused because it is probably a mistake of the client. */
function isEmptyFilter(filter: Filter): boolean {
  return filter.kind === 'all' && filter.of.every(isEmptyFilter);
}

interface Deletion {
  deletedRows: number;
  deadline: number;
}

function leftMs({ deadline }: Deletion): number {
  const left = deadline - Date.now();
  if (left > 0) return left;
  throw new ApiError(
    'OperationTimeout',
    'Deleting the rows timed out before all were deleted. Send the same request again to delete the rest.',
  );
}

/**
 * Adds the number of rows deleted so far to the error. A 503 becomes OperationTimeout: clients retry a 503 and would
 * never see the number.
 */
function withDeletedCount(error: unknown, { deletedRows }: Deletion): unknown {
  if (!(error instanceof ApiError) || deletedRows === 0) return error;
  const type = error.code === 503 ? 'OperationTimeout' : error.type;
  return new ApiError(type, `${error.message} ${deletedRows} rows were deleted before.`, {
    metadata: error.metadata,
    cause: error,
  });
}
