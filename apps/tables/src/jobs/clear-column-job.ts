import { Injectable } from '@nestjs/common';
import { Database } from '@parley/database/database';
import type { TaskOf, TakenJob } from './job.entity';
import { JobRowsRepository } from './job-rows.repository';
import type { JobLease } from './job-lease';

const rowsAtOnce = 2_000;

/** Removes what rows still hold of columns that nobody can reach any more. */
@Injectable()
export class ClearColumnJob {
  constructor(
    private readonly database: Database,
    private readonly rows: JobRowsRepository,
  ) {}

  async run(job: TakenJob<TaskOf<'clear_column'>>, lease: JobLease): Promise<void> {
    const { tableNumber, keys } = job.task;
    const lastId = (await this.rows.findLastId(tableNumber)) ?? 0;
    while (job.position < lastId) {
      lease.signal.throwIfAborted();
      job.position = await this.database.transaction(async (tx) => {
        const { lastId: last, rows } = await this.rows.clear(tx, tableNumber, keys, job.position, rowsAtOnce);
        const position = last ?? lastId;
        lease.progress = Math.min(99, Math.floor((100 * position) / lastId));
        await lease.advance(tx, { position, rows, failedRows: 0, errors: [] });
        return position;
      });
    }
  }
}
