import { queryOptions } from '@tanstack/react-query';
import { clientOf } from './client';

const longMs = 60_000;

/** Queries that several pages use. Those of one page are in its folder. */
export const accountQuery = queryOptions({
  queryKey: ['account'],
  queryFn: async () => (await clientOf().getAccount({})).account,
  staleTime: longMs,
});

export const workspacesQuery = queryOptions({
  queryKey: ['workspaces'],
  queryFn: async () => (await clientOf().listWorkspaces({})).workspaces,
  staleTime: longMs,
});

export const memberQuery = (workspaceId: string) =>
  queryOptions({
    queryKey: [workspaceId, 'member'],
    queryFn: () => clientOf({ workspaceId }).getWorkspaceMember({}),
    staleTime: longMs,
  });

export const botsQuery = (workspaceId: string) =>
  queryOptions({
    queryKey: [workspaceId, 'bots'],
    queryFn: async () => {
      const list = clientOf({ workspaceId }).list.bots({});
      return list.collect({ limit: 1_000 });
    },
  });

export const botQuery = (workspaceId: string, botId: string) =>
  queryOptions({
    queryKey: [workspaceId, 'bots', botId],
    queryFn: async () => (await clientOf({ workspaceId }).getBot({ id: botId })).bot,
  });
