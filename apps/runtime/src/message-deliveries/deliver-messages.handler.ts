import { Controller } from '@nestjs/common';
import { deliverMessages, type MessagesOutgoing } from '@parley/contracts/chat/outgoing-messages';
import { Consumes } from '@parley/transport/handles';
import { WorkQueue } from '@parley/work-queue/work-queue.service';
import { messageDeliveries, toMessageDelivery } from './message-delivery-queue';

@Controller()
export class DeliverMessagesHandler {
  constructor(private readonly work: WorkQueue) {}

  /** Idempotent: a message that waits is not added again, and one that is settled is not delivered again. */
  @Consumes(deliverMessages)
  async handle({ botId, messages }: MessagesOutgoing): Promise<void> {
    await this.work.addNow(
      messageDeliveries,
      messages.map((message) => toMessageDelivery(botId, message)),
    );
  }
}
