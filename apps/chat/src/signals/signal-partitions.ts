import { type BeforeApplicationShutdown, Inject, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { Loop } from '@parley/background/loop';
import type { Platform } from '@parley/service/platform';
import { platformToken } from '@parley/service/tokens';
import { SignalPartitionsRepository } from './signal-partitions.repository';

const intervalMs = 10 * 60_000;
/** So that no writer finds its hour without a partition, even after an hour in which none could be made. */
const hoursAhead = 2;
const hoursKept = 2;

/** Signals are forgotten an hour at a time, by dropping the table that holds them. */
@Injectable()
export class SignalPartitions implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly loop: Loop;

  constructor(repository: SignalPartitionsRepository, @Inject(platformToken) { logger }: Platform) {
    this.loop = new Loop({ name: 'chat.signals', intervalMs, logger }, async () => {
      await repository.turn(hoursAhead, hoursKept);
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
