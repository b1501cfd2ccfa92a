import { Inject, Controller } from '@nestjs/common';
import { Semaphore } from '@parley/background/semaphore';
import type { Delivery } from '@parley/transport/event-stream';
import { Consumes } from '@parley/transport/handles';
import { indexFile } from '@parley/contracts/files';
import { JobsRepository, type LeasedJob } from '../../../files/src/store/jobs.repository';
import type { ContentVersion } from '../../../files/src/store/passages.repository';
import type { Platform } from '@parley/service/platform';
import { platformToken } from '@parley/service/tokens';
import { BackgroundTasks } from '@parley/work-queue/background-tasks.service';
import { Every, type Round } from '@parley/work-queue/worker';
import { IndexingJobService } from './indexing-job.service';
import { DocumentReaderService } from './document-reader.service';

const reserved = 'files-worker.reserved';
const small = 'files-worker.small';
/** While readers are busy. */
const lookIntervalMs = 250;
/** Otherwise a look has nothing to do: readers that become busy start the next one. */
const idleMs = 60_000;

/**
 * Claims indexing jobs, with fairness between bots: events occupy all readers but one. While these are busy, the
 * reserved reader claims jobs of bots without a job under way in this process, so the documents of one bot never keep
 * another bot waiting. While that one is busy as well, an additional reader claims small texts of such bots, so the
 * documents of several bots do not keep these waiting either.
 */
@Controller()
export class IndexFileHandler {
  private readonly readers: Semaphore;
  private readonly busyBots: string[] = [];

  constructor(
    private readonly jobs: JobsRepository,
    private readonly indexing: IndexingJobService,
    private readonly documents: DocumentReaderService,
    private readonly tasks: BackgroundTasks,
    @Inject(platformToken) private readonly platform: Platform,
  ) {
    this.readers = new Semaphore(documents.readers - 1);
  }

  /**
   * Claims one job per event: the next in turn, not necessarily the announced job. Safe to repeat: does nothing without
   * a job, because then the job was done or superseded, or the sweeper announces it again.
   */
  @Consumes(indexFile)
  handle(_announced: ContentVersion, { signal }: Delivery): Promise<void> {
    return this.readers.run(async () => {
      const job = await this.jobs.claimNext(this.platform.instance);
      if (job) await this.run(job, signal);
    }, signal);
  }

  @Every({ name: reserved, everyMs: idleMs })
  async claimForOtherBots({ signal, againIn }: Round): Promise<boolean> {
    if (this.busyBots.length < this.documents.readers - 1) return false;
    againIn(lookIntervalMs);
    return this.runUntilStop(await this.jobs.claimNext(this.platform.instance, { exceptBots: this.busyBots }), signal);
  }

  @Every({ name: small, everyMs: idleMs })
  async claimSmallForOtherBots({ signal, againIn }: Round): Promise<boolean> {
    if (this.busyBots.length < this.documents.readers) return false;
    againIn(lookIntervalMs);
    const limits = { exceptBots: this.busyBots, areSmall: true };
    return this.runUntilStop(await this.jobs.claimNext(this.platform.instance, limits), signal);
  }

  /** False without a job. */
  private async runUntilStop(job: LeasedJob | undefined, signal: AbortSignal): Promise<boolean> {
    if (!job) return false;
    await this.run(job, signal).catch((error: unknown) => {
      if (!signal.aborted) throw error;
    });
    return true;
  }

  private async run(job: LeasedJob, signal: AbortSignal): Promise<void> {
    const { botId } = job.version;
    this.busyBots.push(botId);
    for (const task of [reserved, small]) this.tasks.wake(task, lookIntervalMs);
    try {
      await this.indexing.run(job, signal);
    } finally {
      this.busyBots.splice(this.busyBots.indexOf(botId), 1);
    }
  }
}
