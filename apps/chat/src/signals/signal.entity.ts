import { IdColumn, PrimaryIdColumn } from '@parley/persistence/columns';
import { Column, Entity, Index, PrimaryColumn } from 'typeorm';
import { toChatMessage } from './chat-payload';

/**
 * Signal to the clients of a conversation, kept for as long as they may catch up. The table has no primary key: TypeORM
 * requires the declared one.
 */
@Entity('signal')
@Index('signal_place', ['bot_id', 'conversation_id', 'number'])
export class SignalEntity {
  @PrimaryIdColumn() bot_id!: string;
  @PrimaryIdColumn() conversation_id!: string;

  /** Sequence number without gaps per conversation. `bigint`, which arrives as text. */
  @PrimaryColumn('bigint') number!: string;

  @Column('text') type!: string;

  /** Set for message signals, whose frame is assembled from the message. */
  @IdColumn({ nullable: true }) message_id!: string | null;

  @Column('jsonb', { nullable: true }) data!: Record<string, unknown> | null;

  /** User id: the streams of this user end after the signal. */
  @IdColumn({ nullable: true }) closes!: string | null;

  @Column({ type: 'timestamptz', precision: 3, default: () => 'clock_timestamp()' }) created_at!: Date;
}

/** Notification for the listening clients of a conversation. */
export interface Signal {
  type: string;
  /** In the client format, with foreign ids. Absent if the signal only ends streams. */
  data?: Record<string, unknown>;
  /** User id: the streams of this user in the conversation end after this signal. */
  closes?: string;
}

export interface SignalledMessage {
  id: string;
  conversation_id: string;
  user_id: string;
  type: string;
  payload: Record<string, unknown>;
  direction: 'incoming' | 'outgoing';
  created_at: Date;
  conversation_foreign_id: string | null;
  user_foreign_id: string | null;
}

export function frameOf({ type, data }: Signal): string | null {
  return data ? JSON.stringify({ type, data }) : null;
}

/** Frame of a message signal. Null for message_stream_complete if the message no longer has a stream id. */
export function frameOfMessage(type: string, message: SignalledMessage): string | null {
  const shown = toChatMessage({
    id: message.id,
    conversationId: message.conversation_foreign_id ?? message.conversation_id,
    userId: message.user_foreign_id ?? message.user_id,
    type: message.type,
    payload: message.payload,
    createdAt: message.created_at,
  });
  if (type !== 'message_stream_complete')
    return frameOf({ type, data: { isBot: message.direction === 'outgoing', ...shown } });
  const streamId = shown.metadata?.['streamId'];
  return frameOf({ type, data: typeof streamId === 'string' ? { streamId, message: shown } : undefined });
}

export function participantData(
  conversation: { id: string; foreign_id: string | null },
  user: { id: string; foreign_id: string | null },
) {
  return { conversationId: conversation.foreign_id ?? conversation.id, participantId: user.foreign_id ?? user.id };
}
