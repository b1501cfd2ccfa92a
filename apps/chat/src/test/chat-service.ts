import { Client } from '@botpress/client';
import { type Account, configured, type PublicApi, startPublicApi } from '@parley/testing/public-api';
import { AdminModule } from '../../../admin/src/admin.module';
import { GatewayModule } from '../../../gateway/src/gateway.module';
import { HubModule } from '../../../hub/src/hub.module';
import { ChatModule } from '../chat.module';
import { ChatConfig } from '../config';

/** Bot with two installations: the native chat, and `team` of the integration slack. */
export interface ChatBot {
  id: string;
  client: Client;
  asTeam: Client;
}

export interface ChatService extends PublicApi {
  alice: Account;
  /** Version id of the integration slack, which has the channels group and direct. */
  integrationId: string;
  headersOf: (botId?: string) => Record<string, string>;
  newBot: (definition?: Parameters<Client['createBot']>[0]) => Promise<ChatBot>;
}

/** Starts gateway, admin, a hub with one integration, and the chat service. */
export async function startChat(changes: Partial<ChatConfig> = {}): Promise<ChatService> {
  const chat = configured(ChatModule, ChatConfig, { sweepIntervalMs: 100, ...changes });
  const api = await startPublicApi(GatewayModule, AdminModule, HubModule, chat);
  const alice = await api.newAccount();
  const channels = { group: { messages: {} }, direct: { messages: {} } };
  const { integration } = await alice.client.createIntegration({ name: 'slack', version: '1.0.0', channels });
  const integrationId = integration.id;
  const headersOf = (botId?: string) => ({
    authorization: `Bearer ${alice.token}`,
    'x-workspace-id': alice.workspaceId,
    ...(botId === undefined ? {} : { 'x-bot-id': botId }),
  });
  const newBot = async (definition: Parameters<Client['createBot']>[0] = {}): Promise<ChatBot> => {
    const { id } = (await alice.client.createBot(definition)).bot;
    await api.send(`PUT /v1/admin/bots/${id}`, {
      headers: { ...headersOf(), 'x-multiple-integrations': 'true' },
      json: { integrations: { team: { integrationId } } },
    });
    const own = { apiUrl: api.url, token: alice.token, workspaceId: alice.workspaceId, botId: id };
    return { id, client: new Client(own), asTeam: new Client({ ...own, integrationAlias: 'team' }) };
  };
  return { ...api, alice, integrationId, headersOf, newBot };
}

/** Type and message of the error that the work fails with; type `none` if it succeeds. */
export async function failure(work: Promise<unknown>): Promise<{ type: string; message: string }> {
  const { type, message } = (await work.then(
    () => ({ type: 'none', message: 'It did not fail.' }),
    (reason: unknown) => reason,
  )) as { type: string; message: string };
  return { type, message };
}
