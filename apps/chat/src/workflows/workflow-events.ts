import { Injectable } from '@nestjs/common';
import type { Sql } from '@parley/persistence/database';
import { toConversation } from '../conversations/conversation.entity';
import { ConversationsRepository } from '../conversations/conversations.repository';
import { EventsRepository } from '../events/events.repository';
import { toUser } from '../users/user.entity';
import { UsersRepository } from '../users/users.repository';
import { hasEnded, toWorkflow, type WorkflowEntity } from './workflow.entity';
import { WorkflowsRepository } from './workflows.repository';

type OwnChange = 'workflow_started' | 'workflow_timedout';
type ChildChange = 'child_workflow_finished' | 'child_workflow_deleted';

/**
 * Creates a `workflow_update` event for the bot in the transaction of the change. Its payload contains everything that
 * the bot may see, so the event belongs to no integration, even for a workflow of one.
 */
@Injectable()
export class WorkflowEvents {
  constructor(
    private readonly workflows: WorkflowsRepository,
    private readonly conversations: ConversationsRepository,
    private readonly users: UsersRepository,
    private readonly events: EventsRepository,
  ) {}

  tell(tx: Sql, type: OwnChange, workflow: WorkflowEntity): Promise<void> {
    return this.add(tx, workflow, { type });
  }

  /** Does nothing without a parent, or if the parent has ended. */
  async tellParent(tx: Sql, type: ChildChange, child: WorkflowEntity): Promise<void> {
    if (child.parent_workflow_id === null) return;
    const parent = await this.workflows.find({ botId: child.bot_id, alias: null }, child.parent_workflow_id, tx);
    if (!parent || hasEnded(parent)) return;
    await this.add(tx, parent, { type, childWorkflow: toWorkflow({}, child) });
  }

  private async add(tx: Sql, workflow: WorkflowEntity, told: { type: string; childWorkflow?: object }): Promise<void> {
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
        // Events of a deleted conversation would never be erased with it.
        conversation_id: conversation ? conversation_id : null,
        user_id,
        workflow_id: workflow.id,
      },
    ]);
  }
}
