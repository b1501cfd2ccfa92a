import { setTimeout as sleep } from 'node:timers/promises';
import type { IndexingStage } from '@parley/contracts/indexing-work';
import type { JobsRepository } from '../../../files/src/store/jobs.repository';
import type { ContentVersion } from '../../../files/src/store/passages.repository';
import { ServerBusy } from '@parley/openai/server-errors';
import type { Platform } from '@parley/service/platform';

const maxPauseMs = 60_000;

/** Lease lost: the content was replaced or deleted, or another worker has the job. Stop without a trace. */
export class JobLost extends Error {
  override readonly name = 'JobLost';
}

export interface Progress {
  stage: IndexingStage;
  passages?: number;
  passagesWritten?: number;
  /** Fraction of the document that is done, from 0 to 1. */
  part?: number;
}

/** Heartbeat of a job: renews its lease, and aborts the work when the lease is lost. */
export class JobLease {
  private readonly lost = new AbortController();
  private readonly timer: NodeJS.Timeout;
  private stage: IndexingStage = 'taken';
  readonly signal: AbortSignal;

  constructor(
    private readonly jobs: JobsRepository,
    private readonly version: ContentVersion,
    private readonly leaseId: string,
    private readonly platform: Platform,
    heartbeatMs: number,
    stopping: AbortSignal,
  ) {
    this.signal = AbortSignal.any([this.lost.signal, stopping]);
    this.timer = setInterval(() => this.renew(), heartbeatMs);
  }

  /** Records progress. Throws JobLost when the lease is lost: nothing may be written then. */
  async advance(progress: Progress): Promise<void> {
    this.signal.throwIfAborted();
    this.stage = progress.stage;
    if (await this.jobs.renewLease(this.version, this.leaseId, progress)) return;
    this.lose();
    this.signal.throwIfAborted();
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

  private renew(): void {
    this.jobs.renewLease(this.version, this.leaseId, { stage: this.stage }).then(
      (alive) => {
        if (!alive) this.lose();
      },
      // A short database outage costs one heartbeat, not the job.
      (error: unknown) => this.platform.logger.warn({ err: error, ...this.version }, 'a heartbeat was missed'),
    );
  }

  private lose(): void {
    this.lost.abort(new JobLost('The lease of this job is lost.'));
  }
}

async function pauseFor({ retryAfterMs }: ServerBusy, signal: AbortSignal): Promise<void> {
  await sleep(Math.min(retryAfterMs, maxPauseMs), undefined, { signal }).catch(() => signal.throwIfAborted());
}
