import { Inject, Injectable } from '@nestjs/common';
import { BackgroundWorker } from '@parley/service/background-worker';
import type { Platform } from '@parley/service/platform';
import { platformToken } from '@parley/service/tokens';
import { ChatConfig } from '../config';
import { ExpiredStatesService } from '../states/expired-states.service';

const statesAtOnce = 100;

/** Deletes expired states. Safe to run in several processes. */
@Injectable()
export class ExpiredStatesWorker extends BackgroundWorker {
  constructor(
    private readonly expired: ExpiredStatesService,
    @Inject(platformToken) { logger }: Platform,
    { sweepIntervalMs: intervalMs }: ChatConfig,
  ) {
    super({ name: 'chat.states', intervalMs, logger });
  }

  protected async round(): Promise<boolean> {
    return (await this.expired.deleteExpired(statesAtOnce)) === statesAtOnce;
  }
}
