import {
  type BeforeApplicationShutdown,
  Inject,
  Injectable,
  type OnApplicationBootstrap,
  type OnModuleDestroy,
  type OnModuleInit,
} from '@nestjs/common';
import { PollingWorker } from '@parley/background/polling-worker';
import { retryBackoffMs } from '@parley/background/retry-backoff';
import { removeAbandonedSpoolFiles } from '@parley/blobs/spool-file';
import { ApiError } from '@parley/contracts/errors';
import type { Platform } from '@parley/service/platform';
import { platformToken } from '@parley/service/tokens';
import { TablesConfig } from '../config';
import { ExportJobService } from '../imports-exports/export-job.service';
import { ImportJobService } from '../imports-exports/import-job.service';
import { UnreadableFile } from '../imports-exports/read-row';
import { JobFailed, JobLease, JobLost } from '../queues/job-lease';
import type { JobTask, TakenJob, TaskOf } from '../queues/job.entity';
import { JobsRepository, type Outcome } from '../queues/jobs.repository';
import { WorkSignalService } from '../queues/work-signal.service';
import { DuplicateJobService } from '../tables/duplicate-job.service';
import { SettleRowsJobService } from '../tables/settle-rows-job.service';

const jobsAtOnce = 2;
/** Attempts without progress. */
const maxAttempts = 10;

type Works = { [Type in JobTask['type']]: (job: TakenJob<TaskOf<Type>>, lease: JobLease) => Promise<Outcome | void> };

/**
 * Worker for the jobs of all tables. A process runs up to `jobsAtOnce` jobs. Another process takes over the jobs of a crashed
 * one.
 */
@Injectable()
export class JobsWorker implements OnModuleInit, OnApplicationBootstrap, OnModuleDestroy, BeforeApplicationShutdown {
  private readonly loops: PollingWorker[];
  private readonly stopping = new AbortController();
  private readonly works: Works;

  constructor(
    private readonly jobs: JobsRepository,
    importing: ImportJobService,
    exporting: ExportJobService,
    duplicating: DuplicateJobService,
    settling: SettleRowsJobService,
    signals: WorkSignalService,
    @Inject(platformToken) private readonly platform: Platform,
    { sweepIntervalMs: intervalMs }: TablesConfig,
  ) {
    this.works = {
      import: (job, lease) => importing.run(job, lease),
      export: (job, lease) => exporting.run(job, lease),
      duplicate_table: (job, lease) => duplicating.run(job, lease),
      clear_column: (job, lease) => settling.run(job, lease),
      clear_vectors: (job, lease) => settling.run(job, lease),
    };
    const { logger } = platform;
    this.loops = Array.from(
      { length: jobsAtOnce },
      () => new PollingWorker({ name: 'tables.jobs', intervalMs, logger }, () => this.runNext()),
    );
    signals.onWork('job', () => this.loops.forEach((loop) => loop.wake()));
  }

  /** Releases the jobs of a crashed process with the same name. */
  async onModuleInit(): Promise<void> {
    await removeAbandonedSpoolFiles();
    await this.jobs.releaseAllOf(this.platform.instance);
  }

  onApplicationBootstrap(): void {
    this.loops.forEach((loop) => loop.start());
  }

  onModuleDestroy(): void {
    this.stopping.abort();
  }

  async beforeApplicationShutdown(): Promise<void> {
    await Promise.all(this.loops.map((loop) => loop.stop()));
  }

  private async runNext(): Promise<boolean> {
    if (this.stopping.signal.aborted) return false;
    const job = await this.jobs.takeJob(this.platform.instance);
    if (!job) return false;
    const lease = new JobLease(this.jobs, job, this.platform.logger, this.stopping.signal);
    try {
      // Only attempts that crashed with their process, or lost the database, are counted here.
      if (job.attempts > maxAttempts)
        throw new JobFailed(outOfAttempts('The worker process stopped unexpectedly each time.'));
      const outcome = await this.work(job, lease);
      await this.jobs.completeJob(job, outcome ?? {});
    } catch (error) {
      await this.settle(job, error);
    } finally {
      lease.stop();
    }
    return true;
  }

  private work<Type extends JobTask['type']>(job: TakenJob<TaskOf<Type>>, lease: JobLease): Promise<Outcome | void> {
    const work = this.works[job.type as Type];
    return work(job, lease);
  }

  private async settle(job: TakenJob, error: unknown): Promise<void> {
    const { logger } = this.platform;
    const about = { jobId: job.id, tableId: job.table_id, type: job.type };
    if (error instanceof JobLost) return;
    if (this.stopping.signal.aborted) {
      logger.info(about, 'shutting down, job is released for another process');
      return this.jobs.giveBack(job);
    }
    const reason = finalReason(error);
    if (reason !== undefined) return this.jobs.failJob(job, reason);

    logger.warn({ ...about, attempt: job.attempts, err: error }, 'job attempt failed');
    if (job.attempts >= maxAttempts) return this.jobs.failJob(job, outOfAttempts(publicReason(error)));
    return this.jobs.releaseForRetry(job, retryBackoffMs(job.attempts) / 1_000);
  }
}

/** Reason of a permanent failure; undefined when a retry may succeed. */
function finalReason(error: unknown): string | undefined {
  if (error instanceof UnreadableFile || error instanceof JobFailed) return error.message;
  return error instanceof ApiError && error.code < 500 ? error.message : undefined;
}

function outOfAttempts(reason: string): string {
  return `Failed after ${maxAttempts} attempts. ${reason}`;
}

/** Only the messages of ApiError are public; others could reveal internals. */
function publicReason(error: unknown): string {
  return error instanceof ApiError ? error.message : 'Internal error. Try again later.';
}
