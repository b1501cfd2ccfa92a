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
  chatApiConversations,
} from '@parley/contracts/chat-api/conversations';
import type { Listener, OpenStream } from '@parley/contracts/chat/signals';
import type { Sql } from '@parley/persistence/database';
import { isUniqueViolation } from '@parley/persistence/errors';
import { Idempotency } from '@parley/persistence/idempotency';
import type { ConversationEntity } from '../conversations/conversation.entity';
import { ConversationsRepository } from '../conversations/conversations.repository';
import { ConversationsService } from '../conversations/conversations.service';
import { ChatApiRepository } from './chat-api.repository';
import { asInstallation, asUser, type ChatInstallation } from './chat-installations.cache';
import { idTaken, tagsOf, toChatConversation } from './chat-objects';
import { ChatPrincipalsService } from './chat-principals.service';
import { requireOwner, requireParticipant, requireUser } from './viewer';

const channel = 'channel';
const maxTries = 5;

@Injectable()
export class ChatConversationsService {
  constructor(
    private readonly idempotency: Idempotency,
    private readonly principals: ChatPrincipalsService,
    private readonly repository: ChatApiRepository,
    private readonly conversations: ConversationsRepository,
    private readonly conversationsService: ConversationsService,
  ) {}

  async create(caller: ChatUserCaller, input: CreateChatConversation): Promise<ChatConversationReply> {
    const { webhookId, id } = input;
    const principal = await this.principals.identify(caller, webhookId);
    const { installation } = principal;
    const lookup = await this.repository.findChatConversation(principal, id ?? '');
    const viewer = requireUser(lookup.viewer);
    const who = asUser(caller, installation, viewer);
    return this.idempotency.runStatement(who, chatApiConversations.createConversation, input, async (sql) => {
      const row = lookup.conversation ? undefined : await this.insert(installation, viewer.id, id ?? null, sql);
      if (!row) throw idTaken(id!);
      return { conversation: toChatConversation(row) };
    });
  }

  /** Concurrent requests get the same conversation. */
  async getOrCreate(
    caller: ChatUserCaller,
    { webhookId, id }: GetOrCreateChatConversation,
  ): Promise<ChatConversationReply> {
    const principal = await this.principals.identify(caller, webhookId);
    for (let tries = 0; tries < maxTries; tries += 1) {
      const lookup = await this.repository.findChatConversation(principal, id);
      if (lookup.conversation) return { conversation: toChatConversation(requireOwner(lookup, id).conversation) };
      const row = await this.insert(principal.installation, requireUser(lookup.viewer).id, id);
      if (row) return { conversation: toChatConversation(row) };
    }
    throw idTaken(id);
  }

  async get(caller: ChatUserCaller, { webhookId, id }: ChatConversationId): Promise<ChatConversationReply> {
    const principal = await this.principals.identify(caller, webhookId);
    const { conversation } = requireParticipant(await this.repository.findChatConversation(principal, id), id);
    return { conversation: toChatConversation(conversation) };
  }

  async delete(caller: ChatUserCaller, { webhookId, id }: ChatConversationId): Promise<object> {
    const principal = await this.principals.identify(caller, webhookId);
    const { conversation } = requireOwner(await this.repository.findChatConversation(principal, id), id);
    return this.conversationsService.delete(asInstallation(caller, principal.installation), { id: conversation.id });
  }

  async list(caller: ChatUserCaller, { webhookId, nextToken }: ListChatConversations): Promise<ChatConversations> {
    const { installation, claim } = await this.principals.identify(caller, webhookId);
    const viewer = requireUser(await this.repository.findChatUser(installation, claim));
    const page = await this.repository.listOwnedConversations(installation, viewer.id, nextToken);
    return { conversations: page.rows.map(toChatConversation), meta: { nextToken: page.nextToken } };
  }

  /** Authorizes a stream and returns platform ids. Throws as `get` does. */
  async open({ userKey = '' }: Caller, { webhookId, conversationId }: OpenStream): Promise<Listener> {
    const principal = await this.principals.identify({ userKey }, webhookId);
    const { viewer, conversation } = requireParticipant(
      await this.repository.findChatConversation(principal, conversationId),
      conversationId,
    );
    return { botId: conversation.bot_id, conversationId: conversation.id, userId: viewer.id };
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
    return this.conversations.insertConversation(conversation, sql).catch((error: unknown) => {
      if (isUniqueViolation(error)) return undefined;
      throw error;
    });
  }
}
