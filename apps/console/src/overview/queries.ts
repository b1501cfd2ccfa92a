import { queryOptions } from '@tanstack/react-query';
import { clientOf } from '../api/client';
import type { Day } from '../parts/day-chart';

const shownDays = 30;
const dayMs = 86_400_000;
const healthMs = 15_000;
/** Requests for failed events: one for each bot. */
const maxBots = 20;
const failuresPerBot = 5;
const shownFailures = 10;

export interface ShownUsage {
  type: 'invocation_calls' | 'invocation_timeout';
  label: string;
}

export const shownUsages: ShownUsage[] = [
  { type: 'invocation_calls', label: 'Invocations of bots by day' },
  { type: 'invocation_timeout', label: 'Running time of bots by day, in milliseconds' },
];

export const healthQuery = queryOptions({
  queryKey: ['health'],
  queryFn: async () => (await fetch('/readyz')).ok,
  refetchInterval: healthMs,
});

export const usageQuery = (workspaceId: string, type: ShownUsage['type']) =>
  queryOptions({
    queryKey: [workspaceId, 'usage', type],
    queryFn: async () => {
      const dates = lastDates();
      const activity = await clientOf({ workspaceId })
        .list.usageActivityDaily({ id: workspaceId, type, dateFrom: dates[0], dateUntil: dates.at(-1) })
        .collect({ limit: 1_000 });
      return dates.map((date): Day => {
        const ofDay = activity.filter((entry) => entry.date.startsWith(date));
        return { date, value: ofDay.reduce((sum, { value }) => sum + value, 0) };
      });
    },
  });

/** Newest failed events of the bots that changed last. */
export const failuresQuery = (workspaceId: string, bots: { id: string; name: string; updatedAt: string }[]) =>
  queryOptions({
    queryKey: [workspaceId, 'failures', bots.map(({ id }) => id)],
    queryFn: async () => {
      const newest = [...bots].sort((one, other) => other.updatedAt.localeCompare(one.updatedAt)).slice(0, maxBots);
      const lists = await Promise.all(
        newest.map(async (bot) => {
          const { events } = await clientOf({ botId: bot.id }).listEvents({
            status: 'failed',
            pageSize: failuresPerBot,
          });
          return events.map((event) => ({ bot, event }));
        }),
      );
      return lists
        .flat()
        .sort((one, other) => other.event.createdAt.localeCompare(one.event.createdAt))
        .slice(0, shownFailures);
    },
  });

function lastDates(): string[] {
  const today = Date.now();
  return Array.from({ length: shownDays }, (_day, index) =>
    new Date(today - (shownDays - 1 - index) * dayMs).toISOString().slice(0, 10),
  );
}
