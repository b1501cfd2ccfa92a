import { queryOptions } from '@tanstack/react-query';
import { clientOf } from './client';
import { request } from './request';

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

/** Whether the signed-in person may see and change the background work of all workspaces. */
export const operatorQuery = queryOptions({
  queryKey: ['operator', 'access'],
  queryFn: async () => (await request<{ isOperator: boolean }>({ path: '/v1/admin/operator-access' })).isOperator,
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
