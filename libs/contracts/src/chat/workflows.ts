import { IsDateString, IsIn, IsISO8601, IsString, Length, Matches, MaxLength } from 'class-validator';
import { bot } from '../access';
import { JsonObject, ListOf, Nested, Optional } from '../fields';
import { operation } from '../operation';
import { Empty, PageMeta } from '../paging';
import { PathParam, QueryList, QueryString } from '../query-fields';
import { DiscriminatingTags, TagChanges, TaggedPageQuery, ShownTags, Tags } from './chat-fields';
import { CreatedMeta } from './users';

export const activeStatuses = ['pending', 'in_progress', 'listening', 'paused'] as const;
export const finishedStatuses = ['completed', 'failed', 'timedout', 'cancelled'] as const;
export const workflowStatuses = [...activeStatuses, ...finishedStatuses] as const;
export type WorkflowStatus = (typeof workflowStatuses)[number];

/** Statuses that a caller may set; only the platform sets the others. */
const firstStatuses = ['pending', 'in_progress', 'listening'] as const;
const nextStatuses = ['in_progress', 'listening', 'paused', 'completed', 'failed', 'cancelled'] as const;

export const statusGroups = ['active', 'finished'] as const;
export type StatusGroup = (typeof statusGroups)[number];

export class Workflow {
  @IsString() id!: string;
  @IsString() name!: string;
  @IsIn(workflowStatuses) status!: WorkflowStatus;
  @JsonObject() input!: Record<string, unknown>;
  @JsonObject() output!: Record<string, unknown>;
  @Optional() @IsString() parentWorkflowId?: string;
  @Optional() @IsString() conversationId?: string;
  @Optional() @IsString() userId?: string;
  @IsDateString() createdAt!: string;
  @IsDateString() updatedAt!: string;

  /** Time at which the workflow finished, in any final status. */
  @Optional() @IsDateString() completedAt?: string;

  @Optional() @IsString() failureReason?: string;

  /** Deadline: an unfinished workflow becomes `timedout` at this time. */
  @IsDateString() timeoutAt!: string;

  /** Tags by name. The bot sees tags of its integrations as `alias:tag`; an integration sees only its own. */
  @ShownTags() tags!: Record<string, string>;
}

function IsTime(): PropertyDecorator {
  const message = '$property must be a time such as 2026-01-31T12:00:00Z';
  const decorators = [
    IsString(),
    IsISO8601({ strict: true, strictSeparator: true }, { message }),
    Matches(/^\d{4}-\d\d-\d\dT[^+-]*(Z|[+-]\d\d:?\d\d)$/, { message }),
  ];
  return (target, property) => decorators.forEach((decorate) => decorate(target, property));
}

/** Id in a body. Its form is not checked: an unknown id is reported as not found. */
function IsReference(): PropertyDecorator {
  return (target, property) => [IsString(), Length(1, 200)].forEach((decorate) => decorate(target, property));
}

export class CreateWorkflow {
  @IsString() @Length(1, 200) name!: string;

  /** `pending` notifies the bot, by the event `workflow_update`, to start the workflow. */
  @IsIn(firstStatuses) status!: (typeof firstStatuses)[number];

  @Optional() @JsonObject() input?: Record<string, unknown>;
  @Optional() @IsReference() parentWorkflowId?: string;

  /** Conversation whose current workflow this is until it finishes. */
  @Optional() @IsReference() conversationId?: string;

  @Optional() @IsReference() userId?: string;

  /** Must be in the future. Default: one day from now. */
  @Optional() @IsTime() timeoutAt?: string;

  @Optional() @Tags() tags?: Record<string, string>;

  /** Event that works on the workflow. Required for the status `in_progress`. */
  @Optional() @IsReference() eventId?: string;
}

/** Matches workflows with this name and these tags, and the conversation, user and parent if given. */
export class GetOrCreateWorkflow extends CreateWorkflow {
  /** Names of the tags that identify the workflow; all given tags by default. */
  @DiscriminatingTags() discriminateByTags?: string[];

  /** Restricts the match to finished or to unfinished workflows. */
  @Optional() @IsIn(statusGroups) discriminateByStatusGroup?: StatusGroup;
}

export class WorkflowId {
  @PathParam() id!: string;
}

export class UpdateWorkflow extends WorkflowId {
  /** A finished workflow does not change: another status, output or time is a RelationConflict. */
  @Optional() @IsIn(nextStatuses) status?: (typeof nextStatuses)[number];

  /** Replaces the previous output. */
  @Optional() @JsonObject() output?: Record<string, unknown>;

  /** Must be in the future. */
  @Optional() @IsTime() timeoutAt?: string;

  @Optional() @IsString() @MaxLength(2000) failureReason?: string;
  @Optional() @TagChanges() tags?: Record<string, string | null>;
  @Optional() @IsReference() userId?: string;

  /** Event that works on the workflow. Required for the status `in_progress`. */
  @Optional() @IsReference() eventId?: string;
}

export class ListWorkflows extends TaggedPageQuery {
  @QueryString({ maxLength: 200 }) conversationId?: string;
  @QueryString({ maxLength: 200 }) userId?: string;
  @QueryString({ maxLength: 200 }) parentWorkflowId?: string;
  @QueryList({ choices: workflowStatuses }) statuses?: WorkflowStatus[];
  @QueryString({ maxLength: 200 }) name?: string;
}

export class WorkflowReply {
  @Nested(Workflow) workflow!: Workflow;
}

export class GottenOrCreatedWorkflow extends WorkflowReply {
  @Nested(CreatedMeta) meta!: CreatedMeta;
}

export class Workflows {
  @ListOf(Workflow) workflows!: Workflow[];
  @Nested(PageMeta) meta!: PageMeta;
}

export const workflows = {
  create: operation({
    subject: 'chat.workflows.create',
    route: 'POST /v1/chat/workflows',
    summary: 'Creates a workflow.',
    access: bot.writeAlsoByIntegration,
    input: CreateWorkflow,
    output: WorkflowReply,
    status: 201,
    isIdempotent: true,
  }),
  get: operation({
    subject: 'chat.workflows.get',
    route: 'GET /v1/chat/workflows/{id}',
    summary: 'Gets a workflow.',
    access: bot.readAlsoByIntegration,
    input: WorkflowId,
    output: WorkflowReply,
  }),
  getOrCreate: operation({
    subject: 'chat.workflows.getOrCreate',
    route: 'POST /v1/chat/workflows/get-or-create',
    summary:
      'Gets the oldest matching workflow, or creates one. Concurrent requests for the same name and tags get the same workflow.',
    access: bot.writeAlsoByIntegration,
    input: GetOrCreateWorkflow,
    output: GottenOrCreatedWorkflow,
    isIdempotent: true,
  }),
  list: operation({
    subject: 'chat.workflows.list',
    route: 'GET /v1/chat/workflows',
    summary: 'Lists workflows, newest first.',
    access: bot.readAlsoByIntegration,
    input: ListWorkflows,
    output: Workflows,
  }),
  update: operation({
    subject: 'chat.workflows.update',
    route: 'PUT /v1/chat/workflows/{id}',
    summary: 'Updates a workflow. Absent fields stay unchanged; tags are merged.',
    access: bot.writeAlsoByIntegration,
    input: UpdateWorkflow,
    output: WorkflowReply,
  }),
  delete: operation({
    subject: 'chat.workflows.delete',
    route: 'DELETE /v1/chat/workflows/{id}',
    summary: 'Deletes a workflow with its states.',
    access: bot.writeAlsoByIntegration,
    input: WorkflowId,
    output: Empty,
  }),
};
