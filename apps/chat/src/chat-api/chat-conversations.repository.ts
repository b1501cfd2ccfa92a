import { Injectable } from '@nestjs/common';
import { Database } from '@parley/persistence/database';
import { pageSize } from '@parley/persistence/keyset';
import type { ConversationEntity } from '../conversations/conversation.entity';
import { newestFirst } from '../queries/newest-first';
import type { ChatInstallation } from './chat-installations.cache';

const newestConversations = newestFirst<ConversationEntity>('created_at', 'id', { sql: 'owner_id', value: '$3' });
const limit = pageSize({});

@Injectable()
export class ChatConversationsRepository {
  constructor(private readonly database: Database) {}

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
}
