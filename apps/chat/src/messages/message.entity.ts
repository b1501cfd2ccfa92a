import type { BotCaller } from '@parley/contracts/access';
import type { Direction, Message } from '@parley/contracts/chat/messages';
import { IdColumn, PrimaryIdColumn } from '@parley/persistence/columns';
import { isoTime } from '@parley/persistence/timestamps';
import { Check, Column, Entity, Index } from 'typeorm';
import { shownNames } from '../queries/scope';

/** Columns of `message` and `scheduled_message`. */
abstract class MessageColumns {
  @PrimaryIdColumn() bot_id!: string;
  @PrimaryIdColumn() id!: string;
  @IdColumn() conversation_id!: string;

  /** Author; the bot's own id if the bot wrote it. */
  @IdColumn() user_id!: string;

  @Column('text') type!: string;
  @Column('jsonb') payload!: Record<string, unknown>;
  @Column('jsonb') tags!: Record<string, string>;
  @Column('text') direction!: Direction;
  @Column('text', { nullable: true }) origin!: 'synthetic' | null;

  /** Strictly increasing within a conversation, except for imported messages, which keep the given time. */
  @Column({ type: 'timestamptz', precision: 3 }) created_at!: Date;

  @Column({ type: 'timestamptz', precision: 3 }) updated_at!: Date;
}

/** Message of a conversation. */
@Entity('message')
@Check('message_direction_check', `direction IN ('incoming', 'outgoing')`)
@Check('message_origin_check', `origin = 'synthetic'`)
@Index('message_of_conversation', ['bot_id', 'conversation_id', 'created_at', 'id'])
@Index('message_created', ['bot_id', 'created_at', 'id'])
export class MessageEntity extends MessageColumns {}

/** Message that is written when it is due. Its scheduled event has the same message id. */
@Entity('scheduled_message')
@Check('scheduled_message_direction_check', `direction IN ('incoming', 'outgoing')`)
@Check('scheduled_message_origin_check', `origin = 'synthetic'`)
@Index('scheduled_message_due', ['due_at'])
@Index('scheduled_message_of_conversation', ['bot_id', 'conversation_id'])
export class ScheduledMessageEntity extends MessageColumns {
  @Column({ type: 'timestamptz', precision: 3 }) due_at!: Date;
}

/** Whether the integration of the conversation gets the message. The native chat delivers by signals instead. */
export function isDelivered({ direction, origin }: Pick<MessageEntity, 'direction' | 'origin'>): boolean {
  return direction === 'outgoing' && origin === null;
}

/** Message of a list: its times may be text in ISO 8601. */
export type ListedMessage = Omit<MessageEntity, 'bot_id' | 'created_at' | 'updated_at'> &
  Record<'created_at' | 'updated_at', Date | string>;

export function toMessage(caller: Pick<BotCaller, 'integration'>, row: ListedMessage): Message {
  return {
    id: row.id,
    createdAt: isoTime(row.created_at),
    updatedAt: isoTime(row.updated_at),
    type: row.type,
    payload: row.payload,
    direction: row.direction,
    userId: row.user_id,
    conversationId: row.conversation_id,
    tags: shownNames(caller, row.tags),
    origin: row.origin ?? undefined,
  };
}
