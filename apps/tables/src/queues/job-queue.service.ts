import { Injectable } from '@nestjs/common';
import type { Transaction } from '@parley/persistence/database';
import type { JobRow } from './job.entity';
import { JobsRepository, type NewJob } from './jobs.repository';
import { WorkSignalService } from './work-signal.service';

@Injectable()
export class JobQueueService {
  constructor(
    private readonly jobs: JobsRepository,
    private readonly signals: WorkSignalService,
  ) {}

  /** Starts the job after the commit. It is deleted with its table. */
  async start(tx: Transaction, job: NewJob): Promise<JobRow> {
    const row = await this.jobs.insertJob(tx, job);
    tx.afterCommit(() => this.signals.signal('job'));
    return row;
  }
}
