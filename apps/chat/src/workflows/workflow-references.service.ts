import { Injectable } from '@nestjs/common';
import type { BotCaller } from '@parley/contracts/access';
import type { CreateWorkflow } from '@parley/contracts/chat/workflows';
import { ApiError } from '@parley/contracts/errors';
import type { Sql } from '@parley/persistence/database';
import { scopeOf } from '../queries/scope';
import { ConversationsRepository } from '../conversations/conversations.repository';
import { EventsRepository } from '../events/events.repository';
import { UsersRepository } from '../users/users.repository';
import { WorkflowsRepository } from './workflows.repository';

type References = Partial<Pick<CreateWorkflow, 'conversationId' | 'userId' | 'parentWorkflowId' | 'eventId'>>;

/** Checks the objects that a workflow refers to. */
@Injectable()
export class WorkflowReferencesService {
  constructor(
    private readonly conversations: ConversationsRepository,
    private readonly users: UsersRepository,
    private readonly workflows: WorkflowsRepository,
    private readonly events: EventsRepository,
  ) {}

  /**
   * Throws ReferenceNotFound for objects that the caller cannot access, and InvalidPayload for status in_progress
   * without eventId.
   */
  async requireReferences(tx: Sql, caller: BotCaller, input: References & { status?: string }): Promise<void> {
    const { status, conversationId, userId, parentWorkflowId, eventId } = input;
    if (status === 'in_progress' && eventId === undefined)
      throw new ApiError('InvalidPayload', 'eventId is required when status is in_progress.');
    const scope = scopeOf(caller);
    const requireReference = async (
      field: string,
      id: string | undefined,
      kind: string,
      find: (id: string) => Promise<unknown>,
    ) => {
      if (id !== undefined && !(await find(id)))
        throw new ApiError('ReferenceNotFound', `${field} "${id}" is not ${kind} of this bot.`);
    };
    await requireReference('conversationId', conversationId, 'a conversation', (id) =>
      this.conversations.findConversationById(scope, id, tx),
    );
    await requireReference('userId', userId, 'a user', (id) => this.users.findUserById(scope, id, tx));
    await requireReference('parentWorkflowId', parentWorkflowId, 'a workflow', (id) =>
      this.workflows.findWorkflowById(scope, id, tx),
    );
    await requireReference('eventId', eventId, 'an event', (id) => this.events.findEventById(scope, id));
  }
}
