import { Inject, Injectable } from '@nestjs/common';
import type { SettledStatus } from '@parley/contracts/runtime/deliveries';
import type { Platform } from '@parley/service/platform';
import { platformToken } from '@parley/service/tokens';

/**
 * `repeated` and `timed out`: the delivery is attempted again. `interrupted`: the runner ended under the call, which is no
 * attempt. `parked`: it waits for a change of the bot, or for a runner.
 */
export type DeliveryOutcome = SettledStatus | 'repeated' | 'timed out' | 'interrupted' | 'parked';
export type CallOutcome = 'processed' | 'failed' | 'repeated' | 'timed out';

/** A call takes at most 120 s. */
const seconds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120];

/** Counts over all bots: one series for each bot would be too many. */
@Injectable()
export class DeliveryMetricsService {
  readonly countDelivery: (outcome: DeliveryOutcome) => void;
  readonly observeCall: (outcome: CallOutcome, durationMs: number) => void;

  constructor(@Inject(platformToken) { metrics }: Platform) {
    this.countDelivery = metrics.counters(
      'parley_deliveries_total',
      'Deliveries of events to bots, by outcome: processed, failed and ignored end a delivery.',
      'outcome',
    );
    this.observeCall = metrics.histogram(
      'parley_bot_call_seconds',
      'Duration of calls of bots, by outcome.',
      'outcome',
      seconds,
    );
  }
}
