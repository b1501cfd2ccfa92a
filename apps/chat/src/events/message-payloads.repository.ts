import { Injectable } from '@nestjs/common';
import { Database } from '@parley/persistence/database';
import type { ConversationWithCount } from '../conversations/conversation.entity';
import type { MessageEntity } from '../messages/message.entity';
import type { UserEntity } from '../users/user.entity';
import type { EventEntity } from './event.entity';

type Found<Row> = Map<string, Row>;

export interface MessageParts {
  messages: Found<MessageEntity>;
  users: Found<UserEntity>;
  conversations: Found<ConversationWithCount>;
}

const messageColumns = `bot_id, id, conversation_id, user_id, type, payload, tags, direction, origin, created_at, updated_at`;

@Injectable()
export class MessagePayloadsRepository {
  constructor(private readonly database: Database) {}

  /** Messages, including scheduled ones, users and conversations that the events refer to. Indexes: the primary keys. */
  async findPartsOfEvents(botId: string, events: EventEntity[]): Promise<MessageParts> {
    const idsOf = (column: 'message_id' | 'user_id' | 'conversation_id') => [
      ...new Set(events.map((event) => event[column])),
    ];
    const messages = await this.database.query<MessageEntity>(
      `SELECT ${messageColumns} FROM message WHERE bot_id = $1 AND id = ANY ($2)
       UNION ALL SELECT ${messageColumns} FROM scheduled_message WHERE bot_id = $1 AND id = ANY ($2)`,
      [botId, idsOf('message_id')],
    );
    const users = await this.database.query<UserEntity>('SELECT * FROM "user" WHERE bot_id = $1 AND id = ANY ($2)', [
      botId,
      idsOf('user_id'),
    ]);
    const conversations = await this.database.query<ConversationWithCount>(
      `SELECT conversation.*, coalesce(message_count, 0) AS message_count
       FROM conversation LEFT JOIN conversation_clock clock ON clock.bot_id = $1 AND clock.conversation_id = id
       WHERE conversation.bot_id = $1 AND id = ANY ($2)`,
      [botId, idsOf('conversation_id')],
    );
    return { messages: byId(messages), users: byId(users), conversations: byId(conversations) };
  }
}

function byId<Row extends { id: string }>(rows: Row[]): Found<Row> {
  return new Map(rows.map((row) => [row.id, row]));
}
