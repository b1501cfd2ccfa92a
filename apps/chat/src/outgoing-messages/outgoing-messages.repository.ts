import { Injectable } from '@nestjs/common';
import { Database } from '@parley/persistence/database';
import type { ConversationWithCount } from '../conversations/conversation.entity';
import type { MessageEntity } from '../messages/message.entity';

export interface FoundMessage {
  message: MessageEntity;
  conversation: ConversationWithCount;
}

/** Messages of processes that wrote at the same time are announced within this time. */
const earlierSeconds = 60;
const maxEarlier = 20;

@Injectable()
export class OutgoingMessagesRepository {
  constructor(private readonly database: Database) {}

  /** Undefined if the message or its conversation was deleted. Small statements, as for events. Indexes: the primary keys. */
  async findMessage(botId: string, id: string): Promise<FoundMessage | undefined> {
    const [message] = await this.database.query<MessageEntity>(
      'SELECT * FROM message WHERE bot_id = $1 AND id = $2',
      [botId, id],
      'findOutgoingMessage',
    );
    if (!message) return undefined;
    const [conversation] = await this.database.query<ConversationWithCount>(
      `SELECT conversation.*, coalesce(clock.message_count, 0) AS message_count FROM conversation
       LEFT JOIN conversation_clock clock ON clock.bot_id = $1 AND clock.conversation_id = $2
       WHERE conversation.bot_id = $1 AND conversation.id = $2`,
      [botId, message.conversation_id],
      'findConversationOfMessage',
    );
    return conversation && { message, conversation };
  }

  /** Ids of the messages of the bot that came shortly before, oldest first. Index message_of_conversation. */
  async findEarlierOutgoing({ bot_id, id, conversation_id, created_at }: MessageEntity): Promise<string[]> {
    const rows = await this.database.query<{ id: string }>(
      `SELECT id FROM message
       WHERE bot_id = $1 AND conversation_id = $2 AND created_at < $3 AND created_at > $3::timestamptz - interval '${earlierSeconds} s'
         AND id <> $4 AND direction = 'outgoing' AND origin IS NULL
       ORDER BY created_at DESC, id DESC LIMIT ${maxEarlier}`,
      [bot_id, conversation_id, created_at, id],
      'findEarlierOutgoing',
    );
    return rows.map((row) => row.id).reverse();
  }
}
