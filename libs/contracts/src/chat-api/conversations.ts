import { IsString } from 'class-validator';
import { chatUser } from '../access';
import { ListOf, Nested, Optional } from '../fields';
import { operation } from '../operation';
import { Empty, PageMeta } from '../paging';
import { PathParam, QueryString } from '../query-fields';
import { ChatApiRequest, ChatUser } from './users';
import { IsForeignId } from '../chat/foreign-id';

export class ChatConversation {
  /** Foreign id if there is one, otherwise the id of the platform. */
  @IsString() id!: string;

  @IsString() createdAt!: string;
  @IsString() updatedAt!: string;
}

export class CreateChatConversation extends ChatApiRequest {
  /** Foreign id: the application's own id of the conversation, returned in place of the platform's. */
  @Optional() @IsForeignId() id?: string;
}

export class GetOrCreateChatConversation extends ChatApiRequest {
  /** Id of an existing conversation, or the foreign id of a new one. */
  @IsForeignId() id!: string;
}

export class ChatConversationId extends ChatApiRequest {
  @PathParam() id!: string;
}

export class ListChatConversations extends ChatApiRequest {
  /** Cursor: `meta.nextToken` of the previous page. */
  @QueryString({ maxLength: 8000 }) nextToken?: string;
}

export class InChatConversation extends ChatApiRequest {
  @PathParam() conversationId!: string;
}

export class ListInChatConversation extends InChatConversation {
  /** Cursor: `meta.nextToken` of the previous page. */
  @QueryString({ maxLength: 8000 }) nextToken?: string;
}

export class AddChatParticipant extends InChatConversation {
  @IsString() userId!: string;
}

export class ChatParticipantId extends InChatConversation {
  @PathParam() userId!: string;
}

export class ChatConversationReply {
  @Nested(ChatConversation) conversation!: ChatConversation;
}

export class ChatConversations {
  @ListOf(ChatConversation) conversations!: ChatConversation[];
  @Nested(PageMeta) meta!: PageMeta;
}

export class ChatParticipantReply {
  @Nested(ChatUser) participant!: ChatUser;
}

export class ChatParticipants {
  @ListOf(ChatUser) participants!: ChatUser[];
  @Nested(PageMeta) meta!: PageMeta;
}

export const chatApiConversations = {
  createConversation: operation({
    subject: 'chat.endpoint.createConversation',
    route: 'POST /chat/{webhookId}/conversations',
    summary: 'Creates a conversation. The user of the key becomes its owner and first participant.',
    access: chatUser,
    input: CreateChatConversation,
    output: ChatConversationReply,
    status: 201,
    isIdempotent: true,
  }),
  getOrCreateConversation: operation({
    subject: 'chat.endpoint.getOrCreateConversation',
    route: 'POST /chat/{webhookId}/conversations/get-or-create',
    summary: 'Gets a conversation that the user owns, or creates it.',
    access: chatUser,
    input: GetOrCreateChatConversation,
    output: ChatConversationReply,
    status: 201,
  }),
  getConversation: operation({
    subject: 'chat.endpoint.getConversation',
    route: 'GET /chat/{webhookId}/conversations/{id}',
    summary: 'Gets a conversation that the user participates in.',
    access: chatUser,
    input: ChatConversationId,
    output: ChatConversationReply,
  }),
  deleteConversation: operation({
    subject: 'chat.endpoint.deleteConversation',
    route: 'DELETE /chat/{webhookId}/conversations/{id}',
    summary: 'Deletes a conversation that the user owns, with its messages and states.',
    access: chatUser,
    input: ChatConversationId,
    output: Empty,
  }),
  listConversations: operation({
    subject: 'chat.endpoint.listConversations',
    route: 'GET /chat/{webhookId}/conversations',
    summary: 'Lists the conversations that the user owns, newest first.',
    access: chatUser,
    input: ListChatConversations,
    output: ChatConversations,
  }),
  addParticipant: operation({
    subject: 'chat.endpoint.addParticipant',
    route: 'POST /chat/{webhookId}/conversations/{conversationId}/participants',
    summary: 'Adds another user as a participant to a conversation that the user owns.',
    access: chatUser,
    input: AddChatParticipant,
    output: ChatParticipantReply,
  }),
  getParticipant: operation({
    subject: 'chat.endpoint.getParticipant',
    route: 'GET /chat/{webhookId}/conversations/{conversationId}/participants/{userId}',
    summary: 'Gets a participant of a conversation that the user participates in.',
    access: chatUser,
    input: ChatParticipantId,
    output: ChatParticipantReply,
  }),
  removeParticipant: operation({
    subject: 'chat.endpoint.removeParticipant',
    route: 'DELETE /chat/{webhookId}/conversations/{conversationId}/participants/{userId}',
    summary:
      'Removes another participant from a conversation that the user owns, and closes the event streams of that participant.',
    access: chatUser,
    input: ChatParticipantId,
    output: Empty,
  }),
  listParticipants: operation({
    subject: 'chat.endpoint.listParticipants',
    route: 'GET /chat/{webhookId}/conversations/{conversationId}/participants',
    summary: 'Lists the participants of a conversation, latest to join first.',
    access: chatUser,
    input: ListInChatConversation,
    output: ChatParticipants,
  }),
};
