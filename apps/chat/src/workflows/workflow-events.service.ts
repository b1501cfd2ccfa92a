import { Injectable } from '@nestjs/common';
import type { Transaction } from '@parley/persistence/database';
import { BackgroundTasks } from '@parley/work-queue/background-tasks.service';
import { toConversation } from '../conversations/conversation.entity';
import { ConversationsRepository } from '../conversations/conversations.repository';
import type { EventEntity } from '../events/event.entity';
import { EventsRepository } from '../events/events.repository';
import { dueEvents } from '../events/events.service';
import { toUser } from '../users/user.entity';
import { UsersRepository } from '../users/users.repository';
import { hasEnded, toWorkflow, type WorkflowEntity } from './workflow.entity';
import { WorkflowsRepository } from './workflows.repository';

type OwnChange = 'workflow_started' | 'workflow_continued' | 'workflow_timedout';
type ChildChange = 'child_workflow_finished' | 'child_workflow_deleted';

/**
 * Creates a `workflow_update` event for the bot in the transaction of the change. Its payload contains everything that
 * the bot may see, so the event belongs to no integration, even for a workflow of one.
 */
@Injectable()
export class WorkflowEventsService {
  constructor(
    private readonly workflows: WorkflowsRepository,
    private readonly conversations: ConversationsRepository,
    private readonly users: UsersRepository,
    private readonly events: EventsRepository,
    private readonly tasks: BackgroundTasks,
  ) {}

  /** @param dueAt for a scheduled event */
  createUpdate(tx: Transaction, type: OwnChange, workflow: WorkflowEntity, dueAt?: Date): Promise<EventEntity> {
    return this.insertEvent(tx, workflow, { type }, dueAt);
  }

  /** Does nothing without a parent, or if the parent has ended. */
  async createUpdateOfParent(tx: Transaction, type: ChildChange, child: WorkflowEntity): Promise<void> {
    if (child.parent_workflow_id === null) return;
    const parent = await this.workflows.findWorkflowById(
      { botId: child.bot_id, alias: null },
      child.parent_workflow_id,
      tx,
    );
    if (!parent || hasEnded(parent)) return;
    await this.insertEvent(tx, parent, { type, childWorkflow: toWorkflow({}, child) });
  }

  private async insertEvent(
    tx: Transaction,
    workflow: WorkflowEntity,
    change: { type: string; childWorkflow?: object },
    dueAt?: Date,
  ): Promise<EventEntity> {
    const { bot_id, conversation_id, user_id } = workflow;
    const scope = { botId: bot_id, alias: null };
    const conversation = conversation_id && (await this.conversations.findConversationById(scope, conversation_id, tx));
    const user = user_id && (await this.users.findUserById(scope, user_id, tx));
    const [event] = await this.events.insertEvents(tx, [
      {
        bot_id,
        type: 'workflow_update',
        payload: {
          ...change,
          workflow: toWorkflow({}, workflow),
          conversation: conversation ? toConversation({}, conversation) : undefined,
          user: user ? toUser({}, user) : undefined,
        },
        // Events of a deleted conversation would never be erased with it, and those of a deleted user never delivered.
        conversation_id: conversation ? conversation_id : null,
        user_id: user ? user_id : null,
        workflow_id: workflow.id,
        due_at: dueAt ?? null,
      },
    ]);
    if (dueAt) tx.afterCommit(() => this.tasks.wake(dueEvents, dueAt.getTime() - Date.now()));
    return event!;
  }
}
