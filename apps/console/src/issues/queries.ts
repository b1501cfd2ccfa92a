import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query';
import { clientOf } from '../api/client';

export const issuesKey = (botId: string) => [botId, 'issues'];

export const issuesQuery = (workspaceId: string, botId: string) =>
  infiniteQueryOptions({
    queryKey: issuesKey(botId),
    queryFn: ({ pageParam }) => clientOf({ workspaceId }).listBotIssues({ id: botId, nextToken: pageParam }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ meta }) => meta.nextToken,
  });

export const issueEventsQuery = (workspaceId: string, botId: string, issueId: string) =>
  queryOptions({
    queryKey: [botId, 'issues', issueId],
    queryFn: async () => (await clientOf({ workspaceId }).listBotIssueEvents({ id: botId, issueId })).issueEvents,
  });
