import { Inject, Injectable } from '@nestjs/common';
import { mayRemoveContent } from '@parley/persistence/content-hold';
import { Database } from '@parley/persistence/database';
import { UntidyFilesRepository } from '@parley/file-store/untidy-files.repository';
import { BackgroundWorker } from '@parley/service/background-worker';
import type { Platform } from '@parley/service/platform';
import { platformToken } from '@parley/service/tokens';
import { FilesConfig } from '../config';
import { FileCleanupService } from './file-cleanup.service';
import { retryLater } from './retry-later';

const batchSize = 100;

/** Processes the cleanup queue, except while a backup copies contents. */
@Injectable()
export class CleanupWorker extends BackgroundWorker {
  constructor(
    private readonly database: Database,
    private readonly cleanupQueue: UntidyFilesRepository,
    private readonly cleanup: FileCleanupService,
    @Inject(platformToken) private readonly platform: Platform,
    { sweepIntervalMs: intervalMs }: FilesConfig,
  ) {
    super({ name: 'files.tidy', intervalMs, logger: platform.logger });
  }

  protected async round(): Promise<boolean> {
    if (!(await mayRemoveContent(this.database))) return false;
    const due = await this.cleanupQueue.takeDueFiles(batchSize);
    for (const [index, file] of due.entries()) {
      if (this.isStopping) {
        await this.cleanupQueue.requeueFiles(due.slice(index));
        break;
      }
      await retryLater(this.platform.logger, file.fileId, () => this.cleanup.cleanUp(file));
    }
    return due.length === batchSize;
  }
}
