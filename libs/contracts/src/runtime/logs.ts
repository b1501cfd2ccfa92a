import { IsArray, IsBoolean, IsIn, IsString } from 'class-validator';
import { operator, service, workspace } from '../access';
import { ListOf, MapOf, Nested, Optional } from '../fields';
import { operation } from '../operation';
import { Empty } from '../paging';
import { PathParam, QueryChoice, QueryString, QueryTime } from '../query-fields';
import { issueCategories, type IssueCategory, IssueValue } from './issues';

export const logLevels = ['debug', 'info', 'warn', 'error'] as const;
export type LogLevel = (typeof logLevels)[number];

/** Lines in one request of a runner. */
export const maxWrittenLines = 500;

/** Objects that a line is about. */
export class LogContext {
  @Optional() @IsString() eventId?: string;
  @Optional() @IsString() conversationId?: string;
  @Optional() @IsString() userId?: string;
  @Optional() @IsString() workflowId?: string;
}

/** Failure that the code of an integration reports. */
export class LogIssue {
  @IsString() code!: string;
  @IsIn(issueCategories) category!: IssueCategory;
  @IsString() title!: string;
  @IsString() description!: string;
  @MapOf(IssueValue) data!: Record<string, IssueValue>;

  /** Names of the data that failures of the same kind share. */
  @IsArray() @IsString({ each: true }) groupBy!: string[];
}

/** Line that code printed. */
export class LogLine extends LogContext {
  /** Given by the runner: a line that is sent again is stored once. */
  @IsString() id!: string;

  /** Bot that the code worked for. Empty for a line of an integration outside of any call. */
  @IsString() botId!: string;

  /** Version of the integration whose code printed the line. Absent for the code of the bot itself. */
  @Optional() @IsString() integrationId?: string;

  /** Whether the bot's workspace sees a line of an integration. Default: no. */
  @Optional() @IsBoolean() isForBot?: boolean;

  /** Whether the owner of the integration sees it. Default: yes. */
  @Optional() @IsBoolean() isForOwner?: boolean;

  @Optional() @Nested(LogIssue) issue?: LogIssue;
  @IsString() timestamp!: string;
  @IsIn(logLevels) level!: LogLevel;
  @IsString() message!: string;

  /** Trace id of the call: 32 hexadecimal digits. */
  @Optional() @IsString() traceId?: string;
}

export class WriteLogs {
  @ListOf(LogLine, { maxItems: maxWrittenLines }) lines!: LogLine[];
}

export class GetIntegrationLogs {
  @PathParam() id!: string;
  @QueryTime({ required: true }) timeStart!: string;

  /** Default: now. */
  @QueryTime() timeEnd?: string;

  /** `debug`, `info`, `warn` or `error`. */
  @QueryChoice(logLevels) level?: string;

  @QueryString() userId?: string;
  @QueryString() conversationId?: string;

  /** Part of the message, in upper or lower case. */
  @QueryString() messageContains?: string;

  /** Cursor: `nextToken` of the previous page. All other parameters must be the same. */
  @QueryString({ maxLength: 8000 }) nextToken?: string;
}

export class GetBotLogs extends GetIntegrationLogs {
  /** Lines of the calls that deliver this event. */
  @QueryString() eventId?: string;

  @QueryString() workflowId?: string;
}

export class BotLog extends LogContext {
  @IsString() timestamp!: string;
  @IsIn(logLevels) level!: LogLevel;
  @IsString() message!: string;

  /** Trace id of the call: 32 hexadecimal digits. */
  @Optional() @IsString() traceId?: string;
}

export class BotLogs {
  /** Newest first. */
  @ListOf(BotLog) logs!: BotLog[];

  @Optional() @IsString() nextToken?: string;
}

export class StoredLogs {
  /** Newest first. */
  @ListOf(LogLine) lines!: LogLine[];

  @Optional() @IsString() nextToken?: string;
}

export const logs = {
  write: operation({
    subject: 'runtime.logs.write',
    summary: 'Stores lines that the code of bots printed.',
    access: service,
    input: WriteLogs,
    output: Empty,
  }),
  list: operation({
    subject: 'runtime.logs.list',
    route: 'GET /v1/admin/bots/{id}/logs',
    summary: 'Gets what the code of a bot printed, newest first, 200 lines a page. Lines are kept for 7 days.',
    access: workspace.read,
    input: GetBotLogs,
    output: BotLogs,
  }),
  listOfIntegration: operation({
    subject: 'runtime.logs.listOfIntegration',
    route: 'GET /v1/admin/integrations/{id}/logs',
    summary:
      'Gets what the code of an integration printed for all bots, newest first, 200 lines a page. Lines are kept for 7 days.',
    access: workspace.read,
    input: GetIntegrationLogs,
    output: BotLogs,
  }),
  listOfAnyBot: operation({
    subject: 'runtime.logs.listOfAnyBot',
    route: 'GET /operator/runtime/bots/{id}/logs',
    summary: 'Gets what the code of a bot printed, newest first, 200 lines a page, with event and trace.',
    access: operator,
    input: GetBotLogs,
    output: StoredLogs,
  }),
};
