import { setTimeout as sleep } from 'node:timers/promises';
import type { IndexingStage } from '@parley/contracts/indexing-work';
import type { JobsRepository } from '@parley/file-store/jobs.repository';
import type { ContentVersion } from '@parley/file-store/passages.repository';
import { ServerBusy } from '@parley/openai/server-errors';
import type { Platform } from '@parley/service/platform';

const maxPauseMs = 60_000;

/** The content was replaced or deleted, or another worker has the job: stop, and leave no trace. */
export class JobLost extends Error {
  override readonly name = 'JobLost';
}

export interface Progress {
  stage: IndexingStage;
  passages?: number;
  passagesWritten?: number;
  /** How much of the document is done, from 0 to 1. */
  part?: number;
}

/** Shows that the job is alive, and tells the worker when it is no longer its. */
export class JobWatch {
  private readonly lost = new AbortController();
  private readonly timer: NodeJS.Timeout;
  private stage: IndexingStage = 'taken';
  /** Aborted when the job is lost or the process stops. */
  readonly signal: AbortSignal;

  constructor(
    private readonly jobs: JobsRepository,
    private readonly version: ContentVersion,
    private readonly lease: string,
    private readonly platform: Platform,
    heartbeatMs: number,
    stopping: AbortSignal,
  ) {
    this.signal = AbortSignal.any([this.lost.signal, stopping]);
    this.timer = setInterval(() => this.beat(), heartbeatMs);
  }

  /** Records how far the job is. Throws JobLost when it is no longer this worker's: nothing may be written then. */
  async advance(progress: Progress): Promise<void> {
    this.signal.throwIfAborted();
    this.stage = progress.stage;
    if (await this.jobs.beat(this.version, this.lease, progress)) return;
    this.lose();
    this.signal.throwIfAborted();
  }

  /** What the server answers. One that asks to slow down is given the time that it asks for, however often. */
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

  private beat(): void {
    this.jobs.beat(this.version, this.lease, { stage: this.stage }).then(
      (alive) => {
        if (!alive) this.lose();
      },
      // A database that is away for a moment costs a beat, not the job.
      (error: unknown) => this.platform.logger.warn({ err: error, ...this.version }, 'a heartbeat was missed'),
    );
  }

  private lose(): void {
    this.lost.abort(new JobLost('The job is no longer this worker’s.'));
  }
}

async function pauseFor({ retryAfterMs }: ServerBusy, signal: AbortSignal): Promise<void> {
  await sleep(Math.min(retryAfterMs, maxPauseMs), undefined, { signal }).catch(() => signal.throwIfAborted());
}
