import { IsIn, IsInt, IsString } from 'class-validator';
import { bot, operators, service } from '../access';
import { ListOf, Nested, Optional } from '../fields';
import { consumer, event, operation } from '../operation';
import { PathParam } from '../query-fields';
import { Event } from './events';

/** Event that became `pending`, without its payload. */
export class PendingEvent {
  @IsString() id!: string;

  /** As the bot sees it: `alias:type` for an event of an integration. */
  @IsString() type!: string;

  @Optional() @IsString() conversationId?: string;
  @Optional() @IsString() userId?: string;
  @Optional() @IsString() workflowId?: string;
}

export class EventsPending {
  @IsString() botId!: string;
  @ListOf(PendingEvent) events!: PendingEvent[];
}

export const eventsPending = event({ subject: 'chat.eventsPending', data: EventsPending });

/** In any order: a delivery looks for earlier events of its conversation itself. */
export const deliverEvents = consumer({ name: 'runtime.deliverEvents', event: eventsPending, concurrency: 4 });

export class GetPendingEvent {
  @IsString() botId!: string;
  @IsString() eventId!: string;
}

export class PendingEventReply {
  /** Current state of the event. Absent when it is no longer pending, or when it or its objects were deleted. */
  @Optional() @Nested(Event) event?: Event;

  /** How many times the event was replayed. Present with the event. */
  @Optional() @IsInt() replays?: number;

  /** Ids of pending events that come before this one in its workflow, conversation or user. At most 20, oldest first. */
  @Optional() @IsString({ each: true }) earlier?: string[];
}

export const replayableStatuses = ['failed', 'ignored', 'processed'] as const;
export type ReplayableStatus = (typeof replayableStatuses)[number];

export const maxReplayedEvents = 1_000;

export class ReplayEvents {
  @PathParam() botId!: string;

  /** One event, in any status but `scheduled` and `canceled`. */
  @Optional() @IsString() eventId?: string;

  /** Without `eventId`: all events of the bot with this status, oldest first, at most 1,000 at once. */
  @Optional() @IsIn(['failed', 'ignored']) status?: 'failed' | 'ignored';
}

export class ReplayEvent {
  @PathParam() id!: string;
}

export class ReplayedEvents {
  @IsInt() replayed!: number;
}

export const deliveries = {
  getPending: operation({
    subject: 'chat.deliveries.getPending',
    summary: 'Gets a pending event with its payload, for its delivery to the bot.',
    access: service,
    input: GetPendingEvent,
    output: PendingEventReply,
  }),
  replayOfBot: operation({
    subject: 'chat.deliveries.replayOfBot',
    route: 'POST /v1/chat/events/{id}/replay',
    summary: 'Delivers an event that is failed, ignored or processed to the bot again.',
    access: bot.write,
    isOwn: true,
    input: ReplayEvent,
    output: ReplayedEvents,
  }),
  replay: operation({
    subject: 'chat.deliveries.replay',
    route: 'POST /operator/chat/bots/{botId}/events/replay',
    summary: 'Delivers events to the bot again.',
    access: operators,
    input: ReplayEvents,
    output: ReplayedEvents,
  }),
};
