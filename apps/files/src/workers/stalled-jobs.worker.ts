import { type BeforeApplicationShutdown, Inject, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { PollingWorker } from '@parley/background/polling-worker';
import { fileUploaded } from '@parley/contracts/files';
import { Outbox } from '@parley/events/outbox';
import { JobsRepository } from '@parley/file-store/jobs.repository';
import { Database } from '@parley/persistence/database';
import type { Platform } from '@parley/service/platform';
import { platformToken } from '@parley/service/tokens';
import { FilesConfig } from '../config';

/** Announces stalled indexing jobs again, and deletes old turns of bots. Idempotent, and safe to run in several processes at once. */
@Injectable()
export class StalledJobsWorker implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly loop: PollingWorker;

  constructor(
    private readonly database: Database,
    private readonly jobs: JobsRepository,
    private readonly outbox: Outbox,
    @Inject(platformToken) { logger }: Platform,
    { sweepIntervalMs: intervalMs }: FilesConfig,
  ) {
    this.loop = new PollingWorker({ name: 'files.announceStalled', intervalMs, logger }, () => this.announce());
  }

  onApplicationBootstrap(): void {
    this.loop.start();
  }

  async beforeApplicationShutdown(): Promise<void> {
    await this.loop.stop();
  }

  private async announce(): Promise<boolean> {
    await this.database.transaction(async (tx) => {
      await this.outbox.addAll(tx, fileUploaded, await this.jobs.takeStalled(tx));
    });
    await this.jobs.deleteOldTurns();
    return false;
  }
}
