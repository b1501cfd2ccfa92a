import { Controller } from '@nestjs/common';
import { Handles } from '@parley/transport/handles';
import type { ChatUserCaller } from '@parley/contracts/access';
import { chat } from '@parley/contracts/chat/chat';
import type {
  AddChatParticipant,
  ChatParticipantId,
  ListInChatConversation,
} from '@parley/contracts/chat-api/conversations';
import { ChatParticipantsService } from './chat-participants.service';

@Controller()
export class ChatParticipantsController {
  constructor(private readonly service: ChatParticipantsService) {}

  @Handles(chat.chatApi.addParticipant)
  addParticipant(caller: ChatUserCaller, input: AddChatParticipant) {
    return this.service.add(caller, input);
  }

  @Handles(chat.chatApi.getParticipant)
  getParticipant(caller: ChatUserCaller, input: ChatParticipantId) {
    return this.service.get(caller, input);
  }

  @Handles(chat.chatApi.removeParticipant)
  removeParticipant(caller: ChatUserCaller, input: ChatParticipantId) {
    return this.service.remove(caller, input);
  }

  @Handles(chat.chatApi.listParticipants)
  listParticipants(caller: ChatUserCaller, input: ListInChatConversation) {
    return this.service.list(caller, input);
  }
}
