import { IsIn, IsString, Length } from 'class-validator';
import { bot } from '../access';
import { JsonObject, ListOf, Nested, Nullable, Optional } from '../fields';
import { operation } from '../operation';
import { Empty, PageMeta, PageQuery } from '../paging';
import { PathParam, QueryChoice, QueryString } from '../query-fields';
import { IsChatId } from './chat-fields';
import { Postponement } from './postponement';

export const eventStatuses = ['pending', 'processed', 'ignored', 'failed', 'scheduled', 'canceled'] as const;
export type EventStatus = (typeof eventStatuses)[number];

export class CreateEvent {
  @IsString() @Length(1, 200) type!: string;
  @JsonObject() payload!: Record<string, unknown>;

  /** Immediate when absent. */
  @Optional() @Nested(Postponement) schedule?: Postponement;

  @Optional() @IsChatId() conversationId?: string;
  @Optional() @IsChatId() userId?: string;
  @Optional() @IsChatId() messageId?: string;
  @Optional() @IsChatId() workflowId?: string;
}

export class Event {
  @IsString() id!: string;
  @IsString() createdAt!: string;

  /** Event type. The bot sees events of its integrations as `alias:type`; an integration sees only its own. */
  @IsString() type!: string;

  /** For `message_created`: the current message, user and conversation. */
  @JsonObject() payload!: Record<string, unknown>;

  @Optional() @IsString() conversationId?: string;
  @Optional() @IsString() userId?: string;
  @Optional() @IsString() messageId?: string;
  @IsIn(eventStatuses) status!: EventStatus;
  @Nullable() @IsString() failureReason!: string | null;
}

export class EventId {
  @PathParam() id!: string;
}

export class ListEvents extends PageQuery {
  @QueryString() type?: string;
  @QueryString() conversationId?: string;
  @QueryString() userId?: string;
  @QueryString() messageId?: string;
  @QueryString() workflowId?: string;
  @QueryChoice(eventStatuses) status?: EventStatus;
}

export class EventReply {
  @Nested(Event) event!: Event;
}

export class Events {
  @ListOf(Event) events!: Event[];
  @Nested(PageMeta) meta!: PageMeta;
}

export const events = {
  create: operation({
    subject: 'chat.events.create',
    route: 'POST /v1/chat/events',
    summary: 'Creates an event for the bot, immediate or scheduled.',
    access: bot.writeAlsoByIntegration,
    input: CreateEvent,
    output: EventReply,
    status: 201,
    isIdempotent: true,
  }),
  get: operation({
    subject: 'chat.events.get',
    route: 'GET /v1/chat/events/{id}',
    summary: 'Gets an event.',
    access: bot.readAlsoByIntegration,
    input: EventId,
    output: EventReply,
  }),
  list: operation({
    subject: 'chat.events.list',
    route: 'GET /v1/chat/events',
    summary: 'Lists events, newest first.',
    access: bot.readAlsoByIntegration,
    input: ListEvents,
    output: Events,
  }),
  cancelScheduled: operation({
    subject: 'chat.events.cancelScheduled',
    route: 'DELETE /v1/chat/events/scheduled/{id}',
    summary: 'Cancels a scheduled event. The event of a scheduled message cancels the message too.',
    access: bot.writeAlsoByIntegration,
    input: EventId,
    output: Empty,
  }),
};
