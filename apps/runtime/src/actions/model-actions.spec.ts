import { answerWith, ModelServer } from '@parley/testing/model-server';
import { type Account, configured, type PublicApi, startPublicApi } from '@parley/testing/public-api';
import { AdminModule } from '../../../admin/src/admin.module';
import { ChatConfig } from '../../../chat/src/config';
import { ChatModule } from '../../../chat/src/chat.module';
import { GatewayModule } from '../../../gateway/src/gateway.module';
import { HubModule } from '../../../hub/src/hub.module';
import { ModelsConfig } from '../../../models/src/config';
import { ModelsModule } from '../../../models/src/models.module';
import { RuntimeConfig } from '../config';
import { RuntimeModule } from '../runtime.module';

let api: PublicApi;
let account: Account;
let upstream: ModelServer;

beforeAll(async () => {
  upstream = await ModelServer.start();
  api = await startPublicApi(
    GatewayModule,
    AdminModule,
    HubModule,
    configured(ChatModule, ChatConfig, { sweepIntervalMs: 100 }),
    configured(RuntimeModule, RuntimeConfig),
    configured(ModelsModule, ModelsConfig, { completionsUrl: upstream.url }),
  );
  account = await api.newAccount();
});

afterAll(async () => {
  await api?.stop();
  await upstream?.stop();
});

async function newBot() {
  const { bot } = await account.client.createBot({});
  return api.client(account.token, account.workspaceId, bot.id);
}

it('answers model actions for a bot without an integration of that name', async () => {
  const client = await newBot();
  upstream.answer = answerWith('hello');

  const input = { model: { id: 'gpt-4.1-mini' }, messages: [{ role: 'user', content: 'hi', type: 'text' }] };
  const { output } = await client.callAction({ type: 'openai:generateContent', input });

  expect(output).toMatchObject({
    ...{ provider: 'default', model: 'default:gpt-4.1-mini', botpress: { cost: 0 } },
    choices: [{ type: 'text', content: 'hello', role: 'assistant', index: 0, stopReason: 'stop' }],
    usage: { inputTokens: 10, outputTokens: 5 },
  });
});

it('answers tool calls and tools in the older form', async () => {
  const client = await newBot();
  const call = { id: 'call_a', type: 'function', function: { name: 'add', arguments: '{"a":1}' } };
  upstream.answer = answerWith('', { finish: 'tool_calls', toolCalls: [call] });
  upstream.requests.length = 0;
  const tool = { name: 'add', description: 'Adds', argumentsSchema: { type: 'object' } };
  const input = {
    messages: [{ role: 'user', content: 'add' }],
    tools: [{ type: 'function', function: tool }],
    toolChoice: { type: 'specific', functionName: 'add' },
  };

  const { output } = await client.callAction({ type: 'groq:generateContent', input });

  expect(output['choices']).toMatchObject([
    { type: 'tool_calls', stopReason: 'tool_calls', toolCalls: [{ function: { name: 'add', arguments: { a: 1 } } }] },
  ]);
  expect(upstream.requests[0]!.body).toMatchObject({
    tools: [{ type: 'function', function: { name: 'add', parameters: { type: 'object' } } }],
    tool_choice: { type: 'function', function: { name: 'add' } },
  });
});

it('lists models under each of the six names, and no other', async () => {
  const client = await newBot();
  for (const name of ['google-ai', 'anthropic', 'openai', 'cerebras', 'fireworks-ai', 'groq']) {
    const { output } = await client.callAction({ type: `${name}:listLanguageModels`, input: {} });
    expect(output).toMatchObject({ models: [{ id: 'default:gpt-4.1-mini' }] });
  }

  await expect(client.callAction({ type: 'mistral:listLanguageModels', input: {} })).rejects.toMatchObject({
    type: 'ResourceNotFound',
  });
  await expect(client.callAction({ type: 'openai:generateImage', input: {} })).rejects.toMatchObject({
    type: 'ResourceNotFound',
  });
});

it('leaves the action to an integration of that name that the bot has installed', async () => {
  const { integration } = await account.client.createIntegration({
    ...{ name: 'openai', version: '1.0.0', url: 'http://127.0.0.1:1/' },
    actions: {
      generateContent: { input: { schema: { type: 'object' } }, output: { schema: { type: 'object' } } },
    },
  });
  const { bot } = await account.client.createBot({});
  await account.client.updateBot({
    id: bot.id,
    integrations: { [integration.id]: { enabled: true, configuration: {} } },
  });
  const client = api.client(account.token, account.workspaceId, bot.id);
  upstream.requests.length = 0;

  await expect(client.callAction({ type: 'openai:generateContent', input: { messages: [] } })).rejects.toMatchObject({
    message: expect.stringContaining('did not register'),
  });
  expect(upstream.requests).toHaveLength(0);
});
