import type { BotCaller } from '@parley/contracts/access';
import type { Conversation } from '@parley/contracts/chat/conversations';
import { IdColumn, PrimaryIdColumn, TimestampColumn } from '@parley/persistence/columns';
import { Column, Entity, Index } from 'typeorm';
import { shownNames } from '../queries/scope';

/** Conversation in a channel of an installation. */
@Entity('conversation')
@Index('conversation_created', ['bot_id', 'created_at', 'id'])
@Index('conversation_updated', ['bot_id', 'updated_at', 'id'])
@Index('conversation_channel', ['bot_id', 'channel', 'created_at', 'id'])
@Index('conversation_integration', ['bot_id', 'integration_alias', 'created_at', 'id'])
@Index('conversation_integration_updated', ['bot_id', 'integration_alias', 'updated_at', 'id'])
@Index('conversation_owner', ['bot_id', 'owner_id', 'created_at', 'id'], { where: 'owner_id IS NOT NULL' })
@Index('conversation_foreign_id', ['bot_id', 'foreign_id'], { unique: true, where: 'foreign_id IS NOT NULL' })
export class ConversationEntity {
  @PrimaryIdColumn() bot_id!: string;
  @PrimaryIdColumn() id!: string;
  @IdColumn() integration_alias!: string;

  /** Integration version id. */
  @IdColumn() integration_id!: string;

  @IdColumn() channel!: string;

  /** True for a conversation of the native chat: its changes are sent as signals to listening clients. */
  @Column('boolean') is_chat!: boolean;

  @Column('jsonb') tags!: Record<string, string>;
  @Column('jsonb') properties!: Record<string, string>;

  /** Given by a client of the native chat. */
  @IdColumn({ nullable: true }) foreign_id!: string | null;

  /** User of the native chat who created the conversation. */
  @IdColumn({ nullable: true }) owner_id!: string | null;

  @IdColumn({ nullable: true }) current_task_id!: string | null;
  @IdColumn({ nullable: true }) current_workflow_id!: string | null;
  @Column({ type: 'timestamptz', precision: 3 }) created_at!: Date;
  @Column({ type: 'timestamptz', precision: 3 }) updated_at!: Date;
}

/** Joined with the message count of its `conversation_clock`. */
export interface ConversationWithCount extends ConversationEntity {
  message_count: number;
}

export function toConversation(caller: Pick<BotCaller, 'integration'>, row: ConversationWithCount): Conversation {
  return {
    id: row.id,
    currentTaskId: row.current_task_id ?? undefined,
    currentWorkflowId: row.current_workflow_id ?? undefined,
    createdAt: row.created_at.toISOString(),
    updatedAt: row.updated_at.toISOString(),
    channel: row.channel,
    integration: row.integration_alias,
    tags: shownNames(caller, row.tags),
    messageCount: row.message_count,
    properties: row.properties,
  };
}

/** Logical clock and lock of a conversation: every writer updates this row first. */
@Entity('conversation_clock')
export class ConversationClockEntity {
  @PrimaryIdColumn() bot_id!: string;
  @PrimaryIdColumn() conversation_id!: string;

  /** `-Infinity` before the first message. */
  @Column({ type: 'timestamptz', precision: 3, default: '-infinity' }) last_message_at!: Date | number;

  @Column('integer', { default: 0 }) message_count!: number;

  /** `bigint`, which arrives as text. */
  @Column('bigint', { default: 0 }) signal_count!: string;

  /**
   * Number of removed participants: a writer that waited for the lock compares it to see whether somebody was removed.
   */
  @Column('integer', { default: 0 }) removals!: number;
}

/** Membership of a user in a conversation. */
@Entity('participant')
@Index('participant_joined', ['bot_id', 'conversation_id', 'joined_at', 'user_id'])
@Index('participant_user', ['bot_id', 'user_id', 'conversation_id'])
export class ParticipantEntity {
  @PrimaryIdColumn() bot_id!: string;
  @PrimaryIdColumn() conversation_id!: string;
  @PrimaryIdColumn() user_id!: string;
  @TimestampColumn() joined_at!: Date;
}
