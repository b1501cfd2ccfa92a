import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query';
import { clientOf } from '../api/client';

export interface ConversationFilters {
  integrationName?: string;
  channel?: string;
}

const liveMs = 2_000;

export const conversationsQuery = (botId: string, filters: ConversationFilters) =>
  infiniteQueryOptions({
    queryKey: [botId, 'conversations', filters],
    queryFn: ({ pageParam }) =>
      clientOf({ botId }).listConversations({
        ...filters,
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

/** Messages, newest first. Live: asked for again every two seconds while the page is visible. */
export const messagesQuery = (botId: string, conversationId: string) =>
  infiniteQueryOptions({
    queryKey: [botId, 'conversations', conversationId, 'messages'],
    queryFn: ({ pageParam }) => clientOf({ botId }).listMessages({ conversationId, nextToken: pageParam }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ meta }) => meta.nextToken,
    refetchInterval: liveMs,
  });
