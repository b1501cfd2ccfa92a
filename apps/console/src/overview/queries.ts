import { queryOptions } from '@tanstack/react-query';
import { clientOf } from '../api/client';
import { queryOf, request } from '../api/request';
import { listWork, services, workKey } from '../operator/queries';
import type { Day } from '../parts/day-chart';

const shownDays = 30;
const dayMs = 86_400_000;
/** Interval at which the overview asks for what waits. */
export const refreshMs = 15_000;
/** Requests for failed events: one for each bot. */
const maxBots = 20;
/** Requests for that which waits: three for each bot. */
export const maxWaitingBots = 10;
const countedEvents = 100;
export const countedFiles = 50;
/** Work of each service that is counted, of failed work and of all. */
export const countedWork = 500;
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
  refetchInterval: refreshMs,
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
      const lists = await Promise.all(
        lastChanged(bots, maxBots).map(async (bot) => {
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

export interface WaitingBot {
  id: string;
  name: string;
  /** Events without an answer of the bot. */
  pending: string;
  /** Pending events that wait for a change of the bot, with the reason of the oldest. */
  parked: string;
  reason?: string | null;
  /** Files among the newest ones that are being indexed. */
  indexing: number;
}

/** Bots that have events or files which wait, of those that changed last. */
export const waitingQuery = (workspaceId: string, bots: { id: string; name: string; updatedAt: string }[]) =>
  queryOptions({
    queryKey: [workspaceId, 'waiting', bots.map(({ id }) => id)],
    queryFn: async () => {
      const all = await Promise.all(lastChanged(bots, maxWaitingBots).map(waitingOf));
      return all.filter(({ pending, parked, indexing }) => pending !== '0' || parked !== '0' || indexing > 0);
    },
    refetchInterval: refreshMs,
  });

async function waitingOf({ id, name }: { id: string; name: string }): Promise<WaitingBot> {
  const client = clientOf({ botId: id });
  const [pending, parked, { files }] = await Promise.all([
    client.listEvents({ status: 'pending', pageSize: countedEvents }),
    request<{ deliveries: { reason: string | null }[]; meta: { nextToken?: string } }>({
      botId: id,
      path: `/v1/chat/deliveries${queryOf({ status: 'parked', pageSize: countedEvents })}`,
    }),
    client.listFiles({ pageSize: countedFiles }),
  ]);
  return {
    ...{ id, name },
    pending: countOf(pending.events.length, pending.meta.nextToken !== undefined),
    parked: countOf(parked.deliveries.length, parked.meta.nextToken !== undefined),
    reason: parked.deliveries.at(-1)?.reason,
    indexing: files.filter(({ status }) => status === 'indexing_pending').length,
  };
}

export function countOf(counted: number, hasMore: boolean): string {
  return hasMore ? `${counted}+` : String(counted);
}

export interface QueueCounts {
  queue: string;
  service: string;
  /** Work that is not running and has not failed. */
  waiting: number;
  running: number;
  failed: number;
  oldestAt: string;
}

export interface PlatformQueues {
  queues: QueueCounts[];
  /** Whether a service has more work than is counted. */
  hasMore: boolean;
}

/** Queues of all services that have work. Failed work is asked for apart, so that a long queue does not hide it. */
export const platformQueuesQuery = queryOptions({
  queryKey: [...workKey, 'counts'],
  queryFn: async (): Promise<PlatformQueues> => {
    const lists = await Promise.all(
      services.flatMap((service) => [
        listWork(service, { limit: countedWork }),
        listWork(service, { state: 'failed', limit: countedWork }),
      ]),
    );
    const hasMore = lists.some(({ length }) => length === countedWork);
    const all = new Map(lists.flat().map((work) => [`${work.queue} ${work.key}`, work]));
    const queues = new Map<string, QueueCounts>();
    for (const { queue, service, state, createdAt } of all.values()) {
      const counts = queues.get(queue) ?? { queue, service, waiting: 0, running: 0, failed: 0, oldestAt: createdAt };
      counts[state === 'failed' || state === 'running' ? state : 'waiting']++;
      if (createdAt < counts.oldestAt) counts.oldestAt = createdAt;
      queues.set(queue, counts);
    }
    return { queues: [...queues.values()].sort((one, other) => other.failed - one.failed), hasMore };
  },
  refetchInterval: refreshMs,
});

function lastChanged<T extends { updatedAt: string }>(bots: T[], most: number): T[] {
  return [...bots].sort((one, other) => other.updatedAt.localeCompare(one.updatedAt)).slice(0, most);
}

function lastDates(): string[] {
  const today = Date.now();
  return Array.from({ length: shownDays }, (_day, index) =>
    new Date(today - (shownDays - 1 - index) * dayMs).toISOString().slice(0, 10),
  );
}
