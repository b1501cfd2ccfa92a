import { Injectable } from '@nestjs/common';
import {
  activeStatuses,
  finishedStatuses,
  type ListWorkflows,
  type StatusGroup,
} from '@parley/contracts/chat/workflows';
import { Database, type Sql } from '@parley/persistence/database';
import { newId, timeOfId } from '@parley/persistence/ids';
import { pageSize } from '@parley/persistence/keyset';
import { toJsonb } from '@parley/persistence/storable';
import { lockNext } from '@parley/persistence/lock-next';
import { BoundedReadsService } from '../queries/bounded-reads.service';
import { givenColumns, newestFirst, toEquality } from '../queries/list-statements';
import { taggedRows } from '../tags/tagged-rows';
import { tagRowsOf } from '../tags/tags.repository';
import { inScope, isOf, type Scope } from '../queries/scope';
import { ConversationEntity } from '../conversations/conversation.entity';
import type { DueRows } from '@parley/persistence/due-rows';
import type { WorkflowEntity } from './workflow.entity';

/** `timeout_at` null: one day from now. */
export type NewWorkflow = Pick<
  WorkflowEntity,
  | 'bot_id'
  | 'name'
  | 'status'
  | 'input'
  | 'integration_alias'
  | 'parent_workflow_id'
  | 'conversation_id'
  | 'user_id'
  | 'event_id'
  | 'tags'
> & { timeout_at: Date | null; cell?: WorkflowEntity['cell'] };

export interface WorkflowFilter {
  name: string;
  conversation_id?: string;
  user_id?: string;
  parent_workflow_id?: string;
  tags: Record<string, string>;
  group?: StatusGroup;
}

const narrowing = 'Filter by a tag that few workflows have, or use fewer filters.';
const isActive = `status IN ('${activeStatuses.join("', '")}')`;

/** Index workflow_timeout. */
export const lateWorkflows: DueRows = { table: 'workflow', time: 'timeout_at', where: isActive };

@Injectable()
export class WorkflowsRepository {
  constructor(
    private readonly database: Database,
    private readonly bounded: BoundedReadsService,
  ) {}

  async insertWorkflow(tx: Sql, workflow: NewWorkflow): Promise<WorkflowEntity> {
    const id = newId('wrkflow');
    const [row] = await tx.query<WorkflowEntity>(
      `WITH made AS (
         INSERT INTO workflow (bot_id, id, name, status, input, output, integration_alias, parent_workflow_id,
           conversation_id, user_id, event_id, tags, timeout_at, created_at, updated_at, cell)
         VALUES ($1, $2, $3, $4, $5, '{}', $6, $7, $8, $9, $10, $11, coalesce($12, now() + interval '1 day'), $13, $13, $14)
         RETURNING *),
       tags AS (${tagRowsOf('workflow', 'made')})
       SELECT * FROM made`,
      [
        workflow.bot_id,
        id,
        workflow.name,
        workflow.status,
        toJsonb(workflow.input),
        workflow.integration_alias,
        workflow.parent_workflow_id,
        workflow.conversation_id,
        workflow.user_id,
        workflow.event_id,
        toJsonb(workflow.tags),
        workflow.timeout_at,
        timeOfId(id),
        workflow.cell ? toJsonb(workflow.cell) : null,
      ],
    );
    return row!;
  }

  async findWorkflowById(
    { botId, alias }: Scope,
    id: string,
    sql: Sql = this.database,
  ): Promise<WorkflowEntity | undefined> {
    const [row] = await sql.query<WorkflowEntity>(
      `SELECT * FROM workflow WHERE bot_id = $1 AND ${isOf('$2')} AND id = $3`,
      [botId, alias, id],
    );
    return row;
  }

  /** Oldest workflow that matches. Index workflow_name or workflow_active, or tag_place if tags are given. */
  async findOldestWorkflow(
    tx: Sql,
    { botId, alias }: Scope,
    filter: WorkflowFilter,
  ): Promise<WorkflowEntity | undefined> {
    const { tags, group, ...columns } = filter;
    const values: unknown[] = [botId, alias];
    const conditions = givenColumns(columns, values).map(toEquality);
    if (group)
      conditions.push(`w.status = ANY ($${values.push(group === 'active' ? activeStatuses : finishedStatuses)})`);
    const rows = `SELECT * FROM workflow w WHERE ${inScope} AND ${conditions.join(' AND ')}`;
    const { from, time, id } = await taggedRows(tx, { kind: 'workflow', as: 'w', rows, tags }, values);
    const [row] = await tx.query<WorkflowEntity>(`SELECT w.* FROM ${from} ORDER BY ${time}, ${id} LIMIT 1`, values);
    return row;
  }

  async lockWorkflow(tx: Sql, { botId, alias }: Scope, id: string): Promise<WorkflowEntity | undefined> {
    const [row] = await tx.query<WorkflowEntity>(
      `SELECT * FROM workflow WHERE bot_id = $1 AND ${isOf('$2')} AND id = $3 FOR UPDATE`,
      [botId, alias, id],
    );
    return row;
  }

  /**
   * Locks the workflows in progress that are bound to these events, and the listening ones that these events belong to.
   * After waiting for a lock it may return one that changed meanwhile. Index workflow_bound, then the primary key.
   */
  async lockWorkflowsOfEvents(
    tx: Sql,
    events: { bot_id: string; id: string; workflow_id: string | null }[],
  ): Promise<WorkflowEntity[]> {
    return tx.query<WorkflowEntity>(
      `WITH settled AS MATERIALIZED (
         SELECT * FROM jsonb_to_recordset($1) AS settled (bot_id text, id text, workflow_id text)),
       found AS MATERIALIZED (
         SELECT bound.* FROM settled CROSS JOIN LATERAL (
           SELECT bot_id, id FROM workflow
           WHERE bot_id = settled.bot_id AND event_id = settled.id AND status = 'in_progress' OFFSET 0) AS bound
         UNION
         SELECT asleep.* FROM settled CROSS JOIN LATERAL (
           SELECT bot_id, id FROM workflow
           WHERE bot_id = settled.bot_id AND id = settled.workflow_id AND (status = 'listening') IS TRUE OFFSET 0) AS asleep)
       SELECT locked.* FROM (SELECT * FROM found ORDER BY bot_id, id) AS next CROSS JOIN LATERAL (
         SELECT * FROM workflow
         WHERE bot_id = next.bot_id AND id = next.id AND (status IN ('in_progress', 'listening')) IS TRUE
         OFFSET 0 FOR UPDATE) AS locked`,
      [toJsonb(events.map(({ bot_id, id, workflow_id }) => ({ bot_id, id, workflow_id })))],
      'lockWorkflowsOfEvents',
    );
  }

  /** Index: the primary key of events. */
  async isBoundToProcessedEvent(tx: Sql, { bot_id, event_id, status }: WorkflowEntity): Promise<boolean> {
    if (status !== 'in_progress') return false;
    const rows = await tx.query(`SELECT 1 FROM event WHERE bot_id = $1 AND id = $2 AND status = 'processed'`, [
      bot_id,
      event_id,
    ]);
    return rows.length > 0;
  }

  /** Requires the row lock. */
  async bindToEvent(tx: Sql, { bot_id, id }: WorkflowEntity, eventId: string): Promise<void> {
    await tx.query('UPDATE workflow SET event_id = $3 WHERE bot_id = $1 AND id = $2', [bot_id, id, eventId]);
  }

  /** Does nothing for a workflow that is bound to another kind of event. Index: the primary key of events. */
  async cancelScheduledContinuation(tx: Sql, { bot_id, id, event_id }: WorkflowEntity): Promise<void> {
    await tx.query(
      `UPDATE event SET status = 'canceled', due_at = least(due_at, now())
       WHERE bot_id = $1 AND id = $2 AND status = 'scheduled' AND type = 'workflow_update' AND workflow_id = $3`,
      [bot_id, event_id, id],
    );
  }

  /**
   * Requires the row lock. Sets `completed_at` when the workflow ends. Tag rows are updated separately, by
   * TagsRepository.
   */
  async updateWorkflow(tx: Sql, workflow: WorkflowEntity): Promise<WorkflowEntity> {
    const [row] = await tx.query<WorkflowEntity>(
      `UPDATE workflow SET status = $3, output = $4, user_id = $5, event_id = $6, failure_reason = $7, tags = $8,
         timeout_at = $9, completed_at = CASE WHEN $3 = ANY ($10) THEN coalesce(completed_at, now()) END,
         updated_at = greatest(now(), updated_at + interval '1 millisecond')
       WHERE bot_id = $1 AND id = $2 RETURNING *`,
      [
        workflow.bot_id,
        workflow.id,
        workflow.status,
        toJsonb(workflow.output),
        workflow.user_id,
        workflow.event_id,
        workflow.failure_reason,
        toJsonb(workflow.tags),
        workflow.timeout_at,
        finishedStatuses,
      ],
    );
    return row!;
  }

  /** Requires the row lock. Also deletes the states of the workflow. */
  async deleteWorkflow(tx: Sql, { bot_id, id }: WorkflowEntity): Promise<void> {
    await tx.query(
      `WITH states AS (DELETE FROM state WHERE bot_id = $1 AND type = 'workflow' AND owner_id = $2)
       DELETE FROM workflow WHERE bot_id = $1 AND id = $2`,
      [bot_id, id],
    );
  }

  /** Ends workflows whose timeout has passed, skipping locked rows. Index workflow_timeout. */
  async timeOutWorkflows(tx: Sql, limit: number): Promise<WorkflowEntity[]> {
    return tx.query<WorkflowEntity>(
      `WITH late AS MATERIALIZED (
         ${lockNext({
           table: 'workflow',
           columns: 'bot_id, id',
           where: `${isActive} AND timeout_at <= now()`,
           orderBy: 'timeout_at',
           limit: '$1',
         })})
       UPDATE workflow SET status = 'timedout', completed_at = now(),
         updated_at = greatest(now(), updated_at + interval '1 millisecond')
       FROM late WHERE workflow.bot_id = late.bot_id AND workflow.id = late.id
       RETURNING workflow.*`,
      [limit],
    );
  }

  /** Makes it the current workflow of its conversation. The row lock orders concurrent calls: the last one wins. */
  async makeCurrent(tx: Sql, { bot_id, conversation_id, id }: WorkflowEntity): Promise<void> {
    await tx.manager.update(ConversationEntity, { bot_id, id: conversation_id! }, { current_workflow_id: id });
  }

  /**
   * If this workflow is the current one, replaces it by the newest active workflow of the conversation. Locks the
   * conversation in a statement of its own: only a later statement has a snapshot with concurrent changes. Index
   * workflow_active_of_conversation.
   */
  async makeAnotherCurrent(tx: Sql, { bot_id, conversation_id, id }: WorkflowEntity): Promise<void> {
    await tx.query('SELECT 1 FROM conversation WHERE bot_id = $1 AND id = $2 FOR NO KEY UPDATE', [
      bot_id,
      conversation_id,
    ]);
    await tx.query(
      `UPDATE conversation SET current_workflow_id = (
         SELECT id FROM workflow WHERE bot_id = $1 AND conversation_id = $2 AND id <> $3 AND ${isActive}
         ORDER BY created_at DESC, id DESC LIMIT 1)
       WHERE bot_id = $1 AND id = $2 AND current_workflow_id = $3`,
      [bot_id, conversation_id, id],
    );
  }

  /**
   * Indexes workflow_conversation, workflow_user, workflow_parent, workflow_name, workflow_status, workflow_integration
   * or workflow_created; tag_place if tags are given.
   */
  async listWorkflows(
    { botId, alias }: Scope,
    query: ListWorkflows,
  ): Promise<{ rows: WorkflowEntity[]; nextToken?: string }> {
    const { conversationId, userId, parentWorkflowId, name, statuses, tags } = query;
    const columns = {
      integration_alias: alias ?? undefined,
      conversation_id: conversationId,
      user_id: userId,
      parent_workflow_id: parentWorkflowId,
      name,
    };
    const limit = pageSize(query);
    const boundTo = [botId, columns, statuses, tags];
    const values: unknown[] = [botId];
    const given = givenColumns(columns, values);
    const status = statuses && `$${values.push([...new Set(statuses)])}::text[]`;
    const isServed = !tags && given.length + (status ? 1 : 0) <= 1;
    // Reads one page per status from the index and merges them, since the index is not sorted across statuses.
    const isByStatus = isServed && status !== undefined;
    const leading = isByStatus ? { sql: 'w.status', value: 'one_status' } : given[0];
    const conditions = ['w.bot_id = $1', ...(isServed ? [] : given.map(toEquality))];
    if (status && !isByStatus) conditions.push(`w.status = ANY (${status})`);
    const rows = `SELECT * FROM workflow w WHERE ${conditions.join(' AND ')}`;
    const { from, time, id } = await taggedRows(this.database, { kind: 'workflow', as: 'w', rows, tags }, values);
    const keyset = newestFirst<WorkflowEntity>(time, id, isServed ? leading : undefined);
    const after = keyset.after(query.nextToken, boundTo, values);
    const page = `ORDER BY ${keyset.orderBy} LIMIT ${limit + 1}`;
    const statement = isByStatus
      ? `SELECT w.* FROM unnest(${status}) AS one_status
         CROSS JOIN LATERAL (${rows} AND ${after} ${page}) w
         ORDER BY ${newestFirst(time, id).orderBy} LIMIT ${limit + 1}`
      : `SELECT w.* FROM ${from} WHERE ${after} ${page}`;
    const found = isServed
      ? await this.database.query<WorkflowEntity>(statement, values)
      : await this.bounded.read<WorkflowEntity>(statement, values, narrowing);
    return keyset.page(found, limit, boundTo);
  }
}
