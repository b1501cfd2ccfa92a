import { queryOptions } from '@tanstack/react-query';
import { clientOf } from '../api/client';
import { pathOf, request } from '../api/request';
import { botKey, type BotParams } from '../bots/queries';

export interface WebchatSettings {
  title?: string;
  description?: string;
  avatarUrl?: string;
  primaryColor?: string;
  colorScheme?: 'auto' | 'light' | 'dark';
  greeting?: string;
  startingChoices?: { label: string; value: string }[];
  allowsUploads?: boolean;
  allowedOrigins?: string[];
}

const pathOfSettings = (botId: string) => pathOf`/v1/admin/bots/${botId}/webchat/settings`;

export const webchatKey = (params: BotParams) => [...botKey(params), 'webchat'];

export const settingsQuery = (params: BotParams) =>
  queryOptions({
    queryKey: [...webchatKey(params), 'settings'],
    queryFn: () => request<WebchatSettings>({ workspaceId: params.workspaceId, path: pathOfSettings(params.botId) }),
  });

/** Snippet of the element, and address of the page. */
export const snippetsQuery = (params: BotParams) =>
  queryOptions({
    queryKey: [...webchatKey(params), 'snippets'],
    queryFn: async () => {
      const client = clientOf({ workspaceId: params.workspaceId });
      const [element, page] = await Promise.all([
        client.getBotWebchat({ id: params.botId, type: 'preconfigured' }),
        client.getBotWebchat({ id: params.botId, type: 'sharableUrl' }),
      ]);
      return { element: element.code, page: page.code };
    },
  });

export function saveSettings({ workspaceId, botId }: BotParams, settings: WebchatSettings): Promise<object> {
  return request({ workspaceId, path: pathOfSettings(botId), method: 'PUT', body: settings });
}
