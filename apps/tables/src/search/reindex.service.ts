import { Injectable } from '@nestjs/common';
import { behindAllRows, type ReindexedRows, type ReindexRows } from '@parley/contracts/tables/reindex';
import { Database } from '@parley/persistence/database';
import { WorkQueue } from '@parley/work-queue/work-queue.service';
import { indexRows } from '../tables/table-queues';
import { TableRowsRepository } from '../tables/table-rows.repository';
import { TablesRepository } from '../tables/tables.repository';

const rowsAtOnce = 2_000;
/** Time limit of one call. The caller continues from the returned position. */
const pieceMs = 5_000;

const marking = { emptied: [], stale: [], uncomputed: [], unindexed: true };

/** Rebuilds a passage index that has lost points or has none of the current model. */
@Injectable()
export class ReindexService {
  constructor(
    private readonly database: Database,
    private readonly tables: TablesRepository,
    private readonly rows: TableRowsRepository,
    private readonly queue: WorkQueue,
  ) {}

  /** Each batch has its own transaction. Idempotent: rows that wait for the index already are skipped. */
  async reindex({ botId, after }: ReindexRows): Promise<ReindexedRows> {
    const done = { tables: 0, rows: 0 };
    const until = performance.now() + pieceMs;
    let next = after ?? { tableId: '', rowId: 0 };
    do {
      const table = await this.tables.findNextSearchable(next, botId);
      if (!table) return done;
      const afterId = table.id === next.tableId ? next.rowId : 0;
      const batch = await this.rows.applyEffect(this.database, table, marking, afterId, rowsAtOnce);
      this.queue.wake(indexRows.name);
      // The table changed between the two statements: retry.
      if (!batch) continue;
      done.rows += batch.rows;
      if (batch.lastId === null) done.tables += 1;
      next = { tableId: table.id, rowId: batch.lastId ?? behindAllRows };
    } while (performance.now() < until);
    return { ...done, next };
  }
}
