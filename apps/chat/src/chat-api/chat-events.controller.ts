import { Controller } from '@nestjs/common';
import { Handles } from '@parley/transport/handles';
import type { ChatUserCaller } from '@parley/contracts/access';
import { chat } from '@parley/contracts/chat/chat';
import type { ChatEventId, CreateChatEvent } from '@parley/contracts/chat-api/messages';
import { ChatEventsService } from './chat-events.service';

@Controller()
export class ChatEventsController {
  constructor(private readonly service: ChatEventsService) {}

  @Handles(chat.chatApi.createEvent)
  createEvent(caller: ChatUserCaller, input: CreateChatEvent) {
    return this.service.create(caller, input);
  }

  @Handles(chat.chatApi.getEvent)
  getEvent(caller: ChatUserCaller, input: ChatEventId) {
    return this.service.get(caller, input);
  }
}
