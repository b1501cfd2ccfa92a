import { ArrayMaxSize, IsArray, IsIn, IsISO8601, IsString, Length, Matches } from 'class-validator';
import { bot } from '../access';
import { JsonObject, ListOf, Nested, Optional } from '../fields';
import { operation } from '../operation';
import { Empty, PageMeta } from '../paging';
import { PathParam, QueryString, QueryTime } from '../query-fields';
import { maxPayloadBytes } from './chat-payload';
import { DiscriminatingTags, IsChatId, maxTags, TagChanges, TaggedPageQuery, ShownTags, Tags } from './chat-fields';
import { Postponement } from './postponement';
import { CreatedMeta } from './users';

export const maxImportedMessages = 100;
export const maxTypeLength = 200;

const directions = ['incoming', 'outgoing'] as const;
export type Direction = (typeof directions)[number];

export class Message {
  @IsString() id!: string;

  /** Strictly greater than that of every message already in the conversation. */
  @IsString() createdAt!: string;

  @IsString() updatedAt!: string;
  @IsString() type!: string;
  @JsonObject() payload!: Record<string, unknown>;

  /** `outgoing` when the bot wrote the message. */
  @IsIn(directions) direction!: Direction;

  @IsString() userId!: string;
  @IsString() conversationId!: string;

  /** Tags by name. The bot sees tags of its integrations as `alias:tag`; an integration sees only its own. */
  @ShownTags() tags!: Record<string, string>;

  @Optional() @IsIn(['synthetic']) origin?: 'synthetic';
}

class MessageContent {
  /** Author: a user of the bot, or the bot itself by its id. */
  @IsChatId() userId!: string;

  @IsChatId() conversationId!: string;
  @IsString() @Length(1, maxTypeLength) type!: string;

  /** Immediate when absent. Until its time a scheduled message is not listed, and its event can be cancelled. */
  @Optional() @Nested(Postponement) schedule?: Postponement;

  @Optional() @IsIn(['synthetic']) origin?: 'synthetic';
}

export class CreateMessage extends MessageContent {
  @JsonObject({ maxBytes: maxPayloadBytes }) payload!: Record<string, unknown>;
  @Tags() tags!: Record<string, string>;
}

/** Tags that are `null` or empty are ignored. */
export class GetOrCreateMessage extends MessageContent {
  /** Empty when absent. */
  @Optional() @JsonObject({ maxBytes: maxPayloadBytes }) payload?: Record<string, unknown>;

  @TagChanges() tags!: Record<string, string | null>;

  /** Names of the tags that identify the message; all given tags by default. */
  @DiscriminatingTags() discriminateByTags?: string[];
}

export class UpdateMessage {
  @PathParam() id!: string;
  @Optional() @TagChanges() tags?: Record<string, string | null>;

  /** Replaces the previous payload. */
  @Optional() @JsonObject({ maxBytes: maxPayloadBytes }) payload?: Record<string, unknown>;
}

export class MessageId {
  @PathParam() id!: string;
}

export class ListMessages extends TaggedPageQuery {
  @QueryString() conversationId?: string;

  /** `afterDate` and `beforeDate` are inclusive. */
  @QueryTime() afterDate?: string;

  @QueryTime() beforeDate?: string;
}

export class MessageToImport {
  @IsChatId() userId!: string;
  @IsChatId() conversationId!: string;
  @IsString() @Length(1, maxTypeLength) type!: string;
  @JsonObject({ maxBytes: maxPayloadBytes }) payload!: Record<string, unknown>;
  @Tags() tags!: Record<string, string>;

  /** Time of writing; must not be in the future. */
  @IsISO8601({ strict: true, strictSeparator: true })
  @Matches(/^[1-9]\d{3}-.*T.*(Z|[+-]\d\d:\d\d)$/, {
    message: 'createdAt must be a time with a zone, such as 2026-01-31T12:00:00.000Z',
  })
  createdAt!: string;

  /**
   * Names of the tags that identify the message: an existing message with the same values of all of them is used
   * instead. An empty list always creates a message.
   */
  @IsArray() @ArrayMaxSize(maxTags) @IsString({ each: true }) discriminateByTags!: string[];
}

export class ImportMessages {
  /** At most 100 messages, of any number of conversations. */
  @ListOf(MessageToImport, { maxItems: maxImportedMessages }) messages!: MessageToImport[];
}

export class MessageReply {
  @Nested(Message) message!: Message;
}

export class GottenOrCreatedMessage extends MessageReply {
  @Nested(CreatedMeta) meta!: CreatedMeta;
}

export class ImportedMessages {
  /** In the order of the request. */
  @ListOf(Message) messages!: Message[];
}

export class Messages extends ImportedMessages {
  @Nested(PageMeta) meta!: PageMeta;
}

export const messages = {
  create: operation({
    subject: 'chat.messages.create',
    route: 'POST /v1/chat/messages',
    summary: 'Creates a message in a conversation, immediate or scheduled.',
    access: bot.writeAlsoByIntegration,
    input: CreateMessage,
    output: MessageReply,
    status: 201,
    isIdempotent: true,
  }),
  get: operation({
    subject: 'chat.messages.get',
    route: 'GET /v1/chat/messages/{id}',
    summary: 'Gets a message.',
    access: bot.readAlsoByIntegration,
    input: MessageId,
    output: MessageReply,
  }),
  getOrCreate: operation({
    subject: 'chat.messages.getOrCreate',
    route: 'POST /v1/chat/messages/get-or-create',
    summary:
      'Gets the message of the conversation with these tags, or creates it. Concurrent requests for the same tags get the same message.',
    access: bot.writeAlsoByIntegration,
    input: GetOrCreateMessage,
    output: GottenOrCreatedMessage,
    isIdempotent: true,
  }),
  list: operation({
    subject: 'chat.messages.list',
    route: 'GET /v1/chat/messages',
    summary: 'Lists messages, newest first.',
    access: bot.readAlsoByIntegration,
    input: ListMessages,
    output: Messages,
  }),
  update: operation({
    subject: 'chat.messages.update',
    route: 'PUT /v1/chat/messages/{id}',
    summary: 'Updates a message. Tags are merged, the payload is replaced. Neither the bot nor listeners are notified.',
    access: bot.writeAlsoByIntegration,
    input: UpdateMessage,
    output: MessageReply,
  }),
  delete: operation({
    subject: 'chat.messages.delete',
    route: 'DELETE /v1/chat/messages/{id}',
    summary: 'Deletes a message. Its events are kept.',
    access: bot.writeAlsoByIntegration,
    input: MessageId,
    output: Empty,
  }),
  import: operation({
    subject: 'chat.messages.import',
    route: 'POST /v1/chat/messages/import-messages',
    summary: 'Imports messages with their original times, all or none. Neither the bot nor listeners are notified.',
    access: bot.writeAlsoByIntegration,
    input: ImportMessages,
    output: ImportedMessages,
    isIdempotent: true,
    bodyLimitBytes: 16_000_000,
  }),
};
