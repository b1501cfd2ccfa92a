import type { ActionRun } from '@parley/contracts/runtime/actions';
import { IdColumn, PrimaryIdColumn } from '@parley/persistence/columns';
import { Column, Entity, Index } from 'typeorm';

/** Call of an action. */
@Entity('action_run')
@Index('action_run_of_bot', ['bot_id', 'created_at', 'id'])
@Index('action_run_of_integration', ['bot_id', 'integration_name', 'created_at', 'id'], {
  where: 'integration_name IS NOT NULL',
})
@Index('action_run_created', ['created_at'])
export class ActionRunEntity {
  @PrimaryIdColumn() bot_id!: string;
  @PrimaryIdColumn() id!: string;

  /** Null for an action of the bot or of its plugins. */
  @IdColumn({ nullable: true }) integration_name!: string | null;

  @Column('text') type!: string;
  @Column('jsonb') input!: Record<string, unknown>;
  @Column('boolean') input_truncated!: boolean;

  /** Null for a failure. */
  @Column('jsonb', { nullable: true }) output!: Record<string, unknown> | null;

  @Column('boolean') output_truncated!: boolean;
  @Column('integer') duration_ms!: number;

  /** Null for a success. */
  @Column('text', { nullable: true }) error!: string | null;

  @Column({ type: 'timestamptz', precision: 3 }) created_at!: Date;
}

export function toActionRun(row: ActionRunEntity): ActionRun {
  return {
    timestamp: row.created_at.toISOString(),
    integrationName: row.integration_name ?? undefined,
    actionType: row.type,
    input: row.input,
    inputTruncated: row.input_truncated,
    output: row.output,
    outputTruncated: row.output_truncated,
    status: row.error === null ? 'SUCCESS' : 'FAILURE',
    durationMs: row.duration_ms,
    cached: false,
    errorMessage: row.error,
  };
}
