import { Injectable } from '@nestjs/common';
import type { BotTargetChanged } from '@parley/contracts/admin/targets';
import { ifFound } from '@parley/contracts/errors';
import { Database } from '@parley/persistence/database';
import { queue, type Work } from '@parley/work-queue/queue';
import { WorkQueue } from '@parley/work-queue/work-queue.service';
import { Worker } from '@parley/work-queue/worker';
import { BotsRepository } from '../bots/bots.repository';
import { columnsToCompute } from '../schema/dirty-flags';
import { SchemaChangesService } from '../tables/schema-changes.service';
import { type TableRow, withColumns } from '../tables/table.entity';
import { TableWriterService } from '../tables/table-writer.service';
import { TablesRepository } from '../tables/tables.repository';
import { actionOf } from './remote-columns';

/** Bots that compute the rows of their tables from now on. */
const recomputeBot = queue('tables.recomputeBot', { repeated: 'again' });

/** Computes code columns again when their bot begins to compute them itself: the code may have failed without its bundle. */
@Injectable()
export class RecomputationService {
  constructor(
    private readonly database: Database,
    private readonly bots: BotsRepository,
    private readonly tables: TablesRepository,
    private readonly writer: TableWriterService,
    private readonly schemaChanges: SchemaChangesService,
    private readonly queue: WorkQueue,
  ) {}

  async noteBot({ botId, computesRows, revision }: BotTargetChanged): Promise<void> {
    if (computesRows === undefined) return;
    await this.database.transaction(async (tx) => {
      if (!(await this.bots.storeNewer(tx, botId, computesRows, revision))) return;
      await this.queue.add(tx, recomputeBot, [{ key: botId, tenant: botId, payload: null }]);
    });
  }

  /** From now on, the other workspace pays for the language models that compute columns of the bot. */
  moveBot(botId: string, workspaceId: string, eventId: string): Promise<void> {
    return this.bots.moveHome(botId, workspaceId, eventId);
  }

  /** Idempotent: rows that are marked as stale again are computed again. */
  @Worker(recomputeBot, { concurrency: 1, attempts: Infinity })
  async markStale({ key: botId, signal }: Work<null>): Promise<void> {
    for (const table of await this.tables.listByTags(botId, undefined)) {
      signal.throwIfAborted();
      if (codeColumns(table).length === 0) continue;
      await ifFound(
        this.writer.change(botId, table.id, async (tx, current) => {
          const change = { staleColumns: codeColumns(current), emptied: [] };
          await this.schemaChanges.settleRows(tx, current, current, change);
          return {};
        }),
      );
    }
  }
}

/** Names. */
function codeColumns(table: TableRow): string[] {
  return columnsToCompute(withColumns(table)).flatMap((column) => (actionOf(column) === 'code' ? [column.name] : []));
}
