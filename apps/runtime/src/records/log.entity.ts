import type { BotLog, LogLevel, LogLine } from '@parley/contracts/runtime/logs';
import { IdColumn, PrimaryIdColumn } from '@parley/persistence/columns';
import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

/** Line that the code of a bot or of an integration printed. */
@Entity('log')
@Index('log_of_conversation', ['bot_id', 'conversation_id', 'created_at', 'id'], {
  where: 'conversation_id IS NOT NULL',
})
@Index('log_of_integration', ['integration_id', 'created_at', 'id'], {
  where: 'integration_id IS NOT NULL AND is_for_owner',
})
@Index('log_of_user', ['bot_id', 'user_id', 'created_at', 'id'], { where: 'user_id IS NOT NULL' })
export class LogEntity {
  /** Empty for a line of an integration outside of any call. */
  @PrimaryIdColumn() bot_id!: string;

  @PrimaryColumn({ type: 'timestamptz', precision: 3 }) created_at!: Date;
  @PrimaryIdColumn() id!: string;
  @Column('text') level!: LogLevel;
  @Column('text') message!: string;
  @IdColumn({ nullable: true }) event_id!: string | null;
  @IdColumn({ nullable: true }) conversation_id!: string | null;
  @IdColumn({ nullable: true }) user_id!: string | null;
  @IdColumn({ nullable: true }) workflow_id!: string | null;

  /** Trace id of the call that printed the line. */
  @IdColumn({ nullable: true }) trace_id!: string | null;

  /** Version of the integration whose code printed the line; null for the code of the bot. */
  @IdColumn({ nullable: true }) integration_id!: string | null;

  /** Whether the bot's workspace sees the line. */
  @Column('boolean', { default: true }) is_for_bot!: boolean;

  /** Whether the owner of the integration sees the line. */
  @Column('boolean', { default: false }) is_for_owner!: boolean;
}

export function toLogLine(row: LogEntity): LogLine {
  return { ...toBotLog(row), id: row.id, botId: row.bot_id };
}

export function toBotLog(row: LogEntity): BotLog {
  return {
    timestamp: row.created_at.toISOString(),
    level: row.level,
    message: row.message,
    eventId: row.event_id ?? undefined,
    workflowId: row.workflow_id ?? undefined,
    userId: row.user_id ?? undefined,
    conversationId: row.conversation_id ?? undefined,
    traceId: row.trace_id ?? undefined,
  };
}
