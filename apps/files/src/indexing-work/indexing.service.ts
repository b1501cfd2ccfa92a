import { Injectable } from '@nestjs/common';
import { fileUploaded } from '@parley/contracts/files';
import type { Transaction } from '@parley/persistence/database';
import { FilesRepository } from '@parley/file-store/files.repository';
import type { JobSource } from '@parley/file-store/indexing-job.entity';
import { JobsRepository } from '@parley/file-store/jobs.repository';
import type { ContentVersion } from '@parley/file-store/passages.repository';
import { UntidyFilesRepository } from '@parley/file-store/untidy-files.repository';
import { Outbox } from '@parley/events/outbox';

@Injectable()
export class IndexingService {
  constructor(
    private readonly files: FilesRepository,
    private readonly jobs: JobsRepository,
    private readonly cleanupQueue: UntidyFilesRepository,
    private readonly outbox: Outbox,
  ) {}

  /** Adds the job of a new content version and its event, in the transaction that stores the content. */
  async begin(tx: Transaction, version: ContentVersion, source: JobSource): Promise<void> {
    await this.jobs.insertJob(tx, version, source);
    await this.outbox.add(tx, fileUploaded, version);
  }

  async beginSet(tx: Transaction, version: ContentVersion): Promise<void> {
    await this.files.acceptPassages(tx, version.fileId, version.contentVersion);
    await this.cleanupQueue.enqueueFiles(tx, [version]);
    await this.begin(tx, version, 'passages');
  }

  async beginAnew(tx: Transaction, version: ContentVersion, source: JobSource): Promise<void> {
    await this.files.restartIndexing(tx, version.fileId, version.contentVersion);
    await this.cleanupQueue.enqueueFiles(tx, [version]);
    await this.begin(tx, version, source);
  }
}
