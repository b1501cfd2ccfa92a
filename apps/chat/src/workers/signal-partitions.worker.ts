import { type BeforeApplicationShutdown, Inject, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { PollingWorker } from '@parley/background/polling-worker';
import type { Platform } from '@parley/service/platform';
import { platformToken } from '@parley/service/tokens';
import { SignalPartitionsRepository } from '../signals/signal-partitions.repository';

const intervalMs = 10 * 60_000;
/** Margin: no writer finds its hour without a partition, even if none could be created for an hour. */
const hoursAhead = 2;
const hoursKept = 2;

/** Retention of signals: drops whole partitions, each of one hour. */
@Injectable()
export class SignalPartitionsWorker implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly loop: PollingWorker;

  constructor(repository: SignalPartitionsRepository, @Inject(platformToken) { logger }: Platform) {
    this.loop = new PollingWorker({ name: 'chat.signals', intervalMs, logger }, async () => {
      await repository.rotatePartitions(hoursAhead, hoursKept);
      return false;
    });
  }

  onApplicationBootstrap(): void {
    this.loop.start();
  }

  async beforeApplicationShutdown(): Promise<void> {
    await this.loop.stop();
  }
}
