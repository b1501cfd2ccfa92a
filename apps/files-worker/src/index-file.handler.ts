import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { type Delivery } from '@parley/bus/event-stream';
import { Consumes } from '@parley/bus/handles';
import { ApiError } from '@parley/contracts/errors';
import { fileUploaded } from '@parley/contracts/files';
import { Database, type Transaction } from '@parley/database/database';
import { FilesRepository } from '@parley/file-store/files.repository';
import { JobsRepository, type TakenJob } from '@parley/file-store/jobs.repository';
import type { ContentVersion } from '@parley/file-store/passages.repository';
import { UntidyFilesRepository } from '@parley/file-store/untidy-files.repository';
import { EmbedderBusy, EmbedderRefused } from '@parley/passages/embedder';
import type { Platform } from '@parley/service/platform';
import { platformToken } from '@parley/service/tokens';
import { FilesWorkerConfig } from './config';
import { Indexer } from './indexer';
import { JobLost, JobWatch } from './job-watch';
import { UnreadableDocument } from './parsing/block';

/** Indexes one content: from the event to passages that readers see, or to a reason why there are none. */
@Injectable()
export class IndexFileHandler implements OnModuleInit {
  constructor(
    private readonly database: Database,
    private readonly files: FilesRepository,
    private readonly jobs: JobsRepository,
    private readonly untidy: UntidyFilesRepository,
    private readonly indexer: Indexer,
    private readonly config: FilesWorkerConfig,
    @Inject(platformToken) private readonly platform: Platform,
  ) {}

  /** A process of the same name that died held its jobs until now. */
  onModuleInit(): Promise<void> {
    return this.jobs.releaseAllOf(this.platform.instance);
  }

  /** Safe to repeat: a job is taken by one worker at a time, and every write is conditional on still being its newest. */
  @Consumes(fileUploaded, { name: 'files-worker.index', concurrency: 2, maxDeliveries: 100 })
  async handle(version: ContentVersion, { signal }: Delivery): Promise<void> {
    const job = await this.jobs.take(version, this.platform.instance);
    // Done, superseded, or in the hands of a worker that is alive: the sweeper announces it again should that one die.
    if (!job) return;
    const watch = new JobWatch(this.jobs, version, this.platform, this.config.heartbeatMs, signal);
    try {
      await this.index(version, job, watch);
    } catch (error) {
      await this.settle(version, job, error, signal);
    } finally {
      watch.stop();
    }
  }

  private async index(version: ContentVersion, { file, attempts, lastError }: TakenJob, watch: JobWatch): Promise<void> {
    const { indexingAttempts } = this.config;
    if (attempts > indexingAttempts) {
      throw new UnreadableDocument(`Indexing was tried ${indexingAttempts} times. ${lastError ?? 'The worker ended each time.'}`);
    }
    await this.indexer.index(version, file, watch);
    await watch.advance({ stage: 'switching' });
    await this.end(version, (tx) => this.files.finishIndexing(tx, version.fileId, version.contentVersion));
  }

  /** Ends the job, or gives it back for another try. Throws what should be delivered again. */
  private async settle(version: ContentVersion, job: TakenJob, error: unknown, signal: AbortSignal): Promise<void> {
    const reason = error instanceof Error ? error.message : String(error);
    const { instance, logger } = this.platform;
    if (error instanceof JobLost) {
      await this.end(version, () => Promise.resolve(true));
      return;
    }
    if (error instanceof UnreadableDocument || error instanceof EmbedderRefused) {
      logger.warn({ ...version, reason }, 'a file cannot be indexed');
      await this.end(version, (tx) => this.files.failIndexing(tx, version.fileId, version.contentVersion, reason));
      return;
    }
    const isOurs = signal.aborted || error instanceof EmbedderBusy || error instanceof ApiError;
    await this.jobs.release(version, instance, reason, isOurs ? 'pause' : 'attempt');
    logger.warn({ ...version, attempt: job.attempts, reason }, 'a file is given back for another try');
    throw error;
  }

  /** The outcome, the end of the job and the note to remove older versions, in one commit. */
  private end(version: ContentVersion, decide: (tx: Transaction) => Promise<boolean>): Promise<void> {
    return this.database.transaction(async (tx) => {
      await decide(tx);
      await this.jobs.delete(tx, version);
      await this.untidy.add(tx, [version]);
    });
  }
}
