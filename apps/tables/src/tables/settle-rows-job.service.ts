import { Injectable } from '@nestjs/common';
import { Database } from '@parley/persistence/database';
import { WorkQueue } from '@parley/work-queue/work-queue.service';
import type { JobLease } from '../jobs/job-lease';
import type { JobRow, TaskOf } from '../jobs/job.entity';
import { remainingEffect, workOf } from '../schema/effect-on-rows';
import { wakeAfterCommit } from './table-queues';
import { TableRowsRepository } from './table-rows.repository';
import { type CachedTable, TableCache } from './table.cache';

type Job = JobRow<TaskOf<'clear_column' | 'clear_vectors'>>;

const rowsAtOnce = 2_000;

/** Applies a change of columns to existing rows. Resumable: each batch commits together with the id of its last row. */
@Injectable()
export class SettleRowsJobService {
  constructor(
    private readonly database: Database,
    private readonly tableCache: TableCache,
    private readonly rows: TableRowsRepository,
    private readonly queue: WorkQueue,
  ) {}

  async run(job: Job, lease: JobLease): Promise<void> {
    while (job.position < job.task.lastRowId) {
      lease.signal.throwIfAborted();
      const table = await this.tableCache.ofNumber(job.task.tableNumber);
      if (!table) return;
      job.position = await this.settleBatch(table, job, lease);
    }
  }

  /** Returns the new position, or the old one when the table changed meanwhile. */
  private settleBatch(table: CachedTable, { task, position }: Job, lease: JobLease): Promise<number> {
    return this.database.transaction(async (tx) => {
      const effect = remainingEffect(task.effect, table);
      const settled = await this.rows.applyEffect(tx, table, effect, position, rowsAtOnce);
      if (!settled) return position;
      wakeAfterCommit(tx, this.queue, workOf(effect));
      const reached = settled.lastId ?? task.lastRowId;
      lease.progress = Math.min(99, Math.floor((100 * reached) / task.lastRowId));
      await lease.advance(tx, { position: reached, rows: settled.rows, failedRows: 0, errors: [] });
      return reached;
    });
  }
}
