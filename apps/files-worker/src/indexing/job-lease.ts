import { setTimeout as sleep } from 'node:timers/promises';
import type { JobProgress, JobsRepository, LeasedJob } from '../../../files/src/store/jobs.repository';
import { ServerBusy } from '@parley/openai/server-errors';
import type { Platform } from '@parley/service/platform';
import { LeaseLost } from '@parley/work-queue/queue';

const maxPauseMs = 60_000;

/**
 * Heartbeat of a job: renews its lease, and aborts the work when the lease is lost, because the content was replaced or
 * deleted, or another worker has the job.
 */
export class JobLease {
  private readonly lost = new AbortController();
  private readonly timer: NodeJS.Timeout;
  private stage: JobProgress['stage'] = 'taken';
  private part = 0;
  readonly signal: AbortSignal;

  constructor(
    private readonly jobs: JobsRepository,
    private readonly job: LeasedJob,
    private readonly platform: Platform,
    heartbeatMs: number,
    stopping: AbortSignal,
  ) {
    this.signal = AbortSignal.any([this.lost.signal, stopping]);
    this.timer = setInterval(() => this.renew(), heartbeatMs);
  }

  /** Records progress. Throws LeaseLost when the lease is lost: nothing may be written then. */
  async advance(progress: JobProgress): Promise<void> {
    this.signal.throwIfAborted();
    this.stage = progress.stage;
    const { part } = progress;
    if (await this.jobs.recordProgress(this.job, { ...progress, part: part && this.furthest(part) })) return;
    this.lose();
    this.signal.throwIfAborted();
  }

  /** Fraction of the document that is read. The next heartbeat records it. */
  note(part: number): void {
    this.furthest(part);
  }

  /**
   * Backpressure: repeats a request without limit while the server asks to slow down, after the pause that it asks for
   * (at most 60 s).
   */
  async whenFree<T>(ask: () => Promise<T>, signal = this.signal): Promise<T> {
    for (;;) {
      try {
        return await ask();
      } catch (error) {
        if (!(error instanceof ServerBusy)) throw error;
        await pauseFor(error, signal);
      }
    }
  }

  stop(): void {
    clearInterval(this.timer);
  }

  private furthest(part: number): number {
    return (this.part = Math.max(this.part, part));
  }

  private renew(): void {
    this.jobs.recordProgress(this.job, { stage: this.stage, part: this.part || undefined }).then(
      (alive) => {
        if (!alive) this.lose();
      },
      // A short database outage costs one heartbeat, not the job.
      (error: unknown) => this.platform.logger.warn({ err: error, ...this.job.version }, 'a heartbeat was missed'),
    );
  }

  private lose(): void {
    this.lost.abort(new LeaseLost('The lease of this job is lost.'));
  }
}

async function pauseFor({ retryAfterMs }: ServerBusy, signal: AbortSignal): Promise<void> {
  await sleep(Math.min(retryAfterMs, maxPauseMs), undefined, { signal }).catch(() => signal.throwIfAborted());
}
