import type { BotCaller } from '@parley/contracts/access';
import type { WorkflowCell } from '@parley/contracts/tables/computations';
import { finishedStatuses, type Workflow, type WorkflowStatus } from '@parley/contracts/chat/workflows';
import { IdColumn, PrimaryIdColumn } from '@parley/persistence/columns';
import { Check, Column, Entity, Index } from 'typeorm';
import { shownNames } from '../queries/scope';

const isActive = `status IN ('pending', 'in_progress', 'listening', 'paused')`;

/** Run of a workflow. */
@Entity('workflow')
@Check(
  'workflow_status_check',
  `status IN ('pending', 'in_progress', 'listening', 'paused', 'completed', 'failed', 'timedout', 'cancelled')`,
)
@Index('workflow_created', ['bot_id', 'created_at', 'id'])
@Index('workflow_name', ['bot_id', 'name', 'created_at', 'id'])
@Index('workflow_status', ['bot_id', 'status', 'created_at', 'id'])
@Index('workflow_integration', ['bot_id', 'integration_alias', 'created_at', 'id'], {
  where: 'integration_alias IS NOT NULL',
})
@Index('workflow_conversation', ['bot_id', 'conversation_id', 'created_at', 'id'], {
  where: 'conversation_id IS NOT NULL',
})
@Index('workflow_user', ['bot_id', 'user_id', 'created_at', 'id'], { where: 'user_id IS NOT NULL' })
@Index('workflow_parent', ['bot_id', 'parent_workflow_id', 'created_at', 'id'], {
  where: 'parent_workflow_id IS NOT NULL',
})
@Index('workflow_timeout', ['timeout_at'], { where: isActive })
@Index('workflow_active', ['bot_id', 'name', 'created_at', 'id'], { where: isActive })
@Index('workflow_active_of_conversation', ['bot_id', 'conversation_id', 'created_at', 'id'], {
  where: `${isActive} AND conversation_id IS NOT NULL`,
})
@Index('workflow_bound', ['bot_id', 'event_id'], { where: `status = 'in_progress'` })
export class WorkflowEntity {
  @PrimaryIdColumn() bot_id!: string;
  @PrimaryIdColumn() id!: string;
  @IdColumn() name!: string;
  @IdColumn() status!: WorkflowStatus;
  @Column('jsonb') input!: Record<string, unknown>;
  @Column('jsonb') output!: Record<string, unknown>;
  @IdColumn({ nullable: true }) integration_alias!: string | null;
  @IdColumn({ nullable: true }) parent_workflow_id!: string | null;
  @IdColumn({ nullable: true }) conversation_id!: string | null;
  @IdColumn({ nullable: true }) user_id!: string | null;
  @IdColumn({ nullable: true }) event_id!: string | null;
  @Column('text', { nullable: true }) failure_reason!: string | null;
  @Column('jsonb') tags!: Record<string, string>;
  /** Cell of a table that gets the output. */
  @Column('jsonb', { nullable: true }) cell!: WorkflowCell | null;

  @Column({ type: 'timestamptz', precision: 3 }) timeout_at!: Date;
  @Column({ type: 'timestamptz', precision: 3, nullable: true }) completed_at!: Date | null;
  @Column({ type: 'timestamptz', precision: 3 }) created_at!: Date;
  @Column({ type: 'timestamptz', precision: 3 }) updated_at!: Date;
}

export function hasEnded({ status }: Pick<WorkflowEntity, 'status'>): boolean {
  return (finishedStatuses as readonly string[]).includes(status);
}

export function toWorkflow(caller: Pick<BotCaller, 'integration'>, row: WorkflowEntity): Workflow {
  return {
    id: row.id,
    name: row.name,
    status: row.status,
    input: row.input,
    output: row.output,
    parentWorkflowId: row.parent_workflow_id ?? undefined,
    conversationId: row.conversation_id ?? undefined,
    userId: row.user_id ?? undefined,
    createdAt: row.created_at.toISOString(),
    updatedAt: row.updated_at.toISOString(),
    completedAt: row.completed_at?.toISOString(),
    failureReason: row.failure_reason ?? undefined,
    timeoutAt: row.timeout_at.toISOString(),
    tags: shownNames(caller, row.tags),
  };
}
