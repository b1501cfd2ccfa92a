import { Inject, Injectable } from '@nestjs/common';
import { FilesRepository } from '@parley/file-store/files.repository';
import { JobsRepository } from '@parley/file-store/jobs.repository';
import { UntidyFilesRepository } from '@parley/file-store/untidy-files.repository';
import { UploadsRepository } from '@parley/file-store/uploads.repository';
import { Database } from '@parley/persistence/database';
import { BackgroundWorker } from '@parley/service/background-worker';
import type { Platform } from '@parley/service/platform';
import { platformToken } from '@parley/service/tokens';
import { FilesConfig } from '../config';
import { retryLater } from './retry-later';

const batchSize = 100;

/** Deletes abandoned uploads, superseded jobs and expired files. Idempotent, and safe to run in several processes at once. */
@Injectable()
export class ExpiredFilesWorker extends BackgroundWorker {
  constructor(
    private readonly database: Database,
    private readonly files: FilesRepository,
    private readonly jobs: JobsRepository,
    private readonly uploads: UploadsRepository,
    private readonly cleanupQueue: UntidyFilesRepository,
    @Inject(platformToken) private readonly platform: Platform,
    { sweepIntervalMs: intervalMs }: FilesConfig,
  ) {
    super({ name: 'files.sweep', intervalMs, logger: platform.logger });
  }

  protected async round(): Promise<boolean> {
    await this.database.transaction(async (tx) => {
      const abandoned = await this.uploads.deleteAbandonedUploads(tx);
      const superseded = await this.jobs.deleteSuperseded(tx);
      await this.cleanupQueue.enqueueFiles(tx, [...abandoned, ...superseded]);
    });
    const bots = await this.files.listBotsWithOverdue(batchSize);
    let isMore = bots.length === batchSize;
    for (const botId of bots) {
      if (this.isStopping) break;
      await retryLater(this.platform.logger, botId, async () => {
        isMore = (await this.sweepOverdue(botId)) || isMore;
      });
    }
    return isMore;
  }

  /** Returns whether the bot may have more expired uploads or files. */
  private async sweepOverdue(botId: string): Promise<boolean> {
    const lapsed = await this.files.failLapsedUploads(botId, batchSize);
    const expired = await this.database.transaction(async (tx) => {
      const files = await this.files.deleteExpired(tx, botId, batchSize);
      await this.cleanupQueue.enqueueFiles(tx, files);
      return files.length;
    });
    return Math.max(lapsed, expired) === batchSize;
  }
}
