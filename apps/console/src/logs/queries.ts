import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query';
import { clientOf } from '../api/client';
import { pathOf, queryOf, request } from '../api/request';

export const logLevels = ['debug', 'info', 'warn', 'error'] as const;

/** Periods that can be chosen, in hours. The platform answers for seven days at most. */
export const periods = [
  { hours: 1, label: 'Last hour' },
  { hours: 24, label: 'Last day' },
  { hours: 7 * 24, label: 'Last 7 days' },
];

export interface LogFilters {
  level?: string;
  conversationId?: string;
  messageContains?: string;
}

export interface ShownLine extends LogFilters {
  timestamp: string;
  level: string;
  message: string;
  /** Trace id of the call that printed the line. */
  traceId?: string;
}

const hourMs = 3_600_000;
const liveMs = 2_000;

/** Lines, newest first. The period of all pages ends when the first one was asked for. */
export const logsQuery = (workspaceId: string, botId: string, hours: number, filters: LogFilters) =>
  infiniteQueryOptions({
    queryKey: [botId, 'logs', hours, filters],
    queryFn: async ({ pageParam: { until, nextToken } }) => {
      const timeStart = new Date(until - hours * hourMs).toISOString();
      const timeEnd = new Date(until).toISOString();
      const page = await clientOf({ workspaceId }).getBotLogs({ id: botId, timeStart, timeEnd, nextToken, ...filters });
      return { ...page, until };
    },
    get initialPageParam() {
      return { until: Date.now(), nextToken: undefined as string | undefined };
    },
    getNextPageParam: ({ nextToken, until }) => (nextToken === undefined ? undefined : { until, nextToken }),
  });

/**
 * Lines of the calls that deliver an event, newest first. The public client has no such filter. Live, because lines may
 * arrive after the answer of the bot.
 */
export const linesOfEventQuery = (
  { workspaceId, botId }: { workspaceId: string; botId: string },
  event: { id: string; createdAt: string },
) =>
  queryOptions({
    queryKey: [botId, 'events', event.id, 'logs'],
    queryFn: async () => {
      const path = `${pathOf`/v1/admin/bots/${botId}/logs`}${queryOf({ eventId: event.id, timeStart: event.createdAt })}`;
      return (await request<{ logs: ShownLine[] }>({ workspaceId, path })).logs;
    },
    refetchInterval: liveMs,
  });
