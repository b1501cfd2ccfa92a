import { Controller } from '@nestjs/common';
import type { Caller } from '@parley/contracts/caller';
import { chat } from '@parley/contracts/chat/chat';
import type { GetOutgoingMessage } from '@parley/contracts/chat/outgoing-messages';
import { Handles } from '@parley/transport/handles';
import { OutgoingMessagesService } from './outgoing-messages.service';

@Controller()
export class OutgoingMessagesController {
  constructor(private readonly service: OutgoingMessagesService) {}

  @Handles(chat.outgoingMessages.get)
  get(_caller: Caller, input: GetOutgoingMessage) {
    return this.service.get(input);
  }
}
