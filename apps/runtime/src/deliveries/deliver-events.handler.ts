import { Controller } from '@nestjs/common';
import { deliverEvents, type EventsPending } from '@parley/contracts/chat/deliveries';
import { Consumes } from '@parley/transport/handles';
import { WorkQueue } from '@parley/work-queue/work-queue.service';
import { deliveryQueue, toDelivery } from './delivery-queues';

@Controller()
export class DeliverEventsHandler {
  constructor(private readonly work: WorkQueue) {}

  /** Idempotent: an event that waits is not added again, and one that is settled is not pending any more. */
  @Consumes(deliverEvents)
  async handle({ botId, events }: EventsPending): Promise<void> {
    await this.work.addNow(
      deliveryQueue,
      events.map((event) => toDelivery(botId, event)),
    );
  }
}
