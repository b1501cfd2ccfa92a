import type { Conversation } from '@parley/contracts/chat/conversations';
import type { Message } from '@parley/contracts/chat/messages';
import { IdColumn, PrimaryIdColumn } from '@parley/persistence/columns';
import { Column, Entity, Index } from 'typeorm';

/** Change of a message or conversation that waits for its delivery to the integration of the conversation. */
@Entity('outgoing_change')
@Index('outgoing_change_of_conversation', ['bot_id', 'conversation_id', 'created_at'], { unique: true })
@Index('outgoing_change_created', ['created_at'])
export class OutgoingChangeEntity {
  @PrimaryIdColumn() bot_id!: string;
  @PrimaryIdColumn() id!: string;
  @IdColumn() conversation_id!: string;

  /** Null for a change of the conversation. */
  @IdColumn({ nullable: true }) message_id!: string | null;

  /** Message or conversation as the integration saw it before the change. */
  @Column('jsonb') previous!: Conversation | Message;

  /** The same after the change. */
  @Column('jsonb') current!: Conversation | Message;

  /** Place among the messages of the conversation: no two have the same time. */
  @Column({ type: 'timestamptz', precision: 3 }) created_at!: Date;
}
