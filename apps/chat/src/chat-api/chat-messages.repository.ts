import { Injectable } from '@nestjs/common';
import { Database } from '@parley/persistence/database';
import { pageSize } from '@parley/persistence/keyset';
import { newestFirst } from '../queries/newest-first';
import {
  type ConversationLookupRow,
  findWithAuthor,
  idOrNone,
  type MessageLookup,
  type StoredMessage,
  toMessageLookup,
} from './lookup-sql';
import type { ChatPrincipal } from './viewer';

const newestMessages = newestFirst<StoredMessage>('m.created_at', 'm.id', { sql: 'm.conversation_id', value: '$2' });
const limit = pageSize({});

@Injectable()
export class ChatMessagesRepository {
  constructor(private readonly database: Database) {}

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
}
