import { Controller } from '@nestjs/common';
import { Handles } from '@parley/transport/handles';
import type { ChatUserCaller } from '@parley/contracts/access';
import { chat } from '@parley/contracts/chat/chat';
import type { ListInChatConversation } from '@parley/contracts/chat-api/conversations';
import type { ChatMessageId, CreateChatMessage } from '@parley/contracts/chat-api/messages';
import { ChatMessagesService } from './chat-messages.service';

@Controller()
export class ChatMessagesController {
  constructor(private readonly service: ChatMessagesService) {}

  @Handles(chat.chatApi.listMessages)
  listMessages(caller: ChatUserCaller, input: ListInChatConversation) {
    return this.service.list(caller, input);
  }

  @Handles(chat.chatApi.createMessage)
  createMessage(caller: ChatUserCaller, input: CreateChatMessage) {
    return this.service.create(caller, input);
  }

  @Handles(chat.chatApi.getMessage)
  getMessage(caller: ChatUserCaller, input: ChatMessageId) {
    return this.service.get(caller, input);
  }

  @Handles(chat.chatApi.deleteMessage)
  deleteMessage(caller: ChatUserCaller, input: ChatMessageId) {
    return this.service.delete(caller, input);
  }
}
