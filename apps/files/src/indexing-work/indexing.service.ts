import { Injectable } from '@nestjs/common';
import { fileUploaded } from '@parley/contracts/files';
import { Database, type Transaction } from '@parley/persistence/database';
import { FilesRepository } from '../store/files.repository';
import type { JobSource } from '../store/indexing-job.entity';
import { hasJobs, JobsRepository } from '../store/jobs.repository';
import type { ContentVersion } from '../store/passages.repository';
import { WorkQueue } from '@parley/work-queue/work-queue.service';
import { cleanupQueue, cleanupsOf } from '../store/cleanup-queue';
import { Outbox } from '@parley/events/outbox';
import { Every, WhenDue } from '@parley/work-queue/worker';
import { FilesConfig } from '../config';

const oldTurnsMs = 600_000;

@Injectable()
export class IndexingService {
  constructor(
    private readonly database: Database,
    private readonly files: FilesRepository,
    private readonly jobs: JobsRepository,
    private readonly work: WorkQueue,
    private readonly outbox: Outbox,
    private readonly config: FilesConfig,
  ) {}

  /** Adds the job of a new content version and its event, in the transaction that stores the content. */
  async begin(tx: Transaction, version: ContentVersion, source: JobSource): Promise<void> {
    await this.jobs.insertJob(tx, version, source);
    await this.outbox.add(tx, fileUploaded, version);
  }

  async beginSet(tx: Transaction, version: ContentVersion): Promise<void> {
    await this.files.acceptPassages(tx, version.fileId, version.contentVersion);
    await this.work.add(tx, cleanupQueue, cleanupsOf(version));
    await this.begin(tx, version, 'passages');
  }

  async beginAnew(tx: Transaction, version: ContentVersion, source: JobSource): Promise<void> {
    await this.files.restartIndexing(tx, version.fileId, version.contentVersion);
    await this.work.add(tx, cleanupQueue, cleanupsOf(version));
    await this.begin(tx, version, source);
  }

  /** Announces stalled jobs again. Idempotent, and safe to run in several processes at once. */
  @WhenDue<IndexingService>({
    name: 'files.announceStalled',
    rows: hasJobs,
    everyMs: ({ config }) => config.sweepIntervalMs,
  })
  announceStalled(): Promise<void> {
    return this.database.transaction(async (tx) => {
      await this.outbox.addAll(tx, fileUploaded, await this.jobs.releaseStalledJobs(tx));
    });
  }

  @Every({ name: 'files.oldTurns', everyMs: oldTurnsMs })
  deleteOldTurns(): Promise<void> {
    return this.jobs.deleteOldTurns();
  }
}
