import { IsBoolean, IsIn, IsInt, IsString, Matches, MaxLength } from 'class-validator';
import { bot, workspace } from '../access';
import { JsonObject, ListOf, Nested, Nullable, Optional, OrNull } from '../fields';
import { operation } from '../operation';
import { PageMeta, PageQuery } from '../paging';
import { PathParam, QueryString, QueryTime } from '../query-fields';

/** Time limit of an action, in milliseconds: clients repeat a request without an answer after 60 s. */
export const actionTimeoutMs = 55_000;

/** Header of calls of actions, and of requests that code makes within one: how many actions wait for each other. */
export const actionDepthHeader = 'x-parley-action-depth';
export const maxActionDepth = 5;

export class CallAction {
  /** `name` of the bot, `alias#name` of its plugin, or `alias:name` of an installed integration. */
  @IsString()
  @MaxLength(200)
  @Matches(/^[\x21-\x7e]+$/, {
    message: 'type must be the name of an action: ASCII characters without spaces, such as chat:sendEvent',
  })
  type!: string;

  @JsonObject() input!: Record<string, unknown>;
}

export class ActionMeta {
  /** Always false: answers are not cached. */
  @IsBoolean() cached!: boolean;
}

export class ActionReply {
  @JsonObject({ maxBytes: 5_000_000 }) output!: Record<string, unknown>;
  @Nested(ActionMeta) meta!: ActionMeta;
}

export class ListActionRuns extends PageQuery {
  @PathParam() id!: string;

  /** Name of the integration. Absent: runs of the bot's own actions are listed too. */
  @QueryString() integrationName?: string;

  @QueryTime() timestampFrom?: string;
  @QueryTime() timestampUntil?: string;
}

export const actionStatuses = ['SUCCESS', 'FAILURE'] as const;
export type ActionStatus = (typeof actionStatuses)[number];

export class ActionRun {
  /** Time of the call. */
  @IsString() timestamp!: string;

  /** Absent for an action of the bot or of its plugins. */
  @Optional() @IsString() integrationName?: string;

  @IsString() actionType!: string;
  @JsonObject() input!: Record<string, unknown>;
  @IsBoolean() inputTruncated!: boolean;

  /** Null for a failure. */
  @OrNull() @JsonObject() output!: Record<string, unknown> | null;

  @IsBoolean() outputTruncated!: boolean;
  @IsIn(actionStatuses) status!: ActionStatus;
  @IsInt() durationMs!: number;
  @IsBoolean() cached!: boolean;
  @Nullable() @IsString() errorMessage!: string | null;
}

export class ActionRuns {
  /** Newest first. */
  @ListOf(ActionRun) data!: ActionRun[];

  @Nested(PageMeta) meta!: PageMeta;
}

export const actions = {
  call: operation({
    subject: 'runtime.actions.call',
    route: 'POST /v1/chat/actions',
    summary: 'Calls an action of the bot, of its plugins or of the chat, and returns its output.',
    access: bot.write,
    input: CallAction,
    output: ActionReply,
    timeoutMs: actionTimeoutMs + 2_000,
  }),
  listRuns: operation({
    subject: 'runtime.actions.listRuns',
    route: 'GET /v1/admin/bots/{id}/action-runs',
    summary: 'Lists the calls of actions of a bot, newest first. Runs are kept for 7 days.',
    access: workspace.read,
    input: ListActionRuns,
    output: ActionRuns,
  }),
};
