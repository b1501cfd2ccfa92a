import { Injectable } from '@nestjs/common';
import type { Sql } from '@parley/database/database';
import { toConversation } from '../conversations/conversation.entity';
import { ConversationsRepository } from '../conversations/conversations.repository';
import { EventsRepository } from '../events/events.repository';
import { toUser } from '../users/user.entity';
import { UsersRepository } from '../users/users.repository';
import { hasEnded, toWorkflow, type WorkflowRow } from './workflow.entity';
import { WorkflowsRepository } from './workflows.repository';

type OwnChange = 'workflow_started' | 'workflow_timedout';
type ChildChange = 'child_workflow_finished' | 'child_workflow_deleted';

/**
 * Tells the bot what happened to its workflows: an event `workflow_update` in the transaction of the change. It shows all
 * that the bot sees, so it is none of an integration, whosever the workflow is.
 */
@Injectable()
export class WorkflowEvents {
  constructor(
    private readonly workflows: WorkflowsRepository,
    private readonly conversations: ConversationsRepository,
    private readonly users: UsersRepository,
    private readonly events: EventsRepository,
  ) {}

  tell(tx: Sql, type: OwnChange, workflow: WorkflowRow): Promise<void> {
    return this.add(tx, workflow, { type });
  }

  /** There is nobody to tell when the workflow has no parent, or one that has ended. */
  async tellParent(tx: Sql, type: ChildChange, child: WorkflowRow): Promise<void> {
    if (child.parent_workflow_id === null) return;
    const parent = await this.workflows.find({ botId: child.bot_id, alias: null }, child.parent_workflow_id, tx);
    if (!parent || hasEnded(parent)) return;
    await this.add(tx, parent, { type, childWorkflow: toWorkflow({}, child) });
  }

  private async add(tx: Sql, workflow: WorkflowRow, told: { type: string; childWorkflow?: object }): Promise<void> {
    const { bot_id, conversation_id, user_id } = workflow;
    const scope = { botId: bot_id, alias: null };
    const conversation = conversation_id && (await this.conversations.find(scope, conversation_id, tx));
    const user = user_id && (await this.users.find(scope, user_id, tx));
    await this.events.add(tx, [
      {
        bot_id,
        type: 'workflow_update',
        payload: {
          ...told,
          workflow: toWorkflow({}, workflow),
          conversation: conversation ? toConversation({}, conversation) : undefined,
          user: user ? toUser({}, user) : undefined,
        },
        // What is told of a conversation that is gone would never be erased with it.
        conversation_id: conversation ? conversation_id : null,
        user_id,
        workflow_id: workflow.id,
      },
    ]);
  }
}
