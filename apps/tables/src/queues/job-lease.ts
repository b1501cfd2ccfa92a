import type { Sql } from '@parley/persistence/database';
import type { Logger } from '@parley/logging/logger';
import type { TakenJob } from './job.entity';
import type { JobsRepository, Step } from './jobs.repository';

/** Permanent failure of a job. The message is public: the reason and the remedy. */
export class JobFailed extends Error {
  override readonly name = 'JobFailed';
}

/** Lost lease: the job was deleted with its table, or another worker has taken it. Stop without further changes. */
export class JobLost extends Error {
  override readonly name = 'JobLost';
}

/** Well below `staleAfterSeconds` of the repository. */
const heartbeatMs = 2_000;

/** Lease of a job: heartbeats with the progress, and an abort signal for the loss of the lease. */
export class JobLease {
  /** 0 to 100. Stored with the next heartbeat. */
  progress: number;
  /** Aborted when the lease is lost or the process stops. */
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

  /** Records progress in the transaction of the work. Throws JobLost when the lease is lost, which rolls the work back. */
  async advance(tx: Sql, step: Omit<Step, 'progress'>): Promise<void> {
    this.signal.throwIfAborted();
    if (await this.jobs.recordStep(tx, this.job, { ...step, progress: this.progress })) return;
    this.lose();
    this.signal.throwIfAborted();
  }

  stop(): void {
    clearInterval(this.timer);
  }

  private beat(): void {
    this.jobs.recordHeartbeat(this.job, this.progress).then(
      (isHolder) => {
        if (!isHolder) this.lose();
      },
      // A failure of the database costs one heartbeat, not the job.
      (error: unknown) => this.logger.warn({ err: error, jobId: this.job.id }, 'job heartbeat failed'),
    );
  }

  private lose(): void {
    this.lost.abort(new JobLost('The lease of the job is lost.'));
  }
}
