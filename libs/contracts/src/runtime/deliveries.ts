import { IsIn, IsInt, IsString } from 'class-validator';
import { bot, operators } from '../access';
import { ListOf, Nested, Nullable, Optional } from '../fields';
import { consumer, event, operation } from '../operation';
import { PageMeta, PageQuery } from '../paging';
import { PathParam, QueryChoice, QueryString } from '../query-fields';

export const settledStatuses = ['processed', 'failed', 'ignored'] as const;
export type SettledStatus = (typeof settledStatuses)[number];

/** `pending` is waiting or being attempted, `parked` waits for the bot: it has no reachable url or code, or is blocked. */
export const deliveryStatuses = ['pending', 'parked', ...settledStatuses] as const;
export type DeliveryStatus = (typeof deliveryStatuses)[number];

export class SettledEvent {
  @IsString() botId!: string;
  @IsString() eventId!: string;

  /** Replays of the event when it was delivered. Outcomes of former deliveries change nothing. */
  @IsInt() replays!: number;

  @IsIn(settledStatuses) status!: SettledStatus;
  @Nullable() @IsString() failureReason!: string | null;
}

export class EventsSettled {
  @ListOf(SettledEvent) events!: SettledEvent[];
}

export const eventsSettled = event({ subject: 'runtime.eventsSettled', data: EventsSettled });

export const settleEvents = consumer({ name: 'chat.settleEvents', event: eventsSettled, concurrency: 4 });

export class DeliveryAttempt {
  @IsString() at!: string;
  @IsInt() durationMs!: number;

  /** HTTP status of the answer. Null without an answer. */
  @Nullable() @IsInt() status!: number | null;

  @Nullable() @IsString() error!: string | null;
}

export class DeliveryEntry {
  @IsString() botId!: string;
  @IsString() eventId!: string;
  @IsString() type!: string;
  @IsIn(deliveryStatuses) status!: DeliveryStatus;

  /** Reason of the failure, of the last failed attempt, or of the wait. */
  @Nullable() @IsString() reason!: string | null;

  @IsString() createdAt!: string;
  @Optional() @IsString() settledAt?: string;

  /** Latest attempts, oldest first. */
  @ListOf(DeliveryAttempt) attempts!: DeliveryAttempt[];
}

export class ListDeliveriesOfBot extends PageQuery {
  @QueryChoice(deliveryStatuses) status?: DeliveryStatus;

  /** Only the delivery of this event. */
  @QueryString() eventId?: string;
}

export class ListDeliveries extends ListDeliveriesOfBot {
  @PathParam() botId!: string;
}

export class Deliveries {
  @ListOf(DeliveryEntry) deliveries!: DeliveryEntry[];
  @Nested(PageMeta) meta!: PageMeta;
}

export const deliveries = {
  listOfBot: operation({
    subject: 'runtime.deliveries.listOfBot',
    route: 'GET /v1/chat/deliveries',
    summary: 'Lists the deliveries of events to the bot with their attempts, newest first.',
    access: bot.read,
    isOwn: true,
    input: ListDeliveriesOfBot,
    output: Deliveries,
  }),
  list: operation({
    subject: 'runtime.deliveries.list',
    route: 'GET /operator/runtime/bots/{botId}/deliveries',
    summary: 'Lists the deliveries of events to a bot, newest first.',
    access: operators,
    input: ListDeliveries,
    output: Deliveries,
  }),
};
