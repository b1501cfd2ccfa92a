import { type BeforeApplicationShutdown, Inject, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { PollingWorker } from '@parley/background/polling-worker';
import type { Platform } from '@parley/service/platform';
import { platformToken } from '@parley/service/tokens';
import { ChatConfig } from '../config';
import { ExpiredStatesService } from '../states/expired-states.service';

const statesAtOnce = 100;

/** Deletes expired states. Safe to run in several processes. */
@Injectable()
export class ExpiredStatesWorker implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly loop: PollingWorker;

  constructor(
    expired: ExpiredStatesService,
    @Inject(platformToken) { logger }: Platform,
    { sweepIntervalMs: intervalMs }: ChatConfig,
  ) {
    this.loop = new PollingWorker(
      { name: 'chat.states', intervalMs, logger },
      async () => (await expired.deleteExpired(statesAtOnce)) === statesAtOnce,
    );
  }

  onApplicationBootstrap(): void {
    this.loop.start();
  }

  beforeApplicationShutdown(): Promise<void> {
    return this.loop.stop();
  }
}
