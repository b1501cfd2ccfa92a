import { Controller } from '@nestjs/common';
import { Consumes } from '@parley/transport/handles';
import { type EventsSettled, settleEvents } from '@parley/contracts/runtime/deliveries';
import { DeliveriesService } from './deliveries.service';

/** Idempotent and independent of order: an event that is not pending, or no longer exists, is not changed. */
@Controller()
export class SettleEventsHandler {
  constructor(private readonly service: DeliveriesService) {}

  @Consumes(settleEvents)
  handle({ events }: EventsSettled): Promise<void> {
    return this.service.settle(events);
  }
}
