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

/** Those that a caller can give: the rest are the platform's. */
const firstStatuses = ['pending', 'in_progress', 'listening'] as const;
const nextStatuses = ['in_progress', 'listening', 'paused', 'completed', 'failed', 'cancelled'] as const;

export const statusGroups = ['active', 'finished'] as const;
export type StatusGroup = (typeof statusGroups)[number];

export class Workflow {
  @IsString()
  id!: string;

  @IsString()
  name!: string;

  @IsIn(workflowStatuses)
  status!: WorkflowStatus;

  @JsonObject()
  input!: Record<string, unknown>;

  @JsonObject()
  output!: Record<string, unknown>;

  @Optional()
  @IsString()
  parentWorkflowId?: string;

  @Optional()
  @IsString()
  conversationId?: string;

  @Optional()
  @IsString()
  userId?: string;

  @IsDateString()
  createdAt!: string;

  @IsDateString()
  updatedAt!: string;

  /** When it ended, however that was. */
  @Optional()
  @IsDateString()
  completedAt?: string;

  @Optional()
  @IsString()
  failureReason?: string;

  /** When it becomes `timedout`, unless it has ended. */
  @IsDateString()
  timeoutAt!: string;

  /** A bot sees those of its integrations as `alias:tag`, an integration sees its own alone. */
  @ShownTags()
  tags!: Record<string, string>;
}

/** A time in ISO 8601 with a zone. */
function IsTime(): PropertyDecorator {
  const message = '$property must be a time such as 2026-01-31T12:00:00Z';
  const decorators = [
    IsString(),
    IsISO8601({ strict: true, strictSeparator: true }, { message }),
    Matches(/^\d{4}-\d\d-\d\dT[^+-]*(Z|[+-]\d\d:?\d\d)$/, { message }),
  ];
  return (target, property) => decorators.forEach((decorate) => decorate(target, property));
}

/** An id in a body: whatever it is, it names something or not. */
function IsReference(): PropertyDecorator {
  return (target, property) => [IsString(), Length(1, 200)].forEach((decorate) => decorate(target, property));
}

export class CreateWorkflow {
  @IsString()
  @Length(1, 200)
  name!: string;

  /** Pending tells the bot to start it, by the event `workflow_update`. */
  @IsIn(firstStatuses)
  status!: (typeof firstStatuses)[number];

  @Optional()
  @JsonObject()
  input?: Record<string, unknown>;

  @Optional()
  @IsReference()
  parentWorkflowId?: string;

  /** Has it for its current workflow until it ends. */
  @Optional()
  @IsReference()
  conversationId?: string;

  @Optional()
  @IsReference()
  userId?: string;

  /** In the future; a day from now when absent. */
  @Optional()
  @IsTime()
  timeoutAt?: string;

  @Optional()
  @Tags()
  tags?: Record<string, string>;

  /** The event in which it is worked on: needed to be in progress. */
  @Optional()
  @IsReference()
  eventId?: string;
}

/** One fits that has this name and these tags, and the conversation, user and parent where they are given. */
export class GetOrCreateWorkflow extends CreateWorkflow {
  /** All that are given unless this names some of them. */
  @DiscriminatingTags()
  discriminateByTags?: string[];

  /** Only those fit that have ended, or only those that have not. */
  @Optional()
  @IsIn(statusGroups)
  discriminateByStatusGroup?: StatusGroup;
}

export class WorkflowId {
  @PathParam()
  id!: string;
}

export class UpdateWorkflow extends WorkflowId {
  /** What has ended stays as it ended: another status, output or time is a RelationConflict. */
  @Optional()
  @IsIn(nextStatuses)
  status?: (typeof nextStatuses)[number];

  /** Replaces what was there. */
  @Optional()
  @JsonObject()
  output?: Record<string, unknown>;

  /** In the future. */
  @Optional()
  @IsTime()
  timeoutAt?: string;

  @Optional()
  @IsString()
  @MaxLength(2000)
  failureReason?: string;

  @Optional()
  @TagChanges()
  tags?: Record<string, string | null>;

  @Optional()
  @IsReference()
  userId?: string;

  /** The event in which it is worked on: needed to be in progress. */
  @Optional()
  @IsReference()
  eventId?: string;
}

export class ListWorkflows extends TaggedPageQuery {
  @QueryString({ maxLength: 200 })
  conversationId?: string;

  @QueryString({ maxLength: 200 })
  userId?: string;

  @QueryString({ maxLength: 200 })
  parentWorkflowId?: string;

  @QueryList({ choices: workflowStatuses })
  statuses?: WorkflowStatus[];

  @QueryString({ maxLength: 200 })
  name?: string;
}

export class WorkflowReply {
  @Nested(Workflow)
  workflow!: Workflow;
}

export class GottenOrCreatedWorkflow extends WorkflowReply {
  @Nested(CreatedMeta)
  meta!: CreatedMeta;
}

export class Workflows {
  @ListOf(Workflow)
  workflows!: Workflow[];

  @Nested(PageMeta)
  meta!: PageMeta;
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
      'Gets the oldest workflow that fits, or creates one. As many as ask at once for the same name and tags get the same one.',
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
    summary: 'Updates a workflow. What is left out stays as it is; tags are merged.',
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
