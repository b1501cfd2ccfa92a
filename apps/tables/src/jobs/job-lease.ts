import type { Sql } from '@parley/database/database';
import type { Logger } from '@parley/logging/logger';
import type { TakenJob } from './job.entity';
import type { JobsRepository, Step } from './jobs.repository';

/** The job ended with its table, or another worker has it: stop, and leave no trace. */
export class JobLost extends Error {
  override readonly name = 'JobLost';
}

/** Well within the time after which a worker counts as gone. */
const heartbeatMs = 2_000;

/** Shows that the job is alive and how far it is, and tells the worker when it is no longer its. */
export class JobLease {
  /** From 0 to 100. Seen by others with the next heartbeat. */
  progress: number;
  /** Aborted when the job is lost or the process stops. */
  readonly signal: AbortSignal;
  private readonly lost = new AbortController();
  private readonly timer: NodeJS.Timeout;

  constructor(
    private readonly jobs: JobsRepository,
    private readonly job: TakenJob,
    private readonly logger: Logger,
    stopping: AbortSignal,
  ) {
    this.progress = job.progress;
    this.signal = AbortSignal.any([this.lost.signal, stopping]);
    this.timer = setInterval(() => this.beat(), heartbeatMs);
  }

  /** Counts what the transaction does. Throws JobLost, which undoes it, when the job is no longer this worker's. */
  async advance(tx: Sql, step: Omit<Step, 'progress'>): Promise<void> {
    this.signal.throwIfAborted();
    if (await this.jobs.advance(tx, this.job, { ...step, progress: this.progress })) return;
    this.lose();
    this.signal.throwIfAborted();
  }

  stop(): void {
    clearInterval(this.timer);
  }

  private beat(): void {
    this.jobs.beat(this.job, this.progress).then(
      (isHolder) => {
        if (!isHolder) this.lose();
      },
      // A database that is away for a moment costs a beat, not the job.
      (error: unknown) => this.logger.warn({ err: error, jobId: this.job.id }, 'a heartbeat was missed'),
    );
  }

  private lose(): void {
    this.lost.abort(new JobLost('The job is no longer this worker’s.'));
  }
}
