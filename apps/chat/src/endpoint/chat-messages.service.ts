import { Injectable } from '@nestjs/common';
import type { ChatUserCaller } from '@parley/contracts/access';
import { maxPayloadBytes } from '@parley/contracts/chat/chat-payload';
import type { ListInChatConversation } from '@parley/contracts/chat/endpoint-conversations';
import {
  type ChatMessageId,
  type ChatMessageReply,
  type ChatMessages,
  type CreateChatMessage,
  endpointMessages,
} from '@parley/contracts/chat/endpoint-messages';
import { ApiError, notFound } from '@parley/contracts/errors';
import { Idempotency } from '@parley/persistence/idempotency';
import { newId } from '@parley/persistence/ids';
import { MessageWriter } from '../messages/message-writer';
import { MessagesService } from '../messages/messages.service';
import { Askers, known, participant } from './askers';
import { asInstallation, asUser } from './chat-installations';
import { type ChatMessage, toChatMessage, toContent } from './chat-payload';
import { shownId } from './endpoint.entity';
import { type Asker, EndpointRepository, type Said } from './endpoint.repository';

@Injectable()
export class ChatMessagesService {
  constructor(
    private readonly idempotency: Idempotency,
    private readonly askers: Askers,
    private readonly endpoint: EndpointRepository,
    private readonly writer: MessageWriter,
    private readonly messages: MessagesService,
  ) {}

  async create(caller: ChatUserCaller, input: CreateChatMessage): Promise<ChatMessageReply> {
    const { webhookId, conversationId, payload, metadata } = input;
    if (Buffer.byteLength(JSON.stringify([payload, metadata])) > maxPayloadBytes)
      throw new ApiError(
        'InvalidPayload',
        `payload and metadata must be at most ${maxPayloadBytes} bytes of JSON together.`,
      );
    const asker = await this.askers.identify(caller, webhookId);
    const { me, conversation } = participant(await this.endpoint.findPlace(asker, conversationId), conversationId);
    const { botId, alias } = asker.installation;
    const draft = {
      id: newId('msg'),
      conversation_id: conversation.id,
      user_id: me.id,
      ...toContent({ payload, metadata }),
      tags: {},
      alias,
      is_for_participant: true,
      event_id: newId('evt'),
    };
    if (caller.idempotencyKey === undefined)
      return { message: shown(await this.writer.write(botId, draft), conversation) };
    const who = asUser(caller, asker.installation, me);
    return this.idempotency.run(who, endpointMessages.createMessage, input, async (tx) => {
      const [written] = await this.writer.writeIn(tx, botId, [draft]);
      return { message: shown(written!, conversation) };
    });
  }

  async get(caller: ChatUserCaller, { webhookId, id }: ChatMessageId): Promise<ChatMessageReply> {
    const asker = await this.askers.identify(caller, webhookId);
    const { said, conversation } = await this.find(asker, id);
    return { message: shown(said, conversation) };
  }

  async delete(caller: ChatUserCaller, { webhookId, id }: ChatMessageId): Promise<object> {
    const asker = await this.askers.identify(caller, webhookId);
    const { said, me } = await this.find(asker, id);
    if (said.user_id !== me.id) throw new ApiError('Forbidden', 'Only the sender of a message may delete it.');
    return this.messages.delete(asInstallation(caller, asker.installation), { id: said.id });
  }

  async list(
    caller: ChatUserCaller,
    { webhookId, conversationId, nextToken }: ListInChatConversation,
  ): Promise<ChatMessages> {
    const asker = await this.askers.identify(caller, webhookId);
    const { conversation } = participant(await this.endpoint.findPlace(asker, conversationId), conversationId);
    const page = await this.endpoint.listMessages(conversation.bot_id, conversation.id, nextToken);
    return {
      messages: page.rows.map((said) => shown(said, conversation)),
      meta: { nextToken: page.nextToken },
    };
  }

  private async find(asker: Asker, id: string) {
    const place = await this.endpoint.findMessage(asker, id);
    known(place.me);
    if (!place.said) throw notFound('message', id);
    return { ...participant(place, id), said: place.said };
  }
}

function shown(said: Said, conversation: { id: string; foreign_id: string | null }): ChatMessage {
  return toChatMessage({
    id: said.id,
    type: said.type,
    payload: said.payload,
    createdAt: said.created_at,
    userId: said.user_foreign_id ?? said.user_id,
    conversationId: shownId(conversation),
  });
}
