import { Inject, Injectable } from '@nestjs/common';
import { fileUploaded } from '@parley/contracts/files';
import { Outbox } from '@parley/events/outbox';
import { JobsRepository } from '@parley/file-store/jobs.repository';
import { Database } from '@parley/persistence/database';
import { BackgroundWorker } from '@parley/service/background-worker';
import type { Platform } from '@parley/service/platform';
import { platformToken } from '@parley/service/tokens';
import { FilesConfig } from '../config';

/** Announces stalled indexing jobs again, and deletes old turns of bots. Idempotent, and safe to run in several processes at once. */
@Injectable()
export class StalledJobsWorker extends BackgroundWorker {
  constructor(
    private readonly database: Database,
    private readonly jobs: JobsRepository,
    private readonly outbox: Outbox,
    @Inject(platformToken) { logger }: Platform,
    { sweepIntervalMs: intervalMs }: FilesConfig,
  ) {
    super({ name: 'files.announceStalled', intervalMs, logger });
  }

  protected async round(): Promise<boolean> {
    await this.database.transaction(async (tx) => {
      await this.outbox.addAll(tx, fileUploaded, await this.jobs.takeStalled(tx));
    });
    await this.jobs.deleteOldTurns();
    return false;
  }
}
