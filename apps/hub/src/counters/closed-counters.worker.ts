import { Inject, Injectable } from '@nestjs/common';
import { BackgroundWorker } from '@parley/service/background-worker';
import type { Platform } from '@parley/service/platform';
import { platformToken } from '@parley/service/tokens';
import { CountersRepository } from './counters.repository';
import { snapshotHours } from './snapshot';

const intervalMs = 600_000;

/** Deletes closed rows that no pagination needs any more; keeps them one hour longer, to allow for clock skew. */
@Injectable()
export class ClosedCountersWorker extends BackgroundWorker {
  constructor(
    private readonly counters: CountersRepository,
    @Inject(platformToken) { logger }: Platform,
  ) {
    super({ name: 'hub.forgetCounters', intervalMs, logger });
  }

  protected async round(): Promise<boolean> {
    await this.counters.deleteClosedBefore(snapshotHours + 1);
    return false;
  }
}
