import { queryOptions } from '@tanstack/react-query';
import { clientOf } from '../api/client';

export const versionsQuery = (workspaceId: string, botId: string) =>
  queryOptions({
    queryKey: [workspaceId, 'bots', botId, 'versions'],
    queryFn: async () => (await clientOf({ workspaceId }).listBotVersions({ id: botId })).versions,
  });

export const apiKeysQuery = (workspaceId: string, botId: string) =>
  queryOptions({
    queryKey: [workspaceId, 'bots', botId, 'keys'],
    queryFn: async () => (await clientOf({ workspaceId }).listBotApiKeys({ botId })).baks,
  });
