import { IsIn, IsISO8601, IsNumber, IsString, Min } from 'class-validator';
import { account } from '../access';
import { changeAiSpendQuota } from './budgets';
import { JsonObject, ListOf, Nested, Optional } from '../fields';
import { consumer, event, operation } from '../operation';
import { Empty, PageMeta, PageQuery } from '../paging';
import { PathParam, QueryChoice, QueryForm, QueryList, QueryTime } from '../query-fields';

/**
 * Types of usage and quota. Values are current amounts, except for the monthly totals of `monthlyUsage` and the limits
 * of `limitTypes`.
 */
export const usageTypes = [
  'invocation_timeout',
  'invocation_calls',
  'storage_count',
  'bot_count',
  'knowledgebase_vector_storage',
  'workspace_ratelimit',
  'table_row_count',
  'workspace_member_count',
  'integrations_owned_count',
  'ai_spend',
  'openai_spend',
  'bing_search_spend',
  'always_alive',
  'indexed_file_count',
  'file_max_size_bytes',
] as const;

export type UsageType = (typeof usageTypes)[number];

/** Monthly totals, reset at the start of each month. */
export const monthlyUsage: readonly UsageType[] = ['invocation_calls', 'ai_spend', 'openai_spend', 'bing_search_spend'];

/** Limits of a single call or file; they have no usage. */
export const limitTypes: readonly UsageType[] = ['invocation_timeout', 'workspace_ratelimit', 'file_max_size_bytes'];

/**
 * Current amount, published by the service that counts it: of one bot, or of the workspace's data without a bot. The
 * usage of a workspace is the sum. Repeated and older events have no effect.
 */
export class UsageChanged {
  @IsString() workspaceId!: string;
  @Optional() @IsString() botId?: string;
  @IsIn(usageTypes) type!: UsageType;
  @IsNumber() @Min(0) value!: number;
  @IsISO8601() at!: string;
}

export const usageChanged = event({ subject: 'admin.usageChanged', data: UsageChanged });

export const recordUsage = consumer({ name: 'admin.recordUsage', event: usageChanged, concurrency: 4 });

const month = /^[1-9]\d{3}-(0[1-9]|1[0-2])$/;
const day = /^[1-9]\d{3}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])$/;

export class Usage {
  /** Id of the workspace or bot. */
  @IsString() id!: string;

  /** Month, as in `2026-01`. */
  @IsString() period!: string;

  /** US dollars of `ai_spend`. */
  @IsNumber() value!: number;

  @IsNumber() quota!: number;
  @IsIn(usageTypes) type!: UsageType;
}

export class UsageReply {
  @Nested(Usage) usage!: Usage;
}

export class Usages {
  @ListOf(Usage) usages!: Usage[];
}

export class BotUsage {
  @IsString() botId!: string;
  @IsNumber() value!: number;
}

export class UsageByBot {
  @ListOf(BotUsage) data!: BotUsage[];
}

export class Quota {
  @IsString() period!: string;
  @IsNumber() value!: number;
  @IsIn(usageTypes) type!: UsageType;
}

export class QuotaReply {
  @Nested(Quota) quota!: Quota;
}

export class Quotas {
  @ListOf(Quota) quotas!: Quota[];
}

/** Quota of a workspace that is closest to exhaustion. `completion` is the used share: 1 is all of it. */
export class QuotaCompletion {
  @IsIn(usageTypes) type!: UsageType;
  @IsNumber() completion!: number;
}

/** By workspace id. */
export class QuotaCompletions {
  [workspaceId: string]: QuotaCompletion;
}

export class UsageActivity {
  @IsString() timestamp!: string;
  @IsNumber() value!: number;
  @IsString() period!: string;

  /** Holds `botId` for the usage of a bot. */
  @JsonObject() metadata!: Record<string, unknown>;
}

export class UsageActivities {
  @ListOf(UsageActivity) data!: UsageActivity[];
  @Nested(PageMeta) meta!: PageMeta;
}

export class DailyUsage {
  /** Id of the bot or workspace, and the day. */
  @IsString() key!: string;

  @IsString() date!: string;
  @IsNumber() value!: number;
}

export class DailyUsages {
  @ListOf(DailyUsage) data!: DailyUsage[];
  @Nested(PageMeta) meta!: PageMeta;
}

export class QuotasQuery {
  @PathParam() id!: string;

  /** Default: the current month. */
  @QueryForm(month, 'a month such as 2026-01') period?: string;
}

export class UsageQuery extends QuotasQuery {
  @QueryChoice(usageTypes, { required: true }) type!: UsageType;
}

export class MultipleUsagesQuery {
  @QueryList({ required: true, choices: usageTypes }) types!: string[];
  @QueryList({ required: true }) ids!: string[];
  @QueryForm(month, 'a month such as 2026-01') period?: string;
}

export class UsageHistoryQuery {
  @PathParam() id!: string;
  @QueryChoice(usageTypes, { required: true }) type!: UsageType;
}

export class UsageActivityQuery extends PageQuery {
  @PathParam() id!: string;
  @QueryChoice(usageTypes, { required: true }) type!: UsageType;
  @QueryTime() timestampFrom?: string;
  @QueryTime() timestampUntil?: string;
}

export class DailyUsageQuery extends PageQuery {
  @PathParam() id!: string;
  @QueryChoice(usageTypes, { required: true }) type!: UsageType;
  @QueryForm(day, 'a day such as 2026-01-31') dateFrom?: string;
  @QueryForm(day, 'a day such as 2026-01-31') dateUntil?: string;
}

/** Quotas of workspaces. All workspaces have the same quotas, set by configuration, except for `ai_spend`: their budget. */
export const quotas = {
  changeAiSpend: changeAiSpendQuota,
  get: operation({
    subject: 'admin.quotas.get',
    route: 'GET /v1/admin/workspaces/{id}/quota',
    summary: 'Gets the quota of a workspace for one type of usage.',
    access: account,
    input: UsageQuery,
    output: QuotaReply,
  }),
  list: operation({
    subject: 'admin.quotas.list',
    route: 'GET /v1/admin/workspaces/{id}/quotas',
    summary: 'Lists all quotas of a workspace.',
    access: account,
    input: QuotasQuery,
    output: Quotas,
  }),
  listCompletion: operation({
    subject: 'admin.quotas.listCompletion',
    route: 'GET /v1/admin/workspaces/usages/quota-completion',
    summary: "Gets, for each of the account's workspaces, the quota that is closest to exhaustion.",
    access: account,
    input: Empty,
    output: QuotaCompletions,
  }),
};

export const usage = {
  get: operation({
    subject: 'admin.usage.get',
    route: 'GET /v1/admin/usages/{id}',
    summary: 'Gets the usage of one type by a workspace or bot in a month.',
    access: account,
    input: UsageQuery,
    output: UsageReply,
  }),
  getMultiple: operation({
    subject: 'admin.usage.getMultiple',
    route: 'GET /v1/admin/usages/multiple',
    summary: 'Gets the usage of several types by several workspaces and bots in a month.',
    access: account,
    input: MultipleUsagesQuery,
    output: Usages,
  }),
  listOfWorkspace: operation({
    subject: 'admin.usage.listOfWorkspace',
    route: 'GET /v1/admin/workspaces/{id}/usages',
    summary: 'Lists the usage of one type by a workspace in a month.',
    access: account,
    input: UsageQuery,
    output: Usages,
  }),
  breakDownByBot: operation({
    subject: 'admin.usage.breakDownByBot',
    route: 'GET /v1/admin/workspaces/{id}/usages/by-bot',
    summary: 'Lists the usage of one type by each bot of a workspace in a month, highest first.',
    access: account,
    input: UsageQuery,
    output: UsageByBot,
  }),
  listHistory: operation({
    subject: 'admin.usage.listHistory',
    route: 'GET /v1/admin/usages/{id}/history',
    summary: 'Lists the monthly usage of one type by a workspace or bot, newest month first.',
    access: account,
    input: UsageHistoryQuery,
    output: Usages,
  }),
  listActivity: operation({
    subject: 'admin.usage.listActivity',
    route: 'GET /v1/admin/usages/{id}/activity',
    summary:
      'Lists the daily usage of one type by a workspace or bot: the last amount of each day with its time, newest first.',
    access: account,
    input: UsageActivityQuery,
    output: UsageActivities,
  }),
  listDailyActivity: operation({
    subject: 'admin.usage.listDailyActivity',
    route: 'GET /v1/admin/usages/{id}/daily-activity',
    summary: 'Lists the daily usage of one type by a workspace or bot: the last amount of each day, newest first.',
    access: account,
    input: DailyUsageQuery,
    output: DailyUsages,
  }),
};
