import { Controller } from '@nestjs/common';
import { Handles } from '@parley/transport/handles';
import type { BotCaller } from '@parley/contracts/access';
import type { Caller } from '@parley/contracts/caller';
import { chat } from '@parley/contracts/chat/chat';
import type { GetPendingEvent, ReplayEvent, ReplayEvents } from '@parley/contracts/chat/deliveries';
import { DeliveriesService } from './deliveries.service';
import type { GetOutgoingMessage } from '@parley/contracts/chat/outgoing-messages';
import { OutgoingMessagesService } from './outgoing-messages.service';

@Controller()
export class DeliveriesController {
  constructor(
    private readonly service: DeliveriesService,
    private readonly outgoing: OutgoingMessagesService,
  ) {}

  @Handles(chat.deliveries.getPending)
  getPending(_caller: Caller, input: GetPendingEvent) {
    return this.service.getPending(input);
  }

  @Handles(chat.deliveries.replayOfBot)
  replayOfBot({ bot }: BotCaller, { id }: ReplayEvent) {
    return this.service.replay({ botId: bot.id, eventId: id });
  }

  @Handles(chat.deliveries.replay)
  replay(_caller: Caller, input: ReplayEvents) {
    return this.service.replay(input);
  }

  @Handles(chat.outgoingMessages.get)
  getOutgoingMessage(_caller: Caller, input: GetOutgoingMessage) {
    return this.outgoing.get(input);
  }
}
