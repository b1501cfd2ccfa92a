import type { BotLog, LogLevel, LogLine } from '@parley/contracts/runtime/logs';
import { IdColumn, PrimaryIdColumn } from '@parley/persistence/columns';
import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

/** Line that the code of a bot printed. */
@Entity('log')
@Index('log_of_conversation', ['bot_id', 'conversation_id', 'created_at', 'id'], {
  where: 'conversation_id IS NOT NULL',
})
@Index('log_of_user', ['bot_id', 'user_id', 'created_at', 'id'], { where: 'user_id IS NOT NULL' })
export class LogEntity {
  @PrimaryIdColumn()
  bot_id!: string;

  @PrimaryColumn({ type: 'timestamptz', precision: 3 })
  created_at!: Date;

  @PrimaryIdColumn()
  id!: string;

  @Column('text')
  level!: LogLevel;

  @Column('text')
  message!: string;

  @IdColumn({ nullable: true })
  event_id!: string | null;

  @IdColumn({ nullable: true })
  conversation_id!: string | null;

  @IdColumn({ nullable: true })
  user_id!: string | null;

  @IdColumn({ nullable: true })
  workflow_id!: string | null;

  /** Trace id of the call that printed the line. */
  @IdColumn({ nullable: true })
  trace_id!: string | null;
}

export function toLogLine(row: LogEntity): LogLine {
  return {
    ...toBotLog(row),
    id: row.id,
    botId: row.bot_id,
    eventId: row.event_id ?? undefined,
    traceId: row.trace_id ?? undefined,
  };
}

export function toBotLog(row: LogEntity): BotLog {
  return {
    timestamp: row.created_at.toISOString(),
    level: row.level,
    message: row.message,
    workflowId: row.workflow_id ?? undefined,
    userId: row.user_id ?? undefined,
    conversationId: row.conversation_id ?? undefined,
  };
}
