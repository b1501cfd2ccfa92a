import { Controller, Inject, type OnModuleInit } from '@nestjs/common';
import { type BotTargetChanged, wakeDeliveries } from '@parley/contracts/admin/targets';
import { Consumes } from '@parley/transport/handles';
import type { Platform } from '@parley/service/platform';
import { platformToken } from '@parley/service/tokens';
import type { Work } from '@parley/work-queue/queue';
import { WorkQueue } from '@parley/work-queue/work-queue.service';
import { Worker } from '@parley/work-queue/worker';
import { BotTargetsCache } from '../invocations/bot-targets.cache';
import { RunnersService } from '../invocations/runners.service';
import { CallSlotsLimiter } from './call-slots.limiter';
import { changeOf, deliveryQueue, freeRunner, wakes } from './delivery-queues';

/** Deliveries that were just looking at the former state of the bot are parked within this time. */
const secondLookMs = 3_000;

/** A bot uses a place for several deliveries at once. */
const deliveriesPerPlace = 10;

@Controller()
export class WakeDeliveriesHandler implements OnModuleInit {
  constructor(
    private readonly targets: BotTargetsCache,
    private readonly work: WorkQueue,
    private readonly runners: RunnersService,
    private readonly slots: CallSlotsLimiter,
    @Inject(platformToken) private readonly platform: Platform,
  ) {}

  onModuleInit(): void {
    this.runners.onFree((places) => {
      this.work.unpark(deliveryQueue, freeRunner, places * deliveriesPerPlace).catch((error: unknown) => {
        // They look again by themselves, some seconds later.
        this.platform.logger.warn({ err: error }, 'deliveries that wait for a runner could not be woken');
      });
    });
  }

  /** Idempotent: work that is not parked stays as it is. */
  @Consumes(wakeDeliveries)
  async handle({ botId }: BotTargetChanged): Promise<void> {
    this.targets.forget(botId);
    this.slots.resume(botId);
    const dueAt = new Date(Date.now() + secondLookMs);
    await this.work.addNow(wakes, [{ key: botId, tenant: botId, payload: null, dueAt }]);
    await this.work.unpark(deliveryQueue, changeOf(botId));
  }

  @Worker(wakes, { concurrency: 4 })
  async lookAgain({ key: botId }: Work<null>): Promise<void> {
    await this.work.unpark(deliveryQueue, changeOf(botId));
  }
}
