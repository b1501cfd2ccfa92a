import { Injectable } from '@nestjs/common';
import { Database } from '@parley/persistence/database';
import { WorkQueue } from '@parley/work-queue/work-queue.service';
import { JobFailed, type JobLease } from '../jobs/job-lease';
import type { JobRow, TaskOf } from '../jobs/job.entity';
import { RowBatchesRepository } from './row-batches.repository';
import { wakeAfterCommit } from './table-queues';
import { TableCache } from './table.cache';

const rowsAtOnce = 1_000;

/** Copies rows from another table. Resumable: each batch commits together with the id of its last source row. */
@Injectable()
export class DuplicateJobService {
  constructor(
    private readonly database: Database,
    private readonly tableCache: TableCache,
    private readonly rows: RowBatchesRepository,
    private readonly queue: WorkQueue,
  ) {}

  async run(job: JobRow<TaskOf<'duplicate_table'>>, lease: JobLease): Promise<void> {
    while (job.position < job.task.lastRowId) {
      lease.signal.throwIfAborted();
      const last = await this.copyBatch(job, lease);
      if (last === 'none') break;
      if (last !== 'table changed') job.position = last;
    }
    // The rows of a deleted table are erased soon, so the copy may be incomplete.
    if ((await this.rows.findLastRowId(job.task.sourceNumber)) === undefined) {
      throw new JobFailed('The source table was emptied or deleted before all of its rows were copied.');
    }
  }

  private async copyBatch(
    job: JobRow<TaskOf<'duplicate_table'>>,
    lease: JobLease,
  ): Promise<number | 'none' | 'table changed'> {
    const table = await this.tableCache.current(job.bot_id, job.table_id);
    return this.database.transaction(async (tx) => {
      const copied = await this.rows.copyRows(tx, table, job.task, job.position, rowsAtOnce);
      if (!copied) return 'table changed';
      if (copied.lastId === null) return 'none';
      wakeAfterCommit(tx, this.queue, ['compute', 'index']);
      lease.progress = Math.min(99, Math.floor((100 * copied.lastId) / job.task.lastRowId));
      const failedRows = copied.rows - copied.stored;
      const errors =
        failedRows > 0 ? [`${failedRows} rows were not copied: the copy already has rows with their keys.`] : [];
      await lease.advance(tx, { position: copied.lastId, rows: copied.stored, failedRows, errors });
      return copied.lastId;
    });
  }
}
