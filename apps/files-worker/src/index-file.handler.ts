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
import { EmbedderBusy, EmbedderRefused, EmbedderUnavailable } from '@parley/passages/embedder';
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
    const watch = new JobWatch(this.jobs, version, job.lease, this.platform, this.config.heartbeatMs, signal);
    try {
      await this.index(version, job, watch);
    } catch (error) {
      await this.settle(version, job, error, signal);
    } finally {
      watch.stop();
    }
  }

  private async index(version: ContentVersion, job: TakenJob, watch: JobWatch): Promise<void> {
    const { indexingAttempts } = this.config;
    // Only tries that ended with their process get this far.
    if (job.attempts > indexingAttempts) {
      throw new UnreadableDocument(outOfAttempts(indexingAttempts, job.lastError ?? 'The worker ended each time.'));
    }
    await this.indexer.index(version, job.file, watch);
    await watch.advance({ stage: 'switching' });
    await this.end(version, job, (tx) => this.files.finishIndexing(tx, version.fileId, version.contentVersion));
  }

  /** Ends the job, or gives it back for another try. Throws what should be delivered again. */
  private async settle(version: ContentVersion, job: TakenJob, error: unknown, signal: AbortSignal): Promise<void> {
    const { logger } = this.platform;
    if (error instanceof JobLost) return this.end(version, job);
    if (error instanceof UnreadableDocument || error instanceof EmbedderRefused)
      return this.fail(version, job, error.message);

    const isOurs = signal.aborted || error instanceof EmbedderBusy || error instanceof ApiError;
    const reason = publicReason(error);
    if (signal.aborted) logger.info(version, 'this process stops: the file is left to another');
    else logger.warn({ ...version, attempt: job.attempts, err: error }, 'a try to index a file did not succeed');
    if (!isOurs && job.attempts >= this.config.indexingAttempts) {
      return this.fail(version, job, outOfAttempts(job.attempts, reason));
    }
    await this.jobs.release(version, job.lease, reason, isOurs ? 'pause' : 'attempt');
    throw error;
  }

  private fail(version: ContentVersion, job: TakenJob, reason: string): Promise<void> {
    this.platform.logger.warn({ ...version, reason }, 'a file cannot be indexed');
    return this.end(version, job, (tx) => this.files.failIndexing(tx, version.fileId, version.contentVersion, reason));
  }

  /**
   * The end of the job, its outcome and the note to remove what is not readable, in one commit. Who has lost the job
   * decides nothing, but what it has written is looked at all the same.
   */
  private end(
    { botId, fileId, contentVersion }: ContentVersion,
    { lease }: TakenJob,
    decide?: (tx: Transaction) => Promise<boolean>,
  ): Promise<void> {
    return this.database.transaction(async (tx) => {
      const isHolder = await this.jobs.end(tx, { botId, fileId, contentVersion }, lease);
      if (isHolder) await decide?.(tx);
      await this.untidy.add(tx, [{ botId, fileId }]);
    });
  }
}

function outOfAttempts(attempts: number, reason: string): string {
  return `Indexing was tried ${attempts} times. ${reason}`;
}

/** What the file's owner may read: errors of our own making say what is wrong, others could tell of the inside. */
function publicReason(error: unknown): string {
  const isPublic = error instanceof EmbedderUnavailable || error instanceof EmbedderBusy || error instanceof ApiError;
  return isPublic ? error.message : 'Something went wrong on our side: upload the file again later.';
}
