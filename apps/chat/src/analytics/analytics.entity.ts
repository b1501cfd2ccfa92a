import type { CapturedObservation } from '@parley/contracts/chat/analytics';
import type { ModelUseCounted } from '@parley/contracts/models/use';
import { IdColumn, PrimaryIdColumn } from '@parley/persistence/columns';
import { Column, Entity, Index, PrimaryColumn } from 'typeorm';

/** Observation that a bot or an integration captured. */
@Entity('observation')
@Index('observation_conversation', ['bot_id', 'conversation_id', 'id'], { where: 'conversation_id IS NOT NULL' })
@Index('observation_trace', ['bot_id', 'trace_id', 'id'], { where: 'trace_id IS NOT NULL' })
@Index('observation_created', ['created_at'])
export class ObservationEntity {
  @PrimaryIdColumn() bot_id!: string;
  @PrimaryIdColumn() id!: string;
  @IdColumn({ nullable: true }) integration_alias!: string | null;
  @IdColumn() name!: string;

  /** Id of the caller's choice. */
  @IdColumn({ nullable: true }) caller_id!: string | null;

  @Column('jsonb') data!: Record<string, unknown>;
  @IdColumn({ nullable: true }) message_id!: string | null;
  @IdColumn({ nullable: true }) event_id!: string | null;
  @IdColumn({ nullable: true }) conversation_id!: string | null;
  @IdColumn({ nullable: true }) user_id!: string | null;
  @IdColumn({ nullable: true }) error_id!: string | null;
  @IdColumn({ nullable: true }) trace_id!: string | null;
  @Column({ type: 'timestamptz', precision: 3 }) created_at!: Date;
}

export function toObservation(row: ObservationEntity): CapturedObservation {
  return {
    observationId: row.id,
    id: row.caller_id ?? undefined,
    name: row.name,
    data: row.data,
    messageId: row.message_id ?? undefined,
    eventId: row.event_id ?? undefined,
    conversationId: row.conversation_id ?? undefined,
    userId: row.user_id ?? undefined,
    errorId: row.error_id ?? undefined,
    traceId: row.trace_id ?? undefined,
    createdAt: row.created_at.toISOString(),
  };
}

/** Custom count of a bot on one day in UTC. */
@Entity('analytics_count')
@Index('analytics_count_day', ['day'])
export class AnalyticsCountEntity {
  @PrimaryIdColumn() bot_id!: string;
  @PrimaryColumn('date') day!: string;
  @PrimaryIdColumn() name!: string;

  /** `bigint`: a string. */
  @Column('bigint') count!: string;
}

export type ModelFigures = Omit<ModelUseCounted, 'botId' | 'hour'>;

/** Calls of language models of a bot in one hour. */
@Entity('model_use')
@Index('model_use_hour', ['hour'])
export class ModelUseEntity {
  @PrimaryIdColumn() bot_id!: string;

  /** Start of the hour. */
  @PrimaryColumn({ type: 'timestamptz', precision: 3 }) hour!: Date;

  /** Number of calls, which only grows: tells which figures are newer. */
  @Column('integer') calls!: number;

  @Column('jsonb') figures!: ModelFigures;
}
