import type { BotCaller } from '@parley/contracts/access';
import { finishedStatuses, type Workflow, type WorkflowStatus } from '@parley/contracts/chat/workflows';
import { shownNames } from '../runtime/scope';

export interface WorkflowRow {
  bot_id: string;
  id: string;
  name: string;
  status: WorkflowStatus;
  input: Record<string, unknown>;
  output: Record<string, unknown>;
  integration_alias: string | null;
  parent_workflow_id: string | null;
  conversation_id: string | null;
  user_id: string | null;
  event_id: string | null;
  failure_reason: string | null;
  tags: Record<string, string>;
  timeout_at: Date;
  completed_at: Date | null;
  created_at: Date;
  updated_at: Date;
}

export function hasEnded({ status }: Pick<WorkflowRow, 'status'>): boolean {
  return (finishedStatuses as readonly string[]).includes(status);
}

export function toWorkflow(caller: Pick<BotCaller, 'integration'>, row: WorkflowRow): Workflow {
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
