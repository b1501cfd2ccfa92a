import { isDeepStrictEqual } from 'node:util';
import { Injectable } from '@nestjs/common';
import type { BotCaller } from '@parley/contracts/access';
import { maxTags } from '@parley/contracts/chat/chat-fields';
import {
  type CreateWorkflow,
  type GetOrCreateWorkflow,
  type GottenOrCreatedWorkflow,
  type ListWorkflows,
  type UpdateWorkflow,
  type WorkflowId,
  type WorkflowReply,
  type Workflows,
  workflows,
} from '@parley/contracts/chat/workflows';
import { ApiError, notFound } from '@parley/contracts/errors';
import { Database, type Transaction } from '@parley/persistence/database';
import { Idempotency } from '@parley/persistence/idempotency';
import { aliasOf, scopeOf, storedNames } from '../queries/scope';
import { discriminatingTags, lockTags, mergedTags } from '../tags/object-tags';
import { TagsRepository } from '../tags/tags.repository';
import { ColumnWorkflowsService } from './column-workflows.service';
import { EndedWorkflowsService } from './ended-workflows.service';
import { WorkflowContinuationsService } from './workflow-continuations.service';
import { WorkflowReferencesService } from './workflow-references.service';
import { WorkflowEventsService } from './workflow-events.service';
import { hasEnded, toWorkflow, type WorkflowEntity } from './workflow.entity';
import { WorkflowsRepository } from './workflows.repository';

@Injectable()
export class WorkflowsService {
  constructor(
    private readonly database: Database,
    private readonly idempotency: Idempotency,
    private readonly workflows: WorkflowsRepository,
    private readonly tags: TagsRepository,
    private readonly references: WorkflowReferencesService,
    private readonly events: WorkflowEventsService,
    private readonly ended: EndedWorkflowsService,
    private readonly continuations: WorkflowContinuationsService,
    private readonly columns: ColumnWorkflowsService,
  ) {}

  create(caller: BotCaller, input: CreateWorkflow): Promise<WorkflowReply> {
    return this.idempotency.run(caller, workflows.create, input, async (tx) => ({
      workflow: toWorkflow(caller, await this.insert(tx, caller, input)),
    }));
  }

  getOrCreate(caller: BotCaller, input: GetOrCreateWorkflow): Promise<GottenOrCreatedWorkflow> {
    const scope = scopeOf(caller);
    const { name, conversationId, userId, parentWorkflowId, discriminateByTags, discriminateByStatusGroup } = input;
    const tags = storedNames(caller, discriminatingTags({ tags: input.tags ?? {}, discriminateByTags }));
    const isFiltered = Object.keys(tags).length > 0 || discriminateByStatusGroup !== undefined;
    const filter = {
      name,
      conversation_id: conversationId,
      user_id: userId,
      parent_workflow_id: parentWorkflowId,
      tags,
      group: discriminateByStatusGroup,
    };
    return this.idempotency.run(caller, workflows.getOrCreate, input, async (tx) => {
      if (isFiltered) await lockTags(tx, ['workflow', scope.botId, scope.alias, name], tags);
      const found = isFiltered ? await this.workflows.findOldestWorkflow(tx, scope, filter) : undefined;
      const row = found ?? (await this.insert(tx, caller, input));
      return { workflow: toWorkflow(caller, row), meta: { created: !found } };
    });
  }

  async get(caller: BotCaller, { id }: WorkflowId): Promise<WorkflowReply> {
    const row = await this.workflows.findWorkflowById(scopeOf(caller), id);
    if (!row) throw notFound('workflow', id);
    return { workflow: toWorkflow(caller, row) };
  }

  async list(caller: BotCaller, query: ListWorkflows): Promise<Workflows> {
    const tags = query.tags && storedNames(caller, query.tags);
    const { rows, nextToken } = await this.workflows.listWorkflows(scopeOf(caller), { ...query, tags });
    return { workflows: rows.map((row) => toWorkflow(caller, row)), meta: { nextToken } };
  }

  /** Idempotent: values that the workflow already has are no change, so a repeated update succeeds. */
  async update(caller: BotCaller, { id, ...changes }: UpdateWorkflow): Promise<WorkflowReply> {
    return this.database.transaction(async (tx) => {
      const before = await this.lock(tx, caller, id);
      const { status = before.status } = changes;
      if (hasEnded(before)) refuseChanges(before, changes);
      await this.references.requireReferences(tx, caller, changes);
      const after = await this.workflows.updateWorkflow(tx, {
        ...before,
        status,
        output: changes.output ?? before.output,
        user_id: changes.userId ?? before.user_id,
        event_id: changes.eventId ?? before.event_id,
        failure_reason: changes.failureReason ?? before.failure_reason,
        timeout_at: hasEnded(before) ? before.timeout_at : (futureTime(changes.timeoutAt) ?? before.timeout_at),
        tags: changes.tags ? mergedTags(before.tags, storedNames(caller, changes.tags), maxTags) : before.tags,
      });
      await this.tags.replaceTags(tx, 'workflow', after, before.tags, after.tags);
      if (hasEnded(after) && !hasEnded(before)) await this.ended.followUp(tx, after);
      if (after.status !== before.status || after.event_id !== before.event_id) {
        await this.continuations.cancelScheduled(tx, before);
        await this.continuations.continueIfProcessed(tx, after);
      }
      return { workflow: toWorkflow(caller, after) };
    });
  }

  async delete(caller: BotCaller, { id }: WorkflowId): Promise<object> {
    return this.database.transaction(async (tx) => {
      const row = await this.lock(tx, caller, id);
      await this.continuations.cancelScheduled(tx, row);
      await this.workflows.deleteWorkflow(tx, row);
      await this.tags.removeTags(tx, 'workflow', row, row.tags);
      await this.events.createUpdateOfParent(tx, 'child_workflow_deleted', row);
      if (!hasEnded(row)) await this.columns.announceFailure(tx, row, `The workflow "${row.name}" was deleted.`);
      if (row.conversation_id !== null) await this.workflows.makeAnotherCurrent(tx, row);
      return {};
    });
  }

  private async insert(tx: Transaction, caller: BotCaller, input: CreateWorkflow): Promise<WorkflowEntity> {
    await this.references.requireReferences(tx, caller, input);
    const row = await this.workflows.insertWorkflow(tx, {
      bot_id: caller.bot.id,
      name: input.name,
      status: input.status,
      input: input.input ?? {},
      integration_alias: aliasOf(caller),
      parent_workflow_id: input.parentWorkflowId ?? null,
      conversation_id: input.conversationId ?? null,
      user_id: input.userId ?? null,
      event_id: input.eventId ?? null,
      tags: mergedTags({}, storedNames(caller, input.tags ?? {}), maxTags),
      timeout_at: futureTime(input.timeoutAt) ?? null,
    });
    if (row.conversation_id !== null) await this.workflows.makeCurrent(tx, row);
    if (row.status === 'pending') await this.events.createUpdate(tx, 'workflow_started', row);
    await this.continuations.continueIfProcessed(tx, row);
    return row;
  }

  private async lock(tx: Transaction, caller: BotCaller, id: string): Promise<WorkflowEntity> {
    const row = await this.workflows.lockWorkflow(tx, scopeOf(caller), id);
    if (!row) throw notFound('workflow', id);
    return row;
  }
}

/** Throws RelationConflict if the update would change how the workflow ended. */
function refuseChanges(ended: WorkflowEntity, { status, output, timeoutAt }: Omit<UpdateWorkflow, 'id'>): void {
  const refuse = (change: string) =>
    new ApiError('RelationConflict', `${change}: workflow "${ended.id}" has ended with status ${ended.status}.`);
  if (status !== undefined && status !== ended.status) throw refuse(`status can no longer be ${status}`);
  if (output !== undefined && !isDeepStrictEqual(output, ended.output)) throw refuse('output can no longer change');
  if (timeoutAt !== undefined && Date.parse(timeoutAt) !== ended.timeout_at.getTime())
    throw refuse('timeoutAt can no longer change');
}

function futureTime(timeoutAt: string | undefined): Date | undefined {
  const time = timeoutAt === undefined ? undefined : new Date(timeoutAt);
  if (time && !(time.getTime() > Date.now()))
    throw new ApiError('InvalidPayload', 'timeoutAt must be a time in the future.');
  if (time && time.getUTCFullYear() > 9999)
    throw new ApiError('InvalidPayload', 'timeoutAt must be before the year 10000 in UTC.');
  return time;
}
