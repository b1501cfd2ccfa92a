import { IdColumn, PrimaryIdColumn, TimestampColumn } from '@parley/persistence/columns';
import { Column, Entity, Index } from 'typeorm';

/** A request of a bot to a model. */
@Entity('model_call')
@Index('model_call_of_bot', ['bot_id', 'id'])
@Index('model_call_of_event', ['bot_id', 'event_id', 'id'], { where: 'event_id IS NOT NULL' })
@Index('model_call_of_conversation', ['bot_id', 'conversation_id', 'id'], { where: 'conversation_id IS NOT NULL' })
@Index('model_call_created', ['created_at'])
export class ModelCallEntity {
  @PrimaryIdColumn() id!: string;
  @IdColumn() bot_id!: string;
  @IdColumn() workspace_id!: string;
  @Column('text') kind!: string;

  /** Null for a call that no provider has answered. */
  @Column({ type: 'text', nullable: true }) provider!: string | null;
  @Column({ type: 'text', nullable: true }) model!: string | null;
  @Column('text') wanted_model!: string;

  @IdColumn({ nullable: true }) conversation_id!: string | null;
  @IdColumn({ nullable: true }) event_id!: string | null;
  @IdColumn({ nullable: true }) trace_id!: string | null;
  @Column('bigint') input_tokens!: string;
  @Column('bigint') output_tokens!: string;
  @Column('bigint') cost!: string;
  @Column('boolean') is_estimated!: boolean;
  @Column('boolean') is_cached!: boolean;

  /** Number of models that failed before. */
  @Column('integer') fallbacks!: number;

  @Column('integer') latency_ms!: number;
  @Column({ type: 'integer', nullable: true }) first_token_ms!: number | null;

  /** Stop reason, or `error`. */
  @Column('text') finish!: string;
  @Column({ type: 'text', nullable: true }) error!: string | null;
  @TimestampColumn() created_at!: Date;
}
