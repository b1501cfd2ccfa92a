import { Injectable } from '@nestjs/common';
import { Database } from '@parley/persistence/database';
import type { ConversationWithCount } from '../conversations/conversation.entity';
import type { MessageEntity } from '../messages/message.entity';

export interface FoundMessage {
  message: MessageEntity;
  conversation: ConversationWithCount;
}

/** Message or change with its place in the order of the conversation. */
export type Outgoing = Pick<MessageEntity, 'bot_id' | 'id' | 'conversation_id' | 'created_at'>;

/** Messages of processes that wrote at the same time are announced within this time. */
const earlierSeconds = 60;
const maxEarlier = 20;

const isShortlyBefore = `bot_id = $1 AND conversation_id = $2 AND created_at < $3
  AND created_at > $3::timestamptz - interval '${earlierSeconds} s'`;
const newest = `ORDER BY created_at DESC, id DESC LIMIT ${maxEarlier}`;

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
    const conversation = message && (await this.findConversation(botId, message.conversation_id));
    return conversation && { message, conversation };
  }

  /** Primary keys. */
  async findConversation(botId: string, id: string): Promise<ConversationWithCount | undefined> {
    const [conversation] = await this.database.query<ConversationWithCount>(
      `SELECT conversation.*, coalesce(clock.message_count, 0) AS message_count FROM conversation
       LEFT JOIN conversation_clock clock ON clock.bot_id = $1 AND clock.conversation_id = $2
       WHERE conversation.bot_id = $1 AND conversation.id = $2`,
      [botId, id],
      'findConversationOfMessage',
    );
    return conversation;
  }

  /**
   * Ids of the messages of the bot and the changes that came shortly before, oldest first. Indexes
   * message_of_conversation, outgoing_change_of_conversation.
   */
  async findEarlierOutgoing({ bot_id, id, conversation_id, created_at }: Outgoing): Promise<string[]> {
    const rows = await this.database.query<{ id: string }>(
      `(SELECT id, created_at FROM message
        WHERE ${isShortlyBefore} AND id <> $4 AND direction = 'outgoing' AND origin IS NULL ${newest})
       UNION ALL
       (SELECT id, created_at FROM outgoing_change WHERE ${isShortlyBefore} ${newest})
       ${newest}`,
      [bot_id, conversation_id, created_at, id],
      'findEarlierOutgoing',
    );
    return rows.map((row) => row.id).reverse();
  }
}
