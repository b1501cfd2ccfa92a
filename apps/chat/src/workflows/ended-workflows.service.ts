import { Injectable } from '@nestjs/common';
import { Database, type Transaction } from '@parley/persistence/database';
import { WhenDue } from '@parley/work-queue/worker';
import { ChatConfig } from '../config';
import { ColumnWorkflowsService } from './column-workflows.service';
import { WorkflowContinuationsService } from './workflow-continuations.service';
import { WorkflowEventsService } from './workflow-events.service';
import type { WorkflowEntity } from './workflow.entity';
import { lateWorkflows, WorkflowsRepository } from './workflows.repository';

const workflowsAtOnce = 20;

/**
 * Follow-up of ended workflows, and timeouts. The change and its events share one transaction: each event is created
 * exactly once.
 */
@Injectable()
export class EndedWorkflowsService {
  constructor(
    private readonly database: Database,
    private readonly workflows: WorkflowsRepository,
    private readonly events: WorkflowEventsService,
    private readonly continuations: WorkflowContinuationsService,
    private readonly columns: ColumnWorkflowsService,
    private readonly config: ChatConfig,
  ) {}

  /** Call in the transaction that ended the workflow. */
  async followUp(tx: Transaction, workflow: WorkflowEntity): Promise<void> {
    await this.events.createUpdateOfParent(tx, 'child_workflow_finished', workflow);
    await this.columns.announceOutcome(tx, workflow);
    if (workflow.conversation_id !== null) await this.workflows.makeAnotherCurrent(tx, workflow);
  }

  /** Ends workflows whose timeout has passed. Safe to run in several processes. */
  @WhenDue<EndedWorkflowsService>({
    name: 'chat.workflowTimeouts',
    rows: lateWorkflows,
    everyMs: ({ config }) => config.sweepIntervalMs,
  })
  timeOut(): Promise<boolean> {
    return this.database.transaction(async (tx) => {
      const late = await this.workflows.timeOutWorkflows(tx, workflowsAtOnce);
      // Lock order of conversations, to avoid deadlocks between processes.
      late.sort((a, b) => ((a.conversation_id ?? '') < (b.conversation_id ?? '') ? -1 : 1));
      for (const workflow of late) {
        await this.continuations.cancelScheduled(tx, workflow);
        await this.events.createUpdate(tx, 'workflow_timedout', workflow);
        await this.followUp(tx, workflow);
      }
      return late.length === workflowsAtOnce;
    });
  }
}
