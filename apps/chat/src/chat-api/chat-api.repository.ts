import { Injectable } from '@nestjs/common';
import { MergedCalls } from '@parley/background/merged-calls';
import { Database } from '@parley/persistence/database';
import type { UserEntity } from '../users/user.entity';
import type { ChatInstallation } from './chat-installations.cache';
import {
  byForeignOrPlatformId,
  type ConversationLookupRow,
  conversationNamed,
  findWithAuthor,
  idOrNone,
  lookupColumns,
  type MessageLookup,
  type StoredMessage,
  toConversationLookup,
  toMessageLookup,
  userNamed,
} from './lookup-sql';
import type { ChatPrincipal, ConversationLookup } from './viewer';
import { Keyset, pageSize } from '@parley/persistence/keyset';
import { ConversationEntity } from '../conversations/conversation.entity';
import { newestFirst } from '../queries/list-statements';
import { InjectRepository } from '@nestjs/typeorm';
import type { ChatActionTarget } from '@parley/contracts/chat/chat-actions';
import { Repository } from 'typeorm';

const maxLookupsTogether = 100;
const limit = pageSize({});

interface AskedConversation {
  claim: string;
  name: string;
}

const newestConversations = newestFirst<ConversationEntity>('created_at', 'id', { sql: 'owner_id', value: '$3' });
const newestParticipants = new Keyset<UserEntity & { joined_at: Date }>([
  { sql: 'p.joined_at', type: 'timestamptz', of: (row) => row.joined_at },
  { sql: 'p.user_id', type: 'text', of: (row) => row.id },
]);
const newestMessages = newestFirst<StoredMessage>('m.created_at', 'm.id', { sql: 'm.conversation_id', value: '$2' });

@Injectable()
export class ChatApiRepository {
  private readonly lookups = new MergedCalls(
    (key, asked: AskedConversation[]) => this.findChatConversations(key, asked),
    maxLookupsTogether,
  );

  constructor(
    private readonly database: Database,
    @InjectRepository(ConversationEntity) private readonly conversations: Repository<ConversationEntity>,
  ) {}

  async findChatUser({ botId, alias }: ChatInstallation, name: string): Promise<UserEntity | undefined> {
    const [row] = await this.database.query<UserEntity>(`SELECT * FROM ${userNamed('$3')} found`, [
      botId,
      alias,
      idOrNone(name),
    ]);
    return row;
  }

  /** Concurrent lookups for one bot share a statement, so that the users of a bot do not take all connections. */
  findChatConversation({ installation, claim }: ChatPrincipal, name: string): Promise<ConversationLookup> {
    const { botId, alias } = installation;
    return this.lookups.call(JSON.stringify([botId, alias]), { claim: idOrNone(claim), name: idOrNone(name) });
  }

  /** Indexes: those of `byForeignOrPlatformId`, and the primary key of participants. */
  private async findChatConversations(key: string, asked: AskedConversation[]): Promise<ConversationLookup[]> {
    const [botId, alias] = JSON.parse(key) as [string, string];
    const rows = await this.database.query<ConversationLookupRow>(
      `SELECT ${lookupColumns}
       FROM unnest($3::text[], $4::text[]) WITH ORDINALITY AS asked (claim, name, ordinal)
       LEFT JOIN LATERAL ${userNamed('asked.claim')} viewer ON true
       LEFT JOIN LATERAL ${conversationNamed('asked.name')} c ON true
       ORDER BY ordinal`,
      [botId, alias, asked.map(({ claim }) => claim), asked.map(({ name }) => name)],
      'find_chat_conversations',
    );
    return rows.map((row) => toConversationLookup(botId, row));
  }

  /** Index conversation_owner. */
  async listOwnedConversations({ botId, alias }: ChatInstallation, ownerId: string, nextToken?: string) {
    const boundTo = [botId, alias, ownerId];
    const values: unknown[] = [botId, alias, ownerId];
    const rows = await this.database.query<ConversationEntity>(
      `SELECT * FROM conversation
       WHERE bot_id = $1 AND integration_alias = $2 AND is_chat
         AND ${newestConversations.after(nextToken, boundTo, values)}
       ORDER BY ${newestConversations.orderBy} LIMIT ${limit + 1}`,
      values,
    );
    return newestConversations.page(rows, limit, boundTo);
  }

  /** Participants include users of other integrations. */
  async findChatParticipant(botId: string, conversationId: string, name: string): Promise<UserEntity | undefined> {
    const [row] = await this.database.query<UserEntity>(
      `SELECT u.* FROM ${byForeignOrPlatformId('"user"', 'true', '$3')} u
       JOIN participant p ON p.bot_id = $1 AND p.conversation_id = $2 AND p.user_id = u.id`,
      [botId, conversationId, idOrNone(name)],
    );
    return row;
  }

  /** Index participant_joined, then the primary key of each user. */
  async listChatParticipants(botId: string, conversationId: string, nextToken?: string) {
    const boundTo = ['participants', botId, conversationId];
    const values: unknown[] = [botId, conversationId];
    const rows = await this.database.query<UserEntity & { joined_at: Date }>(
      `SELECT u.*, p.joined_at FROM participant p JOIN "user" u ON u.bot_id = $1 AND u.id = p.user_id
       WHERE p.bot_id = $1 AND p.conversation_id = $2 AND ${newestParticipants.after(nextToken, boundTo, values)}
       ORDER BY ${newestParticipants.orderBy} LIMIT ${limit + 1}`,
      values,
    );
    return newestParticipants.page(rows, limit, boundTo);
  }

  async findChatMessage({ installation: { botId, alias }, claim }: ChatPrincipal, id: string): Promise<MessageLookup> {
    const [row] = await this.database.query<ConversationLookupRow & StoredMessage>(findWithAuthor('message', 'true'), [
      botId,
      alias,
      idOrNone(claim),
      idOrNone(id),
    ]);
    return toMessageLookup(botId, row!);
  }

  /** Index message_of_conversation, then the primary key of each author. */
  async listChatMessages(botId: string, conversationId: string, nextToken?: string) {
    const boundTo = ['messages', botId, conversationId];
    const values: unknown[] = [botId, conversationId];
    const rows = await this.database.query<StoredMessage>(
      `SELECT m.id, m.type, m.payload, m.created_at, m.user_id, author.foreign_id AS user_foreign_id
       FROM message m LEFT JOIN "user" author ON author.bot_id = $1 AND author.id = m.user_id
       WHERE m.bot_id = $1 AND ${newestMessages.after(nextToken, boundTo, values)}
       ORDER BY ${newestMessages.orderBy} LIMIT ${limit + 1}`,
      values,
    );
    return newestMessages.page(rows, limit, boundTo);
  }

  async findChatEvent(
    { installation: { botId, alias }, claim }: ChatPrincipal,
    id: string,
    type: string,
  ): Promise<MessageLookup> {
    const [row] = await this.database.query<ConversationLookupRow & StoredMessage>(
      findWithAuthor('event', 'stored.type = $5'),
      [botId, alias, idOrNone(claim), idOrNone(id), type],
    );
    return toMessageLookup(botId, row!);
  }

  /** Conversation of this chat installation. Primary key. */
  async findConversation({
    botId,
    alias,
    conversationId,
  }: ChatActionTarget): Promise<Pick<ConversationEntity, 'id' | 'foreign_id'> | undefined> {
    const found = await this.conversations.findOne({
      where: { bot_id: botId, id: conversationId, integration_alias: alias, is_chat: true },
      select: { id: true, foreign_id: true },
    });
    return found ?? undefined;
  }
}
