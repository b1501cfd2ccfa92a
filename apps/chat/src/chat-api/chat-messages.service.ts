import { Injectable } from '@nestjs/common';
import type { ChatUserCaller } from '@parley/contracts/access';
import { maxPayloadBytes } from '@parley/contracts/chat/chat-payload';
import type { ListInChatConversation } from '@parley/contracts/chat-api/conversations';
import {
  type ChatMessageId,
  type ChatMessageReply,
  type ChatMessages,
  type CreateChatMessage,
  chatApiMessages,
} from '@parley/contracts/chat-api/messages';
import { ApiError, notFound } from '@parley/contracts/errors';
import { Idempotency } from '@parley/persistence/idempotency';
import { newId } from '@parley/persistence/ids';
import { type ChatMessage, toChatMessage, toContent } from '../signals/chat-payload';
import { MessageWriterService } from '../messages/message-writer.service';
import { MessagesService } from '../messages/messages.service';
import { asInstallation, asUser } from './chat-installations.cache';
import { ChatApiRepository } from './chat-api.repository';
import { shownId } from './chat-objects';
import { ChatPrincipalsService } from './chat-principals.service';
import type { StoredMessage } from './lookup-sql';
import { type ChatPrincipal, requireParticipant, requireUser } from './viewer';

@Injectable()
export class ChatMessagesService {
  constructor(
    private readonly idempotency: Idempotency,
    private readonly principals: ChatPrincipalsService,
    private readonly repository: ChatApiRepository,
    private readonly writer: MessageWriterService,
    private readonly messages: MessagesService,
  ) {}

  async create(caller: ChatUserCaller, input: CreateChatMessage): Promise<ChatMessageReply> {
    const { webhookId, conversationId, payload, metadata } = input;
    if (Buffer.byteLength(JSON.stringify([payload, metadata])) > maxPayloadBytes)
      throw new ApiError(
        'InvalidPayload',
        `payload and metadata must be at most ${maxPayloadBytes} bytes of JSON together.`,
      );
    const principal = await this.principals.identify(caller, webhookId);
    const { viewer, conversation } = requireParticipant(
      await this.repository.findChatConversation(principal, conversationId),
      conversationId,
    );
    const { botId, alias } = principal.installation;
    const draft = {
      id: newId('msg'),
      conversation_id: conversation.id,
      user_id: viewer.id,
      ...toContent({ payload, metadata }),
      tags: {},
      alias,
      is_for_participant: true,
      event_id: newId('evt'),
    };
    if (caller.idempotencyKey === undefined)
      return { message: shown(await this.writer.write(botId, draft), conversation) };
    const who = asUser(caller, principal.installation, viewer);
    return this.idempotency.run(who, chatApiMessages.createMessage, input, async (tx) => {
      const [written] = await this.writer.writeIn(tx, botId, [draft]);
      return { message: shown(written!, conversation) };
    });
  }

  async get(caller: ChatUserCaller, { webhookId, id }: ChatMessageId): Promise<ChatMessageReply> {
    const principal = await this.principals.identify(caller, webhookId);
    const { stored, conversation } = await this.find(principal, id);
    return { message: shown(stored, conversation) };
  }

  async delete(caller: ChatUserCaller, { webhookId, id }: ChatMessageId): Promise<object> {
    const principal = await this.principals.identify(caller, webhookId);
    const { stored, viewer } = await this.find(principal, id);
    if (stored.user_id !== viewer.id) throw new ApiError('Forbidden', 'Only the sender of a message may delete it.');
    return this.messages.delete(asInstallation(caller, principal.installation), { id: stored.id });
  }

  async list(
    caller: ChatUserCaller,
    { webhookId, conversationId, nextToken }: ListInChatConversation,
  ): Promise<ChatMessages> {
    const principal = await this.principals.identify(caller, webhookId);
    const { conversation } = requireParticipant(
      await this.repository.findChatConversation(principal, conversationId),
      conversationId,
    );
    const page = await this.repository.listChatMessages(conversation.bot_id, conversation.id, nextToken);
    return {
      messages: page.rows.map((stored) => shown(stored, conversation)),
      meta: { nextToken: page.nextToken },
    };
  }

  private async find(principal: ChatPrincipal, id: string) {
    const lookup = await this.repository.findChatMessage(principal, id);
    requireUser(lookup.viewer);
    if (!lookup.stored) throw notFound('message', id);
    return { ...requireParticipant(lookup, id), stored: lookup.stored };
  }
}

function shown(stored: StoredMessage, conversation: { id: string; foreign_id: string | null }): ChatMessage {
  return toChatMessage({
    id: stored.id,
    type: stored.type,
    payload: stored.payload,
    createdAt: stored.created_at,
    userId: stored.user_foreign_id ?? stored.user_id,
    conversationId: shownId(conversation),
  });
}
