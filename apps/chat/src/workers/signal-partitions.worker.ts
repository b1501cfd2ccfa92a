import { Inject, Injectable } from '@nestjs/common';
import { BackgroundWorker } from '@parley/service/background-worker';
import type { Platform } from '@parley/service/platform';
import { platformToken } from '@parley/service/tokens';
import { SignalPartitionsRepository } from '../signals/signal-partitions.repository';

const intervalMs = 10 * 60_000;
/** Margin: no writer finds its hour without a partition, even if none could be created for an hour. */
const hoursAhead = 2;
const hoursKept = 2;

/** Retention of signals: drops whole partitions, each of one hour. */
@Injectable()
export class SignalPartitionsWorker extends BackgroundWorker {
  constructor(
    private readonly repository: SignalPartitionsRepository,
    @Inject(platformToken) { logger }: Platform,
  ) {
    super({ name: 'chat.signals', intervalMs, logger });
  }

  protected async round(): Promise<boolean> {
    await this.repository.rotatePartitions(hoursAhead, hoursKept);
    return false;
  }
}
