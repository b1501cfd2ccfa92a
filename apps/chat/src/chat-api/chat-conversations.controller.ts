import { Controller } from '@nestjs/common';
import { Handles } from '@parley/transport/handles';
import type { ChatUserCaller } from '@parley/contracts/access';
import type { Caller } from '@parley/contracts/caller';
import { chat } from '@parley/contracts/chat/chat';
import type {
  ChatConversationId,
  CreateChatConversation,
  GetOrCreateChatConversation,
  ListChatConversations,
} from '@parley/contracts/chat-api/conversations';
import type { OpenStream } from '@parley/contracts/chat/signals';
import { ChatConversationsService } from './chat-conversations.service';

@Controller()
export class ChatConversationsController {
  constructor(private readonly service: ChatConversationsService) {}

  @Handles(chat.chatApi.createConversation)
  createConversation(caller: ChatUserCaller, input: CreateChatConversation) {
    return this.service.create(caller, input);
  }

  @Handles(chat.chatApi.getOrCreateConversation)
  getOrCreateConversation(caller: ChatUserCaller, input: GetOrCreateChatConversation) {
    return this.service.getOrCreate(caller, input);
  }

  @Handles(chat.chatApi.getConversation)
  getConversation(caller: ChatUserCaller, input: ChatConversationId) {
    return this.service.get(caller, input);
  }

  @Handles(chat.chatApi.deleteConversation)
  deleteConversation(caller: ChatUserCaller, input: ChatConversationId) {
    return this.service.delete(caller, input);
  }

  @Handles(chat.chatApi.listConversations)
  listConversations(caller: ChatUserCaller, input: ListChatConversations) {
    return this.service.list(caller, input);
  }

  @Handles(chat.signals.open)
  openStream(caller: Caller, input: OpenStream) {
    return this.service.open(caller, input);
  }
}
