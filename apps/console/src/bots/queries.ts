import type { Client } from '@botpress/client';
import { queryOptions } from '@tanstack/react-query';
import { clientOf } from '../api/client';
import { pathOf, request } from '../api/request';

export interface BotParams {
  workspaceId: string;
  botId: string;
}

export const botKey = ({ workspaceId, botId }: BotParams) => [workspaceId, 'bots', botId];

type Versions = Awaited<ReturnType<Client['listBotVersions']>> & { deployedId?: string };

export const versionsQuery = ({ workspaceId, botId }: BotParams) =>
  queryOptions({
    queryKey: [...botKey({ workspaceId, botId }), 'versions'],
    // `deployedId` is an addition of Parley, which the public client passes on.
    queryFn: (): Promise<Versions> => clientOf({ workspaceId }).listBotVersions({ id: botId }),
  });

export const apiKeysQuery = ({ workspaceId, botId }: BotParams) =>
  queryOptions({
    queryKey: [...botKey({ workspaceId, botId }), 'keys'],
    queryFn: async () => (await clientOf({ workspaceId }).listBotApiKeys({ botId })).baks,
  });

const maxIntegrations = 500;

/** Integrations of the workspace, and public ones of others. */
export const integrationsQuery = (workspaceId: string) =>
  queryOptions({
    queryKey: [workspaceId, 'integrations'],
    queryFn: async () => {
      const { list } = clientOf({ workspaceId });
      const [own, all] = await Promise.all([
        list.integrations({}).collect({ limit: maxIntegrations }),
        list.publicIntegrations({ sortBy: 'name' }).collect({ limit: maxIntegrations }),
      ]);
      return [...own, ...all.filter(({ id }) => own.every((known) => known.id !== id))];
    },
  });

export const integrationQuery = (workspaceId: string, id: string) =>
  queryOptions({
    queryKey: [workspaceId, 'integrations', id],
    queryFn: async () => (await clientOf({ workspaceId }).getIntegration({ id })).integration,
  });

export interface InstallationLink {
  link: string | null;
  problem: string | null;
}

export const linkQuery = ({ workspaceId, botId }: BotParams, alias: string) =>
  queryOptions({
    queryKey: [...botKey({ workspaceId, botId }), 'links', alias],
    queryFn: () =>
      request<InstallationLink>({ workspaceId, path: pathOf`/v1/admin/bots/${botId}/integrations/${alias}/link` }),
  });
