import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query';
import type { Budget } from '@parley/contracts/admin/budgets';
import type { ModelCalls } from '@parley/contracts/models/calls';
import type { ContentSettings } from '@parley/contracts/models/contents';
import { clientOf } from '../api/client';
import { pathOf, queryOf, request } from '../api/request';

const shownDays = 30;
const dayMs = 86_400_000;
const shownBots = 50;

const dollars = new Intl.NumberFormat(undefined, { style: 'currency', currency: 'USD', maximumFractionDigits: 6 });
const numbers = new Intl.NumberFormat();

export const costText = (amount: number) => dollars.format(amount);
export const countText = (count: number) => numbers.format(count);

/** Budget of a bot; without one, of the workspace. */
export interface BudgetParams {
  workspaceId: string;
  botId?: string;
}

export const budgetKey = ({ workspaceId, botId = '' }: BudgetParams) => [workspaceId, 'models', botId];

export const budgetPath = ({ botId }: BudgetParams) =>
  botId === undefined ? '/v1/admin/budget' : pathOf`/v1/admin/bots/${botId}/budget`;

export const budgetQuery = (params: BudgetParams) =>
  queryOptions({
    queryKey: [...budgetKey(params), 'budget'],
    queryFn: () => request<Budget>({ workspaceId: params.workspaceId, path: budgetPath(params) }),
  });

/** US dollars of this month. */
export const spentQuery = ({ workspaceId, botId }: BudgetParams) =>
  queryOptions({
    queryKey: [...budgetKey({ workspaceId, botId }), 'spent'],
    queryFn: async () =>
      (await clientOf({ workspaceId }).getUsage({ id: botId ?? workspaceId, type: 'ai_spend' })).usage.value,
  });

/** Calls of a bot by day, the newest first. */
export const daysQuery = (workspaceId: string, botId: string) =>
  queryOptions({
    queryKey: [...budgetKey({ workspaceId, botId }), 'days'],
    queryFn: async () => {
      const now = Date.now();
      const [startDate, endDate] = [now - (shownDays - 1) * dayMs, now].map((time) => new Date(time).toISOString());
      const { records } = await clientOf({ workspaceId }).getBotAnalytics({
        ...{ id: botId, startDate: startDate!, endDate: endDate! },
      });
      return records.map(({ startDateTimeUtc, llm }) => ({ date: startDateTimeUtc.slice(0, 10), ...llm })).reverse();
    },
  });

export const contentsPath = '/v1/ai/contents';
export const contentsKey = (botId: string) => ['models', botId];

export const contentsQuery = (botId: string) =>
  queryOptions({
    queryKey: [...contentsKey(botId), 'contents'],
    queryFn: () => request<ContentSettings>({ botId, path: contentsPath }),
  });

interface CallsFilter {
  conversationId?: string;
  eventId?: string;
  /** With prompts and answers. */
  isWhole: boolean;
}

/** Calls of a bot, newest first. */
export const callsQuery = (botId: string, { isWhole, ...filter }: CallsFilter) =>
  infiniteQueryOptions({
    queryKey: [...contentsKey(botId), 'calls', filter, isWhole],
    queryFn: ({ pageParam }) =>
      request<ModelCalls>({
        botId,
        path: `/v1/ai/calls${queryOf({ ...filter, ...(isWhole && { contents: 'true' }), nextToken: pageParam })}`,
      }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ meta }) => meta.nextToken,
  });

export interface BotSpending {
  id: string;
  /** Absent for a deleted bot. */
  name?: string;
  dollars: number;
  /** Budget of the bot, or a smaller one of its workspace. */
  quota?: number;
}

/** Bots that have spent most in this month. */
export const spendingsQuery = (workspaceId: string, bots: { id: string; name: string }[]) =>
  queryOptions({
    queryKey: [...budgetKey({ workspaceId }), 'bots', bots.map(({ id }) => id)],
    queryFn: async (): Promise<BotSpending[]> => {
      const client = clientOf({ workspaceId });
      const { data } = await client.breakDownWorkspaceUsageByBot({ id: workspaceId, type: 'ai_spend' });
      const most = data.slice(0, shownBots);
      const known = new Map(bots.map(({ id, name }) => [id, name]));
      const ids = most.map(({ botId }) => botId).filter((id) => known.has(id));
      const { usages } = ids.length > 0 ? await client.getMultipleUsages({ ids, types: ['ai_spend'] }) : { usages: [] };
      const quotas = new Map(usages.map(({ id, quota }) => [id, quota]));
      return most.map(({ botId, value }) => ({
        ...{ id: botId, dollars: value },
        name: known.has(botId) ? known.get(botId) || botId : undefined,
        quota: quotas.get(botId),
      }));
    },
  });
