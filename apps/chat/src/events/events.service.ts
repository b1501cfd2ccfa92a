import { Injectable } from '@nestjs/common';
import type { BotCaller } from '@parley/contracts/access';
import { chat } from '@parley/contracts/chat/chat';
import type { CreateEvent, EventId, EventReply, Events, ListEvents } from '@parley/contracts/chat/events';
import { ApiError, notFound } from '@parley/contracts/errors';
import { Database } from '@parley/persistence/database';
import { Idempotency } from '@parley/persistence/idempotency';
import { BackgroundTasks } from '@parley/work-queue/background-tasks.service';
import { WhenDue } from '@parley/work-queue/worker';
import { aliasOf, scopeOf, storedName } from '../queries/scope';
import { ChatConfig } from '../config';
import { dueTime } from '../announcements/due-time';
import { type EventEntity, toEvent } from './event.entity';
import { EventsRepository, type Reference, type References, scheduledEvents } from './events.repository';
import { toConversation } from '../conversations/conversation.entity';
import { toMessage } from '../messages/message.entity';
import { toUser } from '../users/user.entity';

const nouns: Record<Reference, string> = {
  conversationId: 'conversation',
  userId: 'user',
  messageId: 'message',
  workflowId: 'workflow',
};

/** Task that releases scheduled events. */
export const dueEvents = 'chat.dueEvents';
const eventsAtOnce = 500;

type Payload = Record<string, unknown>;

@Injectable()
export class EventsService {
  constructor(
    private readonly database: Database,
    private readonly idempotency: Idempotency,
    private readonly events: EventsRepository,
    private readonly tasks: BackgroundTasks,
    private readonly config: ChatConfig,
  ) {}

  async create(caller: BotCaller, input: CreateEvent): Promise<EventReply> {
    const { type, payload, schedule, conversationId, userId, messageId, workflowId } = input;
    const dueAt = dueTime(schedule, new Date());
    const event = {
      bot_id: caller.bot.id,
      type: storedName(caller, type),
      payload,
      integration_alias: aliasOf(caller),
      conversation_id: conversationId ?? null,
      user_id: userId ?? null,
      message_id: messageId ?? null,
      workflow_id: workflowId ?? null,
      due_at: dueAt ?? null,
    };
    return this.idempotency.run(caller, chat.events.create, input, async (tx) => {
      const absent = await this.events.findMissingReference(tx, scopeOf(caller), input);
      if (absent) throw referenceNotFound(absent, input);
      const [row] = await this.events.insertEvents(tx, [event]);
      if (dueAt) tx.afterCommit(() => this.tasks.wake(dueEvents, dueAt.getTime() - Date.now()));
      return { event: toEvent(caller, row!, payload) };
    });
  }

  async get(caller: BotCaller, { id }: EventId): Promise<EventReply> {
    const row = await this.events.findEventById(scopeOf(caller), id);
    if (!row) throw notFound('event', id);
    const [event] = await this.show(caller, [row]);
    return { event: event! };
  }

  async list(caller: BotCaller, query: ListEvents): Promise<Events> {
    const type = query.type === undefined ? undefined : storedName(caller, query.type);
    const { rows, nextToken } = await this.events.listEvents(scopeOf(caller), { ...query, type });
    return { events: await this.show(caller, rows), meta: { nextToken } };
  }

  async cancelScheduled(caller: BotCaller, { id }: EventId): Promise<object> {
    const scope = scopeOf(caller);
    if (await this.events.cancelScheduledEvent(scope, id)) return {};
    const row = await this.events.findEventById(scope, id);
    if (!row) throw notFound('event', id);
    throw new ApiError(
      'RelationConflict',
      `The event "${id}" is ${row.status}: only scheduled events can be canceled.`,
    );
  }

  /** Makes scheduled events `pending` when they are due. Safe to run in several processes. */
  @WhenDue<EventsService>({ name: dueEvents, rows: scheduledEvents, everyMs: ({ config }) => config.sweepIntervalMs })
  async releaseDue(): Promise<boolean> {
    const released = await this.database.transaction((tx) => this.events.releaseDueEvents(tx, eventsAtOnce));
    return released === eventsAtOnce;
  }

  private async show(caller: BotCaller, rows: EventEntity[]) {
    const payloads = await this.payloadsOf(caller, rows);
    return rows.map((row) => toEvent(caller, row, row.payload ?? payloads.get(row.id)!));
  }

  /**
   * Payloads by event id of `message_created` events, which store none: the current message, user and conversation.
   * Deleted objects are undefined.
   */
  private async payloadsOf(caller: BotCaller, events: EventEntity[]): Promise<Map<string, Payload>> {
    const rows = events.filter(({ payload }) => payload === null);
    if (rows.length === 0) return new Map();
    const { messages, users, conversations } = await this.events.findPartsOfEvents(caller.bot.id, rows);
    return new Map(
      rows.map((row) => {
        const conversation = conversations.get(row.conversation_id!);
        const message = conversation && messages.get(row.message_id!);
        const user = users.get(row.user_id!);
        const payload = {
          message: message && toMessage(caller, message),
          user: user && toUser(caller, user),
          conversation: conversation && toConversation(caller, conversation),
        };
        return [row.id, payload];
      }),
    );
  }
}

function referenceNotFound(field: Reference, input: References): ApiError {
  return new ApiError('ReferenceNotFound', `${field} "${input[field]}" is not a ${nouns[field]} of this bot.`);
}
