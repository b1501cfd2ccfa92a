import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query';
import type { Client } from '@botpress/client';
import { clientOf } from '../api/client';

type ConversationsInput = Parameters<Client['listConversations']>[0];

export interface ConversationFilters {
  integrationName?: string;
  channel?: string;
  /** `name=value` */
  tag?: string;
  /** Days in the zone of the reader, such as 2026-05-31. */
  after?: string;
  before?: string;
}

function inputOf({ tag, after, before, ...filters }: ConversationFilters): ConversationsInput {
  const [name, value] = tag?.split(/=(.*)/s) ?? [];
  return {
    ...filters,
    tags: name && value ? { [name.trim()]: value.trim() } : undefined,
    afterDate: after && new Date(`${after}T00:00:00`).toISOString(),
    beforeDate: before && new Date(`${before}T23:59:59.999`).toISOString(),
  };
}

const liveMs = 2_000;

export const conversationsQuery = (botId: string, filters: ConversationFilters) =>
  infiniteQueryOptions({
    queryKey: [botId, 'conversations', filters],
    queryFn: ({ pageParam }) =>
      clientOf({ botId }).listConversations({
        ...inputOf(filters),
        sortField: 'updatedAt',
        sortDirection: 'desc',
        nextToken: pageParam,
      }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ meta }) => meta.nextToken,
  });

export const conversationQuery = (botId: string, id: string) =>
  queryOptions({
    queryKey: [botId, 'conversations', id],
    queryFn: async () => (await clientOf({ botId }).getConversation({ id })).conversation,
  });

export const participantsQuery = (botId: string, id: string) =>
  queryOptions({
    queryKey: [botId, 'conversations', id, 'participants'],
    queryFn: async () => (await clientOf({ botId }).listParticipants({ id })).participants,
  });

export const stateQuery = (botId: string, id: string, name: string) =>
  queryOptions({
    queryKey: [botId, 'conversations', id, 'states', name],
    queryFn: async () => (await clientOf({ botId }).getState({ type: 'conversation', id, name })).state,
  });

/** Messages, newest first. Live: asked for again every two seconds while the page is visible. */
export const messagesQuery = (botId: string, conversationId: string) =>
  infiniteQueryOptions({
    queryKey: [botId, 'conversations', conversationId, 'messages'],
    queryFn: ({ pageParam }) => clientOf({ botId }).listMessages({ conversationId, nextToken: pageParam }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ meta }) => meta.nextToken,
    refetchInterval: liveMs,
  });
