import { type AuthenticatedClient, Client } from '@botpress/chat';
import { ParleyClient } from '@parley/transport/parley-client';
import { type Signal, signalChannel } from '@parley/contracts/chat/signals';
import type { TestResponse } from '@parley/testing/public-api';
import type { ChatBot, ChatService } from './chat-service';

interface Frame {
  type: string;
  data: Record<string, unknown>;
}

export interface ChatApi {
  bot: ChatBot;
  webhookId: string;
  url: string;
  client: Client;
  newUser(foreignId?: string): Promise<AuthenticatedClient>;
  send(line: string, options?: { key?: string; json?: unknown; body?: string }): Promise<TestResponse>;
  /** Signals of the conversation from now on; `conversationId` is the platform id. */
  listen(conversationId: string): Promise<{ heard: Signal[]; frames: () => Frame[] }>;
}

export async function newChatApi(api: ChatService, encryptionKey?: string): Promise<ChatApi> {
  const bot = await api.newBot();
  const installation = Object.values((await api.alice.client.getBot({ id: bot.id })).bot.integrations).find(
    ({ name }) => name === 'chat',
  )!;
  const { webhookId } = installation;
  const url = `${api.url}/chat/${webhookId}`;
  const endpoint: ChatApi = {
    bot,
    webhookId,
    url,
    client: new Client({ apiUrl: url }),
    newUser: (userId) => Client.connect({ apiUrl: url, userId }),
    send: (line, { key, ...content } = {}) =>
      api.send(line.replace(' ', ` /chat/${webhookId}`), {
        ...content,
        headers: {
          ...(content.body === undefined ? {} : { 'content-type': 'application/json' }),
          ...(key === undefined ? {} : { 'x-user-key': key }),
        },
      }),
    listen: async (conversationId) => {
      const heard: Signal[] = [];
      const bus = api.apps.at(-1)!.get(ParleyClient, { strict: false });
      await bus.subscribe(signalChannel, conversationId, (signal) => {
        heard.push(signal);
      }).live;
      const frames = () => heard.map(({ frame }) => JSON.parse(frame ?? 'null') as Frame);
      return { heard, frames };
    },
  };
  if (encryptionKey !== undefined) await configureChat(api, bot.id, { configuration: { encryptionKey } });
  return endpoint;
}

export async function configureChat(api: ChatService, botId: string, changes: object): Promise<void> {
  const { status, text } = await api.send(`PUT /v1/admin/bots/${botId}`, {
    headers: { ...api.headersOf(), 'x-multiple-integrations': 'true' },
    json: { integrations: { chat: { integrationId: 'intver_00000000000000000000000001', ...changes } } },
  });
  if (status !== 200) throw new Error(text);
}
