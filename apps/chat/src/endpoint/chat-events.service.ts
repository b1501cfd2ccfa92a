import { Injectable } from '@nestjs/common';
import type { ChatUserCaller } from '@parley/contracts/access';
import {
  type ChatEventId,
  type ChatEventReply,
  type CreateChatEvent,
  endpointMessages,
} from '@parley/contracts/chat/endpoint-messages';
import { notFound } from '@parley/contracts/errors';
import { Idempotency } from '@parley/persistence/idempotency';
import { EventsRepository } from '../events/events.repository';
import { SignalsService } from '../signals/signals.service';
import { Askers, known, participant } from './askers';
import { asUser, type ChatInstallation } from './chat-installations';
import { shownId, toChatEvent } from './endpoint.entity';
import { EndpointRepository } from './endpoint.repository';

@Injectable()
export class ChatEventsService {
  constructor(
    private readonly idempotency: Idempotency,
    private readonly askers: Askers,
    private readonly endpoint: EndpointRepository,
    private readonly events: EventsRepository,
    private readonly signals: SignalsService,
  ) {}

  /** Creates the event for the bot, with platform ids, and sends a signal to listening clients. */
  async create(caller: ChatUserCaller, input: CreateChatEvent): Promise<ChatEventReply> {
    const { webhookId, conversationId, payload } = input;
    const asker = await this.askers.identify(caller, webhookId);
    const { me, conversation } = participant(await this.endpoint.findPlace(asker, conversationId), conversationId);
    return this.idempotency.run(
      asUser(caller, asker.installation, me),
      endpointMessages.createEvent,
      input,
      async (tx) => {
        if (!(await this.signals.hold(tx, conversation.bot_id, conversation.id)))
          throw notFound('conversation', conversationId);
        const [row] = await this.events.add(tx, [
          {
            bot_id: conversation.bot_id,
            type: customType(asker.installation),
            payload: { userId: me.id, conversationId: conversation.id, payload },
            integration_alias: asker.installation.alias,
            conversation_id: conversation.id,
            user_id: me.id,
          },
        ]);
        const event = toChatEvent(row!, { userId: shownId(me), conversationId: shownId(conversation) });
        const data = { ...event, isBot: false };
        await this.signals.add(tx, conversation.bot_id, conversation.id, [{ type: 'event_created', data }]);
        return { event };
      },
    );
  }

  async get(caller: ChatUserCaller, { webhookId, id }: ChatEventId): Promise<ChatEventReply> {
    const asker = await this.askers.identify(caller, webhookId);
    const place = await this.endpoint.findEvent(asker, id, customType(asker.installation));
    known(place.me);
    if (!place.said) throw notFound('event', id);
    const { conversation } = participant(place, id);
    const userId = place.said.user_foreign_id ?? place.said.user_id;
    return { event: toChatEvent(place.said, { userId, conversationId: shownId(conversation) }) };
  }
}

function customType({ alias }: ChatInstallation): string {
  return `${alias}:custom`;
}
