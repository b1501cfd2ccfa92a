import { IsIn, IsInt, IsString } from 'class-validator';
import { workspace } from '../access';
import { BotId } from '../admin/bots';
import { ListOf, MapOf, Nested, Optional, OrNull } from '../fields';
import { operation } from '../operation';
import { Empty, PageMeta, PageQuery } from '../paging';
import { PathParam } from '../query-fields';

export const issueCategories = ['user_code', 'limits', 'configuration', 'other'] as const;
export type IssueCategory = (typeof issueCategories)[number];

/** Latest events that an issue keeps. */
export const maxIssueEvents = 20;

export class IssueValue {
  @IsString() raw!: string;

  /** Text for people. */
  @Optional() @IsString() pretty?: string;
}

export class Issue {
  @IsString() id!: string;
  @IsString() code!: string;

  /** Time of the first event. */
  @IsString() createdAt!: string;

  /** Time of the latest event. */
  @IsString() lastSeenAt!: string;

  @IsString() title!: string;

  /** Message of the latest event. */
  @IsString() description!: string;

  /** Values that all events of the issue share. */
  @MapOf(IssueValue) groupedData!: Record<string, IssueValue>;

  @IsInt() eventsCount!: number;
  @IsIn(issueCategories) category!: IssueCategory;
  @OrNull() @IsString() resolutionLink!: string | null;
}

export class IssueEvent {
  @IsString() id!: string;
  @IsString() createdAt!: string;
  @MapOf(IssueValue) data!: Record<string, IssueValue>;
}

export class IssueId extends BotId {
  @PathParam() issueId!: string;
}

export class ListIssues extends PageQuery {
  @PathParam() id!: string;
}

export class IssueReply {
  @Nested(Issue) issue!: Issue;
}

export class Issues {
  @ListOf(Issue) issues!: Issue[];
  @Nested(PageMeta) meta!: PageMeta;
}

export class IssueEvents {
  /** Latest events, newest first. */
  @ListOf(IssueEvent, { maxItems: maxIssueEvents }) issueEvents!: IssueEvent[];
}

export const issues = {
  list: operation({
    subject: 'runtime.issues.list',
    route: 'GET /v1/admin/bots/{id}/issues',
    summary: 'Lists the issues of a bot, the latest seen first. Issues end 14 days after their latest event.',
    access: workspace.read,
    input: ListIssues,
    output: Issues,
  }),
  get: operation({
    subject: 'runtime.issues.get',
    route: 'GET /v1/admin/bots/{id}/issues/{issueId}',
    summary: 'Gets an issue of a bot: failures of the same kind, with their number.',
    access: workspace.read,
    input: IssueId,
    output: IssueReply,
  }),
  listEvents: operation({
    subject: 'runtime.issues.listEvents',
    route: 'GET /v1/admin/bots/{id}/issues/{issueId}/events',
    summary: 'Lists the latest 20 events of an issue, newest first.',
    access: workspace.read,
    input: IssueId,
    output: IssueEvents,
  }),
  delete: operation({
    subject: 'runtime.issues.delete',
    route: 'DELETE /v1/admin/bots/{id}/issues/{issueId}',
    summary: 'Deletes an issue. The next failure of its kind creates a new one.',
    access: workspace.write,
    input: IssueId,
    output: Empty,
  }),
};
