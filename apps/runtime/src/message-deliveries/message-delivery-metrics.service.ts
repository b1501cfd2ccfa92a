import { Inject, Injectable } from '@nestjs/common';
import type { SettledStatus } from '@parley/contracts/runtime/deliveries';
import type { Platform } from '@parley/service/platform';
import { platformToken } from '@parley/service/tokens';

@Injectable()
export class MessageDeliveryMetricsService {
  readonly countDelivery: (outcome: SettledStatus) => void;

  constructor(@Inject(platformToken) { metrics }: Platform) {
    this.countDelivery = metrics.counters(
      'parley_message_deliveries_total',
      'Messages of bots, and changes, for integrations by outcome: processed, failed or ignored.',
      'outcome',
    );
  }
}
