import { Injectable } from '@nestjs/common';
import type { ChatUserCaller } from '@parley/contracts/access';
import type { Caller } from '@parley/contracts/caller';
import {
  type ChatConversationId,
  type ChatConversationReply,
  type ChatConversations,
  type CreateChatConversation,
  type GetOrCreateChatConversation,
  type ListChatConversations,
  endpointConversations,
} from '@parley/contracts/chat/endpoint-conversations';
import type { Listener, OpenStream } from '@parley/contracts/chat/signals';
import type { Sql } from '@parley/persistence/database';
import { isUniqueViolation } from '@parley/persistence/errors';
import { Idempotency } from '@parley/persistence/idempotency';
import type { ConversationEntity } from '../conversations/conversation.entity';
import { ConversationsRepository } from '../conversations/conversations.repository';
import { ConversationsService } from '../conversations/conversations.service';
import { Askers, known, owner, participant } from './askers';
import { asInstallation, asUser, type ChatInstallation } from './chat-installations';
import { taken, tagsOf } from './chat-users.service';
import { toChatConversation } from './endpoint.entity';
import { EndpointRepository } from './endpoint.repository';

const channel = 'channel';
const maxTries = 5;

@Injectable()
export class ChatConversationsService {
  constructor(
    private readonly idempotency: Idempotency,
    private readonly askers: Askers,
    private readonly endpoint: EndpointRepository,
    private readonly conversations: ConversationsRepository,
    private readonly conversationsService: ConversationsService,
  ) {}

  async create(caller: ChatUserCaller, input: CreateChatConversation): Promise<ChatConversationReply> {
    const { webhookId, id } = input;
    const asker = await this.askers.identify(caller, webhookId);
    const { installation } = asker;
    const place = await this.endpoint.findPlace(asker, id ?? '');
    const me = known(place.me);
    const who = asUser(caller, installation, me);
    return this.idempotency.runStatement(who, endpointConversations.createConversation, input, async (sql) => {
      const row = place.conversation ? undefined : await this.insert(installation, me.id, id ?? null, sql);
      if (!row) throw taken(id!);
      return { conversation: toChatConversation(row) };
    });
  }

  /** Concurrent requests get the same conversation. */
  async getOrCreate(
    caller: ChatUserCaller,
    { webhookId, id }: GetOrCreateChatConversation,
  ): Promise<ChatConversationReply> {
    const asker = await this.askers.identify(caller, webhookId);
    for (let tries = 0; tries < maxTries; tries += 1) {
      const place = await this.endpoint.findPlace(asker, id);
      if (place.conversation) return { conversation: toChatConversation(owner(place, id).conversation) };
      const row = await this.insert(asker.installation, known(place.me).id, id);
      if (row) return { conversation: toChatConversation(row) };
    }
    throw taken(id);
  }

  async get(caller: ChatUserCaller, { webhookId, id }: ChatConversationId): Promise<ChatConversationReply> {
    const asker = await this.askers.identify(caller, webhookId);
    const { conversation } = participant(await this.endpoint.findPlace(asker, id), id);
    return { conversation: toChatConversation(conversation) };
  }

  async delete(caller: ChatUserCaller, { webhookId, id }: ChatConversationId): Promise<object> {
    const asker = await this.askers.identify(caller, webhookId);
    const { conversation } = owner(await this.endpoint.findPlace(asker, id), id);
    return this.conversationsService.delete(asInstallation(caller, asker.installation), { id: conversation.id });
  }

  async list(caller: ChatUserCaller, { webhookId, nextToken }: ListChatConversations): Promise<ChatConversations> {
    const { installation, claim } = await this.askers.identify(caller, webhookId);
    const me = known(await this.endpoint.findUser(installation, claim));
    const page = await this.endpoint.listOwned(installation, me.id, nextToken);
    return { conversations: page.rows.map(toChatConversation), meta: { nextToken: page.nextToken } };
  }

  /** Authorizes a stream and returns platform ids. Throws as `get` does. */
  async open({ userKey = '' }: Caller, { webhookId, conversationId }: OpenStream): Promise<Listener> {
    const asker = await this.askers.identify({ userKey }, webhookId);
    const { me, conversation } = participant(await this.endpoint.findPlace(asker, conversationId), conversationId);
    return { botId: conversation.bot_id, conversationId: conversation.id, userId: me.id };
  }

  /** Undefined if the foreign id is taken. */
  private async insert(
    { botId, alias, integrationId }: ChatInstallation,
    ownerId: string,
    id: string | null,
    sql?: Sql,
  ): Promise<ConversationEntity | undefined> {
    const conversation = {
      bot_id: botId,
      integration_alias: alias,
      integration_id: integrationId,
      channel,
      is_chat: true,
      tags: tagsOf(alias, { owner: ownerId, fid: id }),
      properties: {},
      foreign_id: id,
      owner_id: ownerId,
    };
    return this.conversations.insert(conversation, sql).catch((error: unknown) => {
      if (isUniqueViolation(error)) return undefined;
      throw error;
    });
  }
}
