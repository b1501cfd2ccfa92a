import { infiniteQueryOptions, keepPreviousData, queryOptions } from '@tanstack/react-query';
import type { Client } from '@botpress/client';
import { clientOf } from '../api/client';
import { pathOf, queryOf, request } from '../api/request';

export type EventFilters = Omit<Parameters<Client['listEvents']>[0], 'nextToken' | 'pageSize'>;

export const eventStatuses = ['pending', 'processed', 'failed', 'ignored', 'scheduled'] as const;

const busyMs = 1_000;
const listMs = 3_000;

export const eventsKey = (botId: string) => [botId, 'events'];

export const eventsQuery = (botId: string, filters: EventFilters) =>
  infiniteQueryOptions({
    queryKey: [...eventsKey(botId), filters],
    queryFn: ({ pageParam }) => clientOf({ botId }).listEvents({ ...filters, nextToken: pageParam }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ meta }) => meta.nextToken,
    refetchInterval: ({ state }) => (state.data?.pages.some(hasPending) ? listMs : false),
  });

function hasPending({ events }: { events: { status: string }[] }): boolean {
  return events.some(({ status }) => status === 'pending');
}

/** Asked for again every second while the bot has not answered. */
export const eventQuery = (botId: string, id: string) =>
  queryOptions({
    queryKey: [...eventsKey(botId), id],
    queryFn: async () => (await clientOf({ botId }).getEvent({ id })).event,
    refetchInterval: ({ state }) => (state.data?.status === 'pending' ? busyMs : false),
  });

export interface Delivery {
  status: string;
  reason: string | null;
  createdAt: string;
  settledAt?: string;
  /** Latest attempts, oldest first. */
  attempts: { at: string; durationMs: number; status: number | null; error: string | null }[];
}

/**
 * Delivery of an event; null without one, because it is old or the bot cannot be called. Asked for again when the status of
 * the event changes: the last answer may be from before the bot's.
 */
export const deliveryQuery = (botId: string, eventId: string, eventStatus: string) =>
  queryOptions({
    queryKey: [...eventsKey(botId), eventId, 'delivery', eventStatus],
    placeholderData: keepPreviousData,
    queryFn: async () => {
      const path = `/v1/chat/deliveries${queryOf({ eventId })}`;
      const { deliveries } = await request<{ deliveries: Delivery[] }>({ botId, path });
      return deliveries[0] ?? null;
    },
    refetchInterval: ({ state }) => (eventStatus === 'pending' || state.data?.status === 'pending' ? busyMs : false),
  });

export function sendAgain(botId: string, eventId: string): Promise<unknown> {
  return request({ botId, method: 'POST', path: pathOf`/v1/chat/events/${eventId}/replay`, body: {} });
}
