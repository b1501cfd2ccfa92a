import { setTimeout as sleep } from 'node:timers/promises';
import type { JobProgress, JobsRepository, LeasedJob } from '../../../files/src/store/jobs.repository';
import type { IndexingStage } from '@parley/contracts/indexing-work';
import { ServerBusy } from '@parley/openai/server-errors';
import { ModelsAway } from '@parley/service/models.client';
import type { Platform } from '@parley/service/platform';
import { LeaseLost } from '@parley/work-queue/queue';
import { ProgressMeter } from './progress-meter';

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
  private readonly meter = new ProgressMeter();
  private readonly progress: Omit<JobProgress, 'part' | 'secondsLeft'> = { stage: 'taken' };
  private recordedAt = -Infinity;
  readonly signal: AbortSignal;
  /** Format as which the content is read, once that is known. */
  format?: string;

  constructor(
    private readonly jobs: JobsRepository,
    private readonly job: LeasedJob,
    private readonly platform: Platform,
    private readonly heartbeatMs: number,
    stopping: AbortSignal,
  ) {
    this.signal = AbortSignal.any([this.lost.signal, stopping]);
    this.timer = setInterval(() => this.renew(), heartbeatMs);
  }

  get botId(): string {
    return this.job.version.botId;
  }

  /**
   * Before a write: throws LeaseLost when the lease is lost, and nothing may be written. Records the progress with a new
   * stage, and otherwise once a heartbeat: in between it only reads.
   */
  async advance(stage: IndexingStage): Promise<void> {
    this.signal.throwIfAborted();
    const isDue = stage !== this.progress.stage || performance.now() - this.recordedAt >= this.heartbeatMs;
    this.progress.stage = stage;
    if (await (isDue ? this.record() : this.jobs.isLeaseHeld(this.job))) return;
    this.lose();
    this.signal.throwIfAborted();
  }

  /** Recorded with the next heartbeat or stage. */
  noteReading(part: number): void {
    this.meter.read(part);
  }

  /** Recorded with the next heartbeat or stage. */
  noteIndexing(part: number, counts: Pick<JobProgress, 'passages' | 'passagesWritten'> = {}): void {
    this.meter.index(part);
    Object.assign(this.progress, counts);
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
    this.record().then(
      (alive) => {
        if (!alive) this.lose();
      },
      // A short database outage costs one heartbeat, not the job.
      (error: unknown) => this.platform.logger.warn({ err: error, ...this.job.version }, 'a heartbeat was missed'),
    );
  }

  private async record(): Promise<boolean> {
    const at = performance.now();
    const { part, secondsLeft } = this.meter;
    if (!(await this.jobs.recordProgress(this.job, { ...this.progress, part, secondsLeft }))) return false;
    this.recordedAt = at;
    return true;
  }

  private lose(): void {
    this.lost.abort(new LeaseLost('The lease of this job is lost.'));
  }
}

async function pauseFor({ retryAfterMs }: ServerBusy | ModelsAway, signal: AbortSignal): Promise<void> {
  await sleep(Math.min(retryAfterMs, maxPauseMs), undefined, { signal }).catch(() => signal.throwIfAborted());
}
