import { Inject, Injectable } from '@nestjs/common';
import { cleanupQueue, cleanupsOf } from '../store/cleanup-queue';
import { FilesRepository, hasSweepable } from '../store/files.repository';
import { JobsRepository } from '../store/jobs.repository';
import { UploadsRepository } from '../store/uploads.repository';
import { Database } from '@parley/persistence/database';
import type { Platform } from '@parley/service/platform';
import { platformToken } from '@parley/service/tokens';
import { WorkQueue } from '@parley/work-queue/work-queue.service';
import { type Round, WhenDue } from '@parley/work-queue/worker';
import { FilesConfig } from '../config';

const batchSize = 100;

/** Deletes abandoned uploads, superseded jobs and expired files. Idempotent, and safe to run in several processes at once. */
@Injectable()
export class ExpiredFilesService {
  constructor(
    private readonly database: Database,
    private readonly files: FilesRepository,
    private readonly jobs: JobsRepository,
    private readonly uploads: UploadsRepository,
    private readonly work: WorkQueue,
    @Inject(platformToken) private readonly platform: Platform,
    private readonly config: FilesConfig,
  ) {}

  @WhenDue<ExpiredFilesService>({
    name: 'files.sweep',
    rows: hasSweepable,
    everyMs: ({ config }) => config.sweepIntervalMs,
  })
  async sweep({ signal }: Round): Promise<boolean> {
    await this.sweepUploadsAndJobs();
    const bots = await this.files.listBotsWithOverdue(batchSize);
    let isMore = bots.length === batchSize;
    for (const botId of bots) {
      if (signal.aborted) break;
      // A failure must not hold up the other bots.
      const hasMore = await this.sweepOverdue(botId).catch((error: unknown) => {
        this.platform.logger.warn({ err: error, botId }, 'files of a bot could not be swept, it will be repeated');
        return false;
      });
      isMore ||= hasMore;
    }
    return isMore;
  }

  private sweepUploadsAndJobs(): Promise<void> {
    return this.database.transaction(async (tx) => {
      const abandoned = await this.uploads.deleteAbandonedUploads(tx);
      const superseded = await this.jobs.deleteSuperseded(tx);
      await this.work.add(tx, cleanupQueue, cleanupsOf(...abandoned, ...superseded));
    });
  }

  /** Returns whether the bot may have more expired uploads or files. */
  private async sweepOverdue(botId: string): Promise<boolean> {
    const lapsed = await this.files.failLapsedUploads(botId, batchSize);
    const expired = await this.database.transaction(async (tx) => {
      const files = await this.files.deleteExpired(tx, botId, batchSize);
      await this.work.add(tx, cleanupQueue, cleanupsOf(...files));
      return files.length;
    });
    return Math.max(lapsed, expired) === batchSize;
  }
}
