import { type BeforeApplicationShutdown, Inject, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { PollingWorker } from '@parley/background/polling-worker';
import type { Platform } from '@parley/service/platform';
import { platformToken } from '@parley/service/tokens';
import { CountersRepository } from './counters.repository';
import { snapshotHours } from './snapshot';

const intervalMs = 600_000;

/** Deletes closed rows that no pagination needs any more; keeps them one hour longer, to allow for clock skew. */
@Injectable()
export class ClosedCountersWorker implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly loop: PollingWorker;

  constructor(
    private readonly counters: CountersRepository,
    @Inject(platformToken) { logger }: Platform,
  ) {
    this.loop = new PollingWorker({ name: 'hub.forgetCounters', intervalMs, logger }, () => this.deleteClosed());
  }

  onApplicationBootstrap(): void {
    this.loop.start();
  }

  async beforeApplicationShutdown(): Promise<void> {
    await this.loop.stop();
  }

  private async deleteClosed(): Promise<boolean> {
    await this.counters.deleteClosedBefore(snapshotHours + 1);
    return false;
  }
}
