import type { BotCaller } from '@parley/contracts/access';
import type { Conversation } from '@parley/contracts/chat/conversations';
import { IdColumn, PrimaryIdColumn } from '@parley/persistence/columns';
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
