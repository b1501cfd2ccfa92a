import { Injectable } from '@nestjs/common';
import type { Transaction } from '@parley/persistence/database';
import { queue } from '@parley/work-queue/queue';
import { WorkQueue } from '@parley/work-queue/work-queue.service';
import type { JobRow } from './job.entity';
import { JobsRepository, type NewJob } from './jobs.repository';

/** Ids of jobs. A bot has one running job at a time. */
export const runJobs = queue('tables.jobs', { isOrdered: true });

@Injectable()
export class JobQueueService {
  constructor(
    private readonly jobs: JobsRepository,
    private readonly queue: WorkQueue,
  ) {}

  /** Starts the job after the commit. It is deleted with its table. */
  async start(tx: Transaction, job: NewJob): Promise<JobRow> {
    const { botId } = job;
    const row = await this.jobs.insertJob(tx, job);
    await this.queue.add(tx, runJobs, [{ key: row.id, tenant: botId, orderingKey: botId, payload: null }]);
    return row;
  }
}
