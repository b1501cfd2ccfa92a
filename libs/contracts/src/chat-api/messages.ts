import { IsString } from 'class-validator';
import { chatUser } from '../access';
import { JsonObject, ListOf, Nested, Optional } from '../fields';
import { operation } from '../operation';
import { Empty, PageMeta } from '../paging';
import { PathParam } from '../query-fields';
import { type ChatPayload, IsChatPayload } from '../chat/chat-payload';
import { ListInChatConversation } from './conversations';
import { ChatApiRequest } from './users';

export class ChatMessage {
  @IsString() id!: string;

  /** Strictly greater than that of every earlier message of the conversation. */
  @IsString() createdAt!: string;

  /** A payload of another shape, sent by the bot, is returned unchanged. */
  @IsChatPayload() payload!: ChatPayload;

  /** Foreign id if there is one, otherwise the id of the platform. */
  @IsString() userId!: string;

  /** Foreign id if there is one, otherwise the id of the platform. */
  @IsString() conversationId!: string;

  /** Absent when empty. */
  @Optional() @JsonObject() metadata?: Record<string, unknown>;
}

export class CreateChatMessage extends ChatApiRequest {
  /** At most 128 KB together with `metadata`. */
  @IsChatPayload() payload!: ChatPayload;

  @IsString() conversationId!: string;
  @Optional() @JsonObject() metadata?: Record<string, unknown>;
}

export class ChatMessageId extends ChatApiRequest {
  @PathParam() id!: string;
}

export class ChatMessageReply {
  @Nested(ChatMessage) message!: ChatMessage;
}

export class ChatMessages {
  @ListOf(ChatMessage) messages!: ChatMessage[];
  @Nested(PageMeta) meta!: PageMeta;
}

export class ChatEvent {
  @IsString() id!: string;
  @IsString() createdAt!: string;
  @JsonObject() payload!: Record<string, unknown>;

  /** Foreign id if there is one, otherwise the id of the platform. */
  @IsString() conversationId!: string;

  /** Foreign id if there is one, otherwise the id of the platform. */
  @IsString() userId!: string;
}

export class CreateChatEvent extends ChatApiRequest {
  @JsonObject() payload!: Record<string, unknown>;
  @IsString() conversationId!: string;
}

export class ChatEventId extends ChatApiRequest {
  @PathParam() id!: string;
}

export class ChatEventReply {
  @Nested(ChatEvent) event!: ChatEvent;
}

export const chatApiMessages = {
  listMessages: operation({
    subject: 'chat.endpoint.listMessages',
    route: 'GET /chat/{webhookId}/conversations/{conversationId}/messages',
    summary: 'Lists the messages of a conversation, newest first.',
    access: chatUser,
    input: ListInChatConversation,
    output: ChatMessages,
  }),
  createMessage: operation({
    subject: 'chat.endpoint.createMessage',
    route: 'POST /chat/{webhookId}/messages',
    summary: 'Sends a message. It is published to the listeners of the conversation before this call returns.',
    access: chatUser,
    input: CreateChatMessage,
    output: ChatMessageReply,
    status: 201,
    isIdempotent: true,
  }),
  getMessage: operation({
    subject: 'chat.endpoint.getMessage',
    route: 'GET /chat/{webhookId}/messages/{id}',
    summary: 'Gets a message of a conversation that the user participates in.',
    access: chatUser,
    input: ChatMessageId,
    output: ChatMessageReply,
  }),
  deleteMessage: operation({
    subject: 'chat.endpoint.deleteMessage',
    route: 'DELETE /chat/{webhookId}/messages/{id}',
    summary: 'Deletes a message that the user has sent.',
    access: chatUser,
    input: ChatMessageId,
    output: Empty,
  }),
  createEvent: operation({
    subject: 'chat.endpoint.createEvent',
    route: 'POST /chat/{webhookId}/events',
    summary: 'Sends an event of type `custom` to the bot and to all listeners of the conversation.',
    access: chatUser,
    input: CreateChatEvent,
    output: ChatEventReply,
    status: 201,
    isIdempotent: true,
  }),
  getEvent: operation({
    subject: 'chat.endpoint.getEvent',
    route: 'GET /chat/{webhookId}/events/{id}',
    summary: 'Gets a custom event of a conversation that the user participates in.',
    access: chatUser,
    input: ChatEventId,
    output: ChatEventReply,
  }),
};
