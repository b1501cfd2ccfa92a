import { Injectable } from '@nestjs/common';
import type { Transaction } from '@parley/persistence/database';
import { WorkflowEventsService } from './workflow-events.service';
import type { WorkflowEntity } from './workflow.entity';
import { WorkflowsRepository } from './workflows.repository';

/** Event that the bot has handled. */
export interface ProcessedEvent {
  bot_id: string;
  id: string;
  type: string;
  /** Kind of a `workflow_update`. */
  update_type: string | null;
  workflow_id: string | null;
  /** Time since which the bot could handle it. */
  pending_at: Date;
}

/** A bot that handles continuations without doing anything must not be called in a loop without pauses. */
const pauseMs = 1_000;

/** Types of events that the platform itself creates for a workflow. */
const platformTypes = ['workflow_update', 'state_expired'];

/**
 * Continuations: a workflow in progress goes on when the bot has handled the event that it is bound to, and a listening
 * one when the bot has handled an event that was created for it, or the end of a child. The continuation becomes the
 * event that the workflow is bound to, so that a workflow has only one at a time, whatever is handled or replayed
 * meanwhile. A workflow whose event failed or was ignored stays as it is until the event is replayed, or until it times
 * out.
 */
@Injectable()
export class WorkflowContinuationsService {
  constructor(
    private readonly workflows: WorkflowsRepository,
    private readonly events: WorkflowEventsService,
  ) {}

  /** Call in the transaction that settled the events. */
  async continueAfter(tx: Transaction, processed: ProcessedEvent[]): Promise<void> {
    const candidates = await this.workflows.lockWorkflowsOfEvents(tx, processed);
    for (const workflow of candidates) {
      const ofBot = processed.filter(({ bot_id }) => bot_id === workflow.bot_id);
      const event =
        workflow.status === 'listening'
          ? ofBot.find((each) => each.workflow_id === workflow.id && isWaking(each))
          : ofBot.find((each) => each.id === workflow.event_id);
      if (event) await this.continue(tx, workflow, dueAfter(event));
    }
  }

  /** For a workflow that was bound to this event just now: it goes on if the bot has handled the event before. */
  async continueIfProcessed(tx: Transaction, workflow: WorkflowEntity): Promise<void> {
    if (await this.workflows.isBoundToProcessedEvent(tx, workflow))
      await this.continue(tx, workflow, new Date(Date.now() + pauseMs));
  }

  /** For a workflow that is no longer bound to its event: cancels the continuation that is not due yet. */
  async cancelScheduled(tx: Transaction, before: WorkflowEntity): Promise<void> {
    if (before.event_id !== null) await this.workflows.cancelScheduledContinuation(tx, before);
  }

  private async continue(tx: Transaction, workflow: WorkflowEntity, dueAt: Date | undefined): Promise<void> {
    const event = await this.events.createUpdate(tx, 'workflow_continued', workflow, dueAt);
    await this.workflows.bindToEvent(tx, workflow, event.id);
  }
}

function isWaking({ type, update_type }: ProcessedEvent): boolean {
  return !platformTypes.includes(type) || update_type === 'child_workflow_finished';
}

/** Undefined: at once. */
function dueAfter({ type, update_type, pending_at }: ProcessedEvent): Date | undefined {
  if (type !== 'workflow_update' || update_type !== 'workflow_continued') return undefined;
  const dueAt = pending_at.getTime() + pauseMs;
  return dueAt > Date.now() ? new Date(dueAt) : undefined;
}
