import { Controller } from '@nestjs/common';
import type { BotCaller } from '@parley/contracts/access';
import { chat } from '@parley/contracts/chat/chat';
import type { InitializeIncomingMessage } from '@parley/contracts/chat/incoming-messages';
import { Handles } from '@parley/transport/handles';
import { IncomingMessagesService } from './incoming-messages.service';

@Controller()
export class IncomingMessagesController {
  constructor(private readonly service: IncomingMessagesService) {}

  @Handles(chat.incomingMessages.initialize)
  initialize(caller: BotCaller, input: InitializeIncomingMessage) {
    return this.service.initialize(caller, input);
  }
}
