import { Controller } from '@nestjs/common';
import type { Caller } from '@parley/contracts/caller';
import { chat } from '@parley/contracts/chat/chat';
import type { PublishMessageStream, SendChatEvent } from '@parley/contracts/chat/chat-actions';
import { Handles } from '@parley/transport/handles';
import { ChatActionsService } from './chat-actions.service';

@Controller()
export class ChatActionsController {
  constructor(private readonly service: ChatActionsService) {}

  @Handles(chat.chatActions.sendEvent)
  sendEvent(_caller: Caller, input: SendChatEvent) {
    return this.service.sendEvent(input);
  }

  @Handles(chat.chatActions.publishMessageStream)
  publishMessageStream(_caller: Caller, input: PublishMessageStream) {
    return this.service.publishMessageStream(input);
  }
}
