import { infiniteQueryOptions } from '@tanstack/react-query';
import type { Client } from '@botpress/client';
import { clientOf } from '../api/client';

export type EventFilters = Omit<Parameters<Client['listEvents']>[0], 'nextToken' | 'pageSize'>;

export const eventStatuses = ['pending', 'processed', 'failed', 'ignored', 'scheduled'] as const;

export const eventsQuery = (botId: string, filters: EventFilters) =>
  infiniteQueryOptions({
    queryKey: [botId, 'events', filters],
    queryFn: ({ pageParam }) => clientOf({ botId }).listEvents({ ...filters, nextToken: pageParam }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ meta }) => meta.nextToken,
  });
