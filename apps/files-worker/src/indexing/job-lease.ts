import { setTimeout as sleep } from 'node:timers/promises';
import type { JobProgress, JobsRepository, LeasedJob } from '../../../files/src/store/jobs.repository';
import { ServerBusy } from '@parley/openai/server-errors';
import { ModelsAway } from '@parley/service/models.client';
import type { Platform } from '@parley/service/platform';
import { LeaseLost } from '@parley/work-queue/queue';

const maxPauseMs = 60_000;
/** A restart of the models service ends within it. After it, others need the reader of the document. */
const awayMs = 30_000;

/**
 * Heartbeat of a job: renews its lease, and aborts the work when the lease is lost, because the content was replaced or
 * deleted, or another worker has the job.
 */
export class JobLease {
  private readonly lost = new AbortController();
  private readonly timer: NodeJS.Timeout;
  private stage: JobProgress['stage'] = 'taken';
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

  get botId(): string {
    return this.job.version.botId;
  }

  /** Records progress. Throws LeaseLost when the lease is lost: nothing may be written then. */
  async advance(progress: JobProgress): Promise<void> {
    this.signal.throwIfAborted();
    this.stage = progress.stage;
    if (await this.jobs.recordProgress(this.job, progress)) return;
    this.lose();
    this.signal.throwIfAborted();
  }

  /**
   * Backpressure: repeats a request without limit while the server asks to slow down, after the pause that it asks for
   * (at most 60 s), and for 30 s while the models service is away.
   */
  async whenFree<T>(ask: () => Promise<T>, signal = this.signal): Promise<T> {
    let awayUntil: number | undefined;
    for (;;) {
      try {
        return await ask();
      } catch (error) {
        if (error instanceof ModelsAway) awayUntil ??= performance.now() + awayMs;
        else awayUntil = undefined;
        const isAway = error instanceof ModelsAway && performance.now() < awayUntil!;
        if (!isAway && !(error instanceof ServerBusy)) throw error;
        await pauseFor(error, signal);
      }
    }
  }

  stop(): void {
    clearInterval(this.timer);
  }

  private renew(): void {
    this.jobs.recordProgress(this.job, { stage: this.stage }).then(
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

async function pauseFor({ retryAfterMs }: ServerBusy | ModelsAway, signal: AbortSignal): Promise<void> {
  await sleep(Math.min(retryAfterMs, maxPauseMs), undefined, { signal }).catch(() => signal.throwIfAborted());
}
