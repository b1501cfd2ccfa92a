import { Injectable } from '@nestjs/common';
import {
  type GetPendingEvent,
  maxReplayedEvents,
  type PendingEventReply,
  replayableStatuses,
  type ReplayedEvents,
  type ReplayEvents,
} from '@parley/contracts/chat/deliveries';
import { ApiError, notFound } from '@parley/contracts/errors';
import type { SettledEvent } from '@parley/contracts/runtime/deliveries';
import { Database } from '@parley/persistence/database';
import { toConversation } from '../conversations/conversation.entity';
import { toEvent } from '../events/event.entity';
import { toMessage } from '../messages/message.entity';
import { toUser } from '../users/user.entity';
import { RecurringEventsService } from '../events/recurring-events.service';
import { WorkflowContinuationsService } from '../workflows/workflow-continuations.service';
import { DeliveriesRepository, type FoundEvent } from './deliveries.repository';

@Injectable()
export class DeliveriesService {
  constructor(
    private readonly database: Database,
    private readonly deliveries: DeliveriesRepository,
    private readonly continuations: WorkflowContinuationsService,
    private readonly recurring: RecurringEventsService,
  ) {}

  async getPending({ botId, eventId }: GetPendingEvent): Promise<PendingEventReply> {
    const found = await this.deliveries.findPendingEvent(botId, eventId);
    if (!found) return {};
    const { event, earlier } = found;
    return {
      event: toEvent({}, event, payloadOf(found)),
      replays: event.replays,
      earlier: earlier.length > 0 ? earlier : undefined,
    };
  }

  /** Exactly once: an event is settled, its workflow continued and its failure counted in one transaction. */
  async settle(events: SettledEvent[]): Promise<void> {
    const others = await this.deliveries.settleWithoutEffects(events);
    if (others.length === 0) return;
    await this.database.transaction(async (tx) => {
      const settled = await this.deliveries.settlePendingEvents(tx, others);
      const processed = settled.filter(({ status }) => status === 'processed');
      if (processed.length > 0) await this.continuations.continueAfter(tx, processed);
      await this.recurring.noteOutcomes(tx, settled);
    });
  }

  replay({ botId, eventId, status }: ReplayEvents): Promise<ReplayedEvents> {
    if ((eventId === undefined) === (status === undefined))
      throw new ApiError('InvalidPayload', 'Either eventId or status is required, and not both.');
    return this.database.transaction(async (tx) => {
      if (eventId === undefined)
        return { replayed: await this.deliveries.replayEventsWithStatus(tx, botId, status!, maxReplayedEvents) };
      if (await this.deliveries.replayEvent(tx, botId, eventId, replayableStatuses)) return { replayed: 1 };
      const current = await this.deliveries.findStatus(tx, botId, eventId);
      if (current === undefined) throw notFound('event', eventId);
      throw new ApiError(
        'RelationConflict',
        `The event "${eventId}" is ${current}: only ${replayableStatuses.join(', ')} events can be replayed.`,
      );
    });
  }
}

function payloadOf({ event, message, user, conversation }: FoundEvent): Record<string, unknown> {
  if (event.payload) return event.payload;
  return {
    message: toMessage({}, message!),
    user: toUser({}, user!),
    conversation: toConversation({}, conversation!),
  };
}
