import { Injectable } from '@nestjs/common';
import type { ChatUserCaller } from '@parley/contracts/access';
import {
  type ChatEventId,
  type ChatEventReply,
  type CreateChatEvent,
  chatApiMessages,
} from '@parley/contracts/chat-api/messages';
import { notFound } from '@parley/contracts/errors';
import { Idempotency } from '@parley/persistence/idempotency';
import { EventsRepository } from '../events/events.repository';
import { SignalsService } from '../signals/signals.service';
import { ChatApiRepository } from './chat-api.repository';
import { asUser, type ChatInstallation } from './chat-installations.cache';
import { shownId, toChatEvent } from './chat-objects';
import { ChatPrincipalsService } from './chat-principals.service';
import { requireParticipant, requireUser } from './viewer';

@Injectable()
export class ChatEventsService {
  constructor(
    private readonly idempotency: Idempotency,
    private readonly principals: ChatPrincipalsService,
    private readonly repository: ChatApiRepository,
    private readonly events: EventsRepository,
    private readonly signals: SignalsService,
  ) {}

  /** Creates the event for the bot, with platform ids, and sends a signal to listening clients. */
  async create(caller: ChatUserCaller, input: CreateChatEvent): Promise<ChatEventReply> {
    const { webhookId, conversationId, payload } = input;
    const principal = await this.principals.identify(caller, webhookId);
    const { viewer, conversation } = requireParticipant(
      await this.repository.findChatConversation(principal, conversationId),
      conversationId,
    );
    return this.idempotency.run(
      asUser(caller, principal.installation, viewer),
      chatApiMessages.createEvent,
      input,
      async (tx) => {
        if (!(await this.signals.lockClock(tx, conversation.bot_id, conversation.id)))
          throw notFound('conversation', conversationId);
        const [row] = await this.events.insertEvents(tx, [
          {
            bot_id: conversation.bot_id,
            type: customType(principal.installation),
            payload: { userId: viewer.id, conversationId: conversation.id, payload },
            integration_alias: principal.installation.alias,
            conversation_id: conversation.id,
            user_id: viewer.id,
          },
        ]);
        const event = toChatEvent(row!, { userId: shownId(viewer), conversationId: shownId(conversation) });
        const data = { ...event, isBot: false };
        await this.signals.add(tx, conversation.bot_id, conversation.id, [{ type: 'event_created', data }]);
        return { event };
      },
    );
  }

  async get(caller: ChatUserCaller, { webhookId, id }: ChatEventId): Promise<ChatEventReply> {
    const principal = await this.principals.identify(caller, webhookId);
    const lookup = await this.repository.findChatEvent(principal, id, customType(principal.installation));
    requireUser(lookup.viewer);
    if (!lookup.stored) throw notFound('event', id);
    const { conversation } = requireParticipant(lookup, id);
    const userId = lookup.stored.user_foreign_id ?? lookup.stored.user_id;
    return { event: toChatEvent(lookup.stored, { userId, conversationId: shownId(conversation) }) };
  }
}

function customType({ alias }: ChatInstallation): string {
  return `${alias}:custom`;
}
