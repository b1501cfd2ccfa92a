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
} from '@parley/contracts/chat-api/conversations';
import type { OpenStream } from '@parley/contracts/chat/signals';
import { ChatConversationsService } from './chat-conversations.service';
import { ChatParticipantsService } from './chat-participants.service';
import type {
  ChatEventId,
  ChatMessageId,
  CreateChatEvent,
  CreateChatMessage,
} from '@parley/contracts/chat-api/messages';
import { ChatMessagesService } from './chat-messages.service';
import { ChatEventsService } from './chat-events.service';
import type { CreateChatFile } from '@parley/contracts/chat/chat-files';
import { ChatFilesService } from './chat-files.service';
import type { ChatApiRequest, ChatUserFields, CreateChatUser } from '@parley/contracts/chat-api/users';
import { ChatUsersService } from './chat-users.service';
import { ChatPrincipalsService } from './chat-principals.service';
import type { PublishMessageStream, SendChatEvent } from '@parley/contracts/chat/chat-actions';
import { ChatActionsService } from './chat-actions.service';

@Controller()
export class ChatApiController {
  constructor(
    private readonly conversations: ChatConversationsService,
    private readonly participants: ChatParticipantsService,
    private readonly messages: ChatMessagesService,
    private readonly events: ChatEventsService,
    private readonly files: ChatFilesService,
    private readonly users: ChatUsersService,
    private readonly principals: ChatPrincipalsService,
    private readonly actions: ChatActionsService,
  ) {}

  @Handles(chat.chatApi.createConversation)
  createConversation(caller: ChatUserCaller, input: CreateChatConversation) {
    return this.conversations.create(caller, input);
  }

  @Handles(chat.chatApi.getOrCreateConversation)
  getOrCreateConversation(caller: ChatUserCaller, input: GetOrCreateChatConversation) {
    return this.conversations.getOrCreate(caller, input);
  }

  @Handles(chat.chatApi.getConversation)
  getConversation(caller: ChatUserCaller, input: ChatConversationId) {
    return this.conversations.get(caller, input);
  }

  @Handles(chat.chatApi.deleteConversation)
  deleteConversation(caller: ChatUserCaller, input: ChatConversationId) {
    return this.conversations.delete(caller, input);
  }

  @Handles(chat.chatApi.listConversations)
  listConversations(caller: ChatUserCaller, input: ListChatConversations) {
    return this.conversations.list(caller, input);
  }

  @Handles(chat.signals.open)
  openStream(caller: Caller, input: OpenStream) {
    return this.conversations.open(caller, input);
  }

  @Handles(chat.chatApi.addParticipant)
  addParticipant(caller: ChatUserCaller, input: AddChatParticipant) {
    return this.participants.add(caller, input);
  }

  @Handles(chat.chatApi.getParticipant)
  getParticipant(caller: ChatUserCaller, input: ChatParticipantId) {
    return this.participants.get(caller, input);
  }

  @Handles(chat.chatApi.removeParticipant)
  removeParticipant(caller: ChatUserCaller, input: ChatParticipantId) {
    return this.participants.remove(caller, input);
  }

  @Handles(chat.chatApi.listParticipants)
  listParticipants(caller: ChatUserCaller, input: ListInChatConversation) {
    return this.participants.list(caller, input);
  }

  @Handles(chat.chatApi.listMessages)
  listMessages(caller: ChatUserCaller, input: ListInChatConversation) {
    return this.messages.list(caller, input);
  }

  @Handles(chat.chatApi.createMessage)
  createMessage(caller: ChatUserCaller, input: CreateChatMessage) {
    return this.messages.create(caller, input);
  }

  @Handles(chat.chatApi.getMessage)
  getMessage(caller: ChatUserCaller, input: ChatMessageId) {
    return this.messages.get(caller, input);
  }

  @Handles(chat.chatApi.deleteMessage)
  deleteMessage(caller: ChatUserCaller, input: ChatMessageId) {
    return this.messages.delete(caller, input);
  }

  @Handles(chat.chatApi.createEvent)
  createEvent(caller: ChatUserCaller, input: CreateChatEvent) {
    return this.events.create(caller, input);
  }

  @Handles(chat.chatApi.getEvent)
  getEvent(caller: ChatUserCaller, input: ChatEventId) {
    return this.events.get(caller, input);
  }

  @Handles(chat.chatFiles.create)
  create(caller: ChatUserCaller, input: CreateChatFile) {
    return this.files.create(caller, input);
  }

  @Handles(chat.chatApi.createUser)
  createUser(caller: Caller, input: CreateChatUser) {
    return this.users.create(caller, input);
  }

  @Handles(chat.chatApi.getOrCreateUser)
  getOrCreateUser(caller: ChatUserCaller, input: ChatUserFields) {
    return this.users.getOrCreate(caller, input);
  }

  @Handles(chat.chatApi.getUser)
  getUser(caller: ChatUserCaller, input: ChatApiRequest) {
    return this.users.get(caller, input);
  }

  @Handles(chat.chatApi.updateUser)
  updateUser(caller: ChatUserCaller, input: ChatUserFields) {
    return this.users.update(caller, input);
  }

  @Handles(chat.chatApi.deleteUser)
  deleteUser(caller: ChatUserCaller, input: ChatApiRequest) {
    return this.users.delete(caller, input);
  }

  @Handles(chat.chatApi.hello)
  hello(_caller: Caller, { webhookId }: ChatApiRequest) {
    return this.principals.hello(webhookId);
  }

  @Handles(chat.chatApi.helloWithSlash)
  helloWithSlash(_caller: Caller, { webhookId }: ChatApiRequest) {
    return this.principals.hello(webhookId);
  }

  @Handles(chat.callers.verify)
  verifyCaller(caller: Caller, { webhookId }: ChatApiRequest) {
    return this.principals.verify(caller, webhookId);
  }

  @Handles(chat.chatActions.sendEvent)
  sendEvent(_caller: Caller, input: SendChatEvent) {
    return this.actions.sendEvent(input);
  }

  @Handles(chat.chatActions.publishMessageStream)
  publishMessageStream(_caller: Caller, input: PublishMessageStream) {
    return this.actions.publishMessageStream(input);
  }
}
