import { Injectable, type OnModuleInit } from '@nestjs/common';
import { removeAbandonedSpoolFiles } from '@parley/blobs/spool-file';
import { ApiError } from '@parley/contracts/errors';
import { Database } from '@parley/persistence/database';
import type { FailedWork, Work } from '@parley/work-queue/queue';
import { OnFailed, Worker } from '@parley/work-queue/worker';
import { JobFailed, JobLease } from '../jobs/job-lease';
import { runJobs, JobsRepository, type Outcome } from '../jobs/jobs.repository';
import type { JobRow, JobTask, TaskOf } from '../jobs/job.entity';
import { DuplicateJobService } from '../tables/duplicate-job.service';
import { SettleRowsJobService } from '../tables/settle-rows-job.service';
import { ExportJobService } from './export-job.service';
import { ImportJobService } from './import-job.service';
import { UnreadableFile } from './read-row';

/** Attempts without progress. */
const maxAttempts = 10;
const timeoutMs = 86_400_000;

type Works = { [Type in JobTask['type']]: (job: JobRow<TaskOf<Type>>, lease: JobLease) => Promise<Outcome | void> };

/** Worker for the jobs of all tables. */
@Injectable()
export class JobsWorker implements OnModuleInit {
  private readonly works: Works;

  constructor(
    private readonly database: Database,
    private readonly jobs: JobsRepository,
    importing: ImportJobService,
    exporting: ExportJobService,
    duplicating: DuplicateJobService,
    settling: SettleRowsJobService,
  ) {
    this.works = {
      import: (job, lease) => importing.run(job, lease),
      export: (job, lease) => exporting.run(job, lease),
      duplicate_table: (job, lease) => duplicating.run(job, lease),
      clear_column: (job, lease) => settling.run(job, lease),
      clear_vectors: (job, lease) => settling.run(job, lease),
    };
  }

  async onModuleInit(): Promise<void> {
    await removeAbandonedSpoolFiles();
  }

  /** Resumable: a job continues after its last step. One that was deleted with its table is done. */
  @Worker(runJobs, { concurrency: 2, attempts: maxAttempts, timeoutMs })
  async run(work: Work): Promise<void> {
    const job = await this.jobs.startJob(work.key);
    if (!job) return;
    const lease = new JobLease(this.database, this.jobs, job, work);
    try {
      const outcome = await this.work(job, lease);
      await lease.change((tx) => this.jobs.completeJob(tx, job.id, outcome ?? {}));
    } catch (error) {
      work.signal.throwIfAborted();
      const reason = finalReason(error);
      if (reason === undefined) throw new Error(publicReason(error), { cause: error });
      await lease.change((tx) => this.jobs.failJob(tx, job.id, reason));
    }
  }

  @OnFailed(runJobs)
  async fail({ key, attempts }: FailedWork<null>, reason: string): Promise<void> {
    // Attempts beyond the limit crashed with their process, or lost the database.
    const last = attempts > maxAttempts ? 'The worker process stopped unexpectedly each time.' : reason;
    await this.jobs.failJob(this.database, key, `Failed after ${maxAttempts} attempts. ${last}`);
  }

  private work<Type extends JobTask['type']>(job: JobRow<TaskOf<Type>>, lease: JobLease): Promise<Outcome | void> {
    const work = this.works[job.type as Type];
    return work(job, lease);
  }
}

/** Reason of a permanent failure; undefined when a retry may succeed. */
function finalReason(error: unknown): string | undefined {
  if (error instanceof UnreadableFile || error instanceof JobFailed) return error.message;
  return error instanceof ApiError && error.code < 500 ? error.message : undefined;
}

/** Only the messages of ApiError are public; others could reveal internals. */
function publicReason(error: unknown): string {
  return error instanceof ApiError ? error.message : 'Internal error. Try again later.';
}
