import { IsInt, IsString, Length, MaxLength } from 'class-validator';
import { bot } from '../access';
import { Deprecated, ListOf, Nested, Optional } from '../fields';
import { operation } from '../operation';
import { Empty, PageMeta, PageQuery } from '../paging';
import { PathParam, QueryInteger, QueryList, QueryString } from '../query-fields';
import {
  DiscriminatingTags,
  IsChatId,
  Properties,
  PropertyChanges,
  SortedPageQuery,
  TagChanges,
  ShownTags,
  Tags,
} from './chat-fields';
import { CreatedMeta, User } from './users';

export class Conversation {
  @IsString() id!: string;

  /** Deprecated: set only by an update. */
  @Deprecated() @Optional() @IsString() currentTaskId?: string;

  /** Unfinished workflow of this conversation. */
  @Optional() @IsString() currentWorkflowId?: string;

  @IsString() createdAt!: string;
  @IsString() updatedAt!: string;
  @IsString() channel!: string;

  /** Alias of the integration. */
  @IsString() integration!: string;

  /** Tags by name. The bot sees tags of its integrations as `alias:tag`; an integration sees only its own. */
  @ShownTags() tags!: Record<string, string>;

  @IsInt() messageCount!: number;
  @Properties() properties!: Record<string, string>;
}

class ConversationSettings {
  /** One of the channels of the integration. */
  @IsString() @Length(1, 200) channel!: string;

  /**
   * Deprecated: alias or name of the integration. When absent, the only integration that has the channel is used,
   * otherwise the chat integration.
   */
  @Deprecated() @Optional() @IsString() @MaxLength(200) integrationName?: string;
}

export class CreateConversation extends ConversationSettings {
  @Tags() tags!: Record<string, string>;
  @Optional() @Properties() properties?: Record<string, string>;
}

/** Tags and properties that are `null` or empty are ignored. */
export class GetOrCreateConversation extends ConversationSettings {
  @TagChanges() tags!: Record<string, string | null>;
  @Optional() @PropertyChanges() properties?: Record<string, string | null>;

  /** Names of the tags that identify the conversation; all given tags by default. */
  @DiscriminatingTags() discriminateByTags?: string[];
}

export class UpdateConversation {
  @PathParam() id!: string;

  /** Deprecated. An empty string removes the value. */
  @Deprecated() @Optional() @IsString() @MaxLength(36) currentTaskId?: string;

  @Optional() @TagChanges() tags?: Record<string, string | null>;
  @Optional() @PropertyChanges() properties?: Record<string, string | null>;
}

export class ConversationId {
  @PathParam() id!: string;
}

export class ListConversations extends SortedPageQuery {
  /** Filter: conversations in which all of these users participate. */
  @QueryList({ maxItems: 50, maxLength: 100 }) participantIds?: string[];

  /** Filter: alias or name of an integration. */
  @QueryString({ maxLength: 200 }) integrationName?: string;

  @QueryString({ maxLength: 200 }) channel?: string;
  @QueryInteger({ min: 0, max: 2_147_483_647 }) minMessageCount?: number;
  @QueryInteger({ min: 0, max: 2_147_483_647 }) maxMessageCount?: number;
}

export class ConversationReply {
  @Nested(Conversation) conversation!: Conversation;
}

export class GottenOrCreatedConversation extends ConversationReply {
  @Nested(CreatedMeta) meta!: CreatedMeta;
}

export class Conversations {
  @ListOf(Conversation) conversations!: Conversation[];
  @Nested(PageMeta) meta!: PageMeta;
}

export class ListParticipants extends PageQuery {
  @PathParam() id!: string;
}

export class AddParticipant extends ConversationId {
  @IsChatId() userId!: string;
}

export class ParticipantId extends ConversationId {
  @PathParam() userId!: string;
}

export class ParticipantReply {
  @Nested(User) participant!: User;
}

export class Participants {
  @ListOf(User) participants!: User[];
  @Nested(PageMeta) meta!: PageMeta;
}

export const conversations = {
  create: operation({
    subject: 'chat.conversations.create',
    route: 'POST /v1/chat/conversations',
    summary: 'Creates a conversation on a channel of an integration.',
    access: bot.writeAlsoByIntegration,
    input: CreateConversation,
    output: ConversationReply,
    status: 201,
    isIdempotent: true,
  }),
  get: operation({
    subject: 'chat.conversations.get',
    route: 'GET /v1/chat/conversations/{id}',
    summary: 'Gets a conversation.',
    access: bot.readAlsoByIntegration,
    input: ConversationId,
    output: ConversationReply,
  }),
  getOrCreate: operation({
    subject: 'chat.conversations.getOrCreate',
    route: 'POST /v1/chat/conversations/get-or-create',
    summary:
      'Gets the conversation of the channel with these tags, or creates it. Concurrent requests for the same tags get the same conversation.',
    access: bot.writeAlsoByIntegration,
    input: GetOrCreateConversation,
    output: GottenOrCreatedConversation,
    isIdempotent: true,
  }),
  list: operation({
    subject: 'chat.conversations.list',
    route: 'GET /v1/chat/conversations',
    summary: 'Lists conversations, newest first unless sorted otherwise.',
    access: bot.readAlsoByIntegration,
    input: ListConversations,
    output: Conversations,
  }),
  update: operation({
    subject: 'chat.conversations.update',
    route: 'PUT /v1/chat/conversations/{id}',
    summary: 'Updates a conversation. Absent fields stay unchanged; tags and properties are merged.',
    access: bot.writeAlsoByIntegration,
    input: UpdateConversation,
    output: ConversationReply,
  }),
  delete: operation({
    subject: 'chat.conversations.delete',
    route: 'DELETE /v1/chat/conversations/{id}',
    summary: 'Deletes a conversation with its messages and states.',
    access: bot.writeAlsoByIntegration,
    input: ConversationId,
    output: Empty,
  }),
};

export const participants = {
  list: operation({
    subject: 'chat.participants.list',
    route: 'GET /v1/chat/conversations/{id}/participants',
    summary: 'Lists the participants of a conversation, in the order in which they joined.',
    access: bot.readAlsoByIntegration,
    input: ListParticipants,
    output: Participants,
  }),
  add: operation({
    subject: 'chat.participants.add',
    route: 'POST /v1/chat/conversations/{id}/participants',
    summary: 'Adds a user to a conversation as a participant. Has no effect when the user already participates.',
    access: bot.writeAlsoByIntegration,
    input: AddParticipant,
    output: ParticipantReply,
    isIdempotent: true,
  }),
  get: operation({
    subject: 'chat.participants.get',
    route: 'GET /v1/chat/conversations/{id}/participants/{userId}',
    summary: 'Gets a participant of a conversation.',
    access: bot.readAlsoByIntegration,
    input: ParticipantId,
    output: ParticipantReply,
  }),
  remove: operation({
    subject: 'chat.participants.remove',
    route: 'DELETE /v1/chat/conversations/{id}/participants/{userId}',
    summary: 'Removes a participant from a conversation.',
    access: bot.writeAlsoByIntegration,
    input: ParticipantId,
    output: Empty,
  }),
};
