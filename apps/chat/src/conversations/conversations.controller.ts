import { Controller } from '@nestjs/common';
import { Handles } from '@parley/transport/handles';
import type { BotCaller } from '@parley/contracts/access';
import { chat } from '@parley/contracts/chat/chat';
import type {
  AddParticipant,
  ConversationId,
  CreateConversation,
  GetOrCreateConversation,
  ListConversations,
  ListParticipants,
  ParticipantId,
  UpdateConversation,
} from '@parley/contracts/chat/conversations';
import { ConversationsService } from './conversations.service';
import { ParticipantsService } from './participants.service';

@Controller()
export class ConversationsController {
  constructor(
    private readonly service: ConversationsService,
    private readonly participants: ParticipantsService,
  ) {}

  @Handles(chat.conversations.create)
  create(caller: BotCaller, input: CreateConversation) {
    return this.service.create(caller, input);
  }

  @Handles(chat.conversations.get)
  get(caller: BotCaller, input: ConversationId) {
    return this.service.get(caller, input);
  }

  @Handles(chat.conversations.getOrCreate)
  getOrCreate(caller: BotCaller, input: GetOrCreateConversation) {
    return this.service.getOrCreate(caller, input);
  }

  @Handles(chat.conversations.list)
  list(caller: BotCaller, input: ListConversations) {
    return this.service.list(caller, input);
  }

  @Handles(chat.conversations.update)
  update(caller: BotCaller, input: UpdateConversation) {
    return this.service.update(caller, input);
  }

  @Handles(chat.conversations.delete)
  delete(caller: BotCaller, input: ConversationId) {
    return this.service.delete(caller, input);
  }

  @Handles(chat.participants.list)
  listParticipants(caller: BotCaller, input: ListParticipants) {
    return this.participants.list(caller, input);
  }

  @Handles(chat.participants.add)
  addParticipant(caller: BotCaller, input: AddParticipant) {
    return this.participants.add(caller, input);
  }

  @Handles(chat.participants.get)
  getParticipant(caller: BotCaller, input: ParticipantId) {
    return this.participants.get(caller, input);
  }

  @Handles(chat.participants.remove)
  removeParticipant(caller: BotCaller, input: ParticipantId) {
    return this.participants.remove(caller, input);
  }
}
