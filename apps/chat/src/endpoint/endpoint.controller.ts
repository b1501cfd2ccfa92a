import { Controller } from '@nestjs/common';
import { Handles } from '@parley/transport/handles';
import type { ChatUserCaller } from '@parley/contracts/access';
import type { Caller } from '@parley/contracts/caller';
import { chat } from '@parley/contracts/chat/chat';
import type {
  AddChatParticipant,
  ChatConversationId,
  ChatParticipantId,
  CreateChatConversation,
  GetOrCreateChatConversation,
  ListChatConversations,
  ListInChatConversation,
} from '@parley/contracts/chat/endpoint-conversations';
import type {
  ChatEventId,
  ChatMessageId,
  CreateChatEvent,
  CreateChatMessage,
} from '@parley/contracts/chat/endpoint-messages';
import type { ChatEndpoint, ChatUserFields, CreateChatUser } from '@parley/contracts/chat/endpoint-users';
import type { OpenStream } from '@parley/contracts/chat/signals';
import { Askers } from './askers';
import { ChatConversationsService } from './chat-conversations.service';
import { ChatEventsService } from './chat-events.service';
import { ChatInstallations } from './chat-installations';
import { ChatMessagesService } from './chat-messages.service';
import { ChatParticipantsService } from './chat-participants.service';
import { ChatUsersService } from './chat-users.service';

@Controller()
export class EndpointController {
  constructor(
    private readonly askers: Askers,
    private readonly installations: ChatInstallations,
    private readonly users: ChatUsersService,
    private readonly conversations: ChatConversationsService,
    private readonly participants: ChatParticipantsService,
    private readonly messages: ChatMessagesService,
    private readonly events: ChatEventsService,
  ) {}

  @Handles(chat.endpoint.hello)
  hello(_caller: Caller, { webhookId }: ChatEndpoint) {
    return this.installations.greet(webhookId);
  }

  @Handles(chat.endpoint.helloWithSlash)
  helloWithSlash(_caller: Caller, { webhookId }: ChatEndpoint) {
    return this.installations.greet(webhookId);
  }

  @Handles(chat.endpoint.createUser)
  createUser(caller: Caller, input: CreateChatUser) {
    return this.users.create(caller, input);
  }

  @Handles(chat.endpoint.getOrCreateUser)
  getOrCreateUser(caller: ChatUserCaller, input: ChatUserFields) {
    return this.users.getOrCreate(caller, input);
  }

  @Handles(chat.endpoint.getUser)
  getUser(caller: ChatUserCaller, input: ChatEndpoint) {
    return this.users.get(caller, input);
  }

  @Handles(chat.endpoint.updateUser)
  updateUser(caller: ChatUserCaller, input: ChatUserFields) {
    return this.users.update(caller, input);
  }

  @Handles(chat.endpoint.deleteUser)
  deleteUser(caller: ChatUserCaller, input: ChatEndpoint) {
    return this.users.delete(caller, input);
  }

  @Handles(chat.endpoint.createConversation)
  createConversation(caller: ChatUserCaller, input: CreateChatConversation) {
    return this.conversations.create(caller, input);
  }

  @Handles(chat.endpoint.getOrCreateConversation)
  getOrCreateConversation(caller: ChatUserCaller, input: GetOrCreateChatConversation) {
    return this.conversations.getOrCreate(caller, input);
  }

  @Handles(chat.endpoint.getConversation)
  getConversation(caller: ChatUserCaller, input: ChatConversationId) {
    return this.conversations.get(caller, input);
  }

  @Handles(chat.endpoint.deleteConversation)
  deleteConversation(caller: ChatUserCaller, input: ChatConversationId) {
    return this.conversations.delete(caller, input);
  }

  @Handles(chat.endpoint.listConversations)
  listConversations(caller: ChatUserCaller, input: ListChatConversations) {
    return this.conversations.list(caller, input);
  }

  @Handles(chat.endpoint.addParticipant)
  addParticipant(caller: ChatUserCaller, input: AddChatParticipant) {
    return this.participants.add(caller, input);
  }

  @Handles(chat.endpoint.getParticipant)
  getParticipant(caller: ChatUserCaller, input: ChatParticipantId) {
    return this.participants.get(caller, input);
  }

  @Handles(chat.endpoint.removeParticipant)
  removeParticipant(caller: ChatUserCaller, input: ChatParticipantId) {
    return this.participants.remove(caller, input);
  }

  @Handles(chat.endpoint.listParticipants)
  listParticipants(caller: ChatUserCaller, input: ListInChatConversation) {
    return this.participants.list(caller, input);
  }

  @Handles(chat.endpoint.listMessages)
  listMessages(caller: ChatUserCaller, input: ListInChatConversation) {
    return this.messages.list(caller, input);
  }

  @Handles(chat.endpoint.createMessage)
  createMessage(caller: ChatUserCaller, input: CreateChatMessage) {
    return this.messages.create(caller, input);
  }

  @Handles(chat.endpoint.getMessage)
  getMessage(caller: ChatUserCaller, input: ChatMessageId) {
    return this.messages.get(caller, input);
  }

  @Handles(chat.endpoint.deleteMessage)
  deleteMessage(caller: ChatUserCaller, input: ChatMessageId) {
    return this.messages.delete(caller, input);
  }

  @Handles(chat.endpoint.createEvent)
  createEvent(caller: ChatUserCaller, input: CreateChatEvent) {
    return this.events.create(caller, input);
  }

  @Handles(chat.endpoint.getEvent)
  getEvent(caller: ChatUserCaller, input: ChatEventId) {
    return this.events.get(caller, input);
  }

  @Handles(chat.callers.verify)
  verifyCaller(caller: Caller, { webhookId }: ChatEndpoint) {
    return this.askers.verify(caller, webhookId);
  }

  @Handles(chat.signals.open)
  openStream(caller: Caller, input: OpenStream) {
    return this.conversations.open(caller, input);
  }
}
