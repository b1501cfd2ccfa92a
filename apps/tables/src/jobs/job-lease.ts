import type { Database, Transaction } from '@parley/persistence/database';
import type { Work } from '@parley/work-queue/queue';
import type { JobRow } from './job.entity';
import type { JobsRepository, Step } from './jobs.repository';

/** Permanent failure of a job. The message is public: the reason and the remedy. */
export class JobFailed extends Error {
  override readonly name = 'JobFailed';
}

/** Interval of the progress that is stored within a step. */
const reportMs = 2_000;

/** Lease of a job: fences its changes, and has an abort signal for the loss of the lease. */
export class JobLease {
  /** 0 to 100. Stored with the next step. */
  progress: number;
  private reportAt = performance.now() + reportMs;

  constructor(
    private readonly database: Database,
    private readonly jobs: JobsRepository,
    private readonly job: JobRow,
    private readonly work: Work,
  ) {
    this.progress = job.progress;
  }

  /** Aborted when the lease is lost or the process stops. */
  get signal(): AbortSignal {
    return this.work.signal;
  }

  /** Records progress in the transaction of the work. Throws when the lease is lost, which rolls the work back. */
  async advance(tx: Transaction, step: Omit<Step, 'progress'>): Promise<void> {
    await this.work.advance(tx);
    const isThere = await this.jobs.recordStep(tx, this.job.id, { ...step, progress: this.progress });
    if (!isThere) throw new JobFailed('The table was deleted.');
  }

  /** Stores the progress of a long step, now and then. */
  async report(progress: number): Promise<void> {
    this.progress = progress;
    if (performance.now() < this.reportAt) return;
    this.reportAt = performance.now() + reportMs;
    await this.jobs.recordProgress(this.job.id, progress);
  }

  /** Changes the job in a transaction of its own. Throws when the lease is lost. */
  change(change: (tx: Transaction) => Promise<void>): Promise<void> {
    return this.database.transaction(async (tx) => {
      await this.work.confirm(tx);
      await change(tx);
    });
  }
}
