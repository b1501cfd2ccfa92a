import { randomBytes } from 'node:crypto';
import { answerBytes, answerJson, answerWith, ModelServer } from '@parley/testing/model-server';
import { type Account, configured, type PublicApi, startPublicApi } from '@parley/testing/public-api';
import { recordSpans } from '@parley/tracing/test/recorded-spans';
import { AdminModule } from '../../../admin/src/admin.module';
import { GatewayModule } from '../../../gateway/src/gateway.module';
import { HubModule } from '../../../hub/src/hub.module';
import { ModelsConfig } from '../config';
import { ModelsModule } from '../models.module';

let api: PublicApi;
let account: Account;
let upstream: ModelServer;
let recorded: ReturnType<typeof recordSpans>;

beforeAll(async () => {
  recorded = recordSpans();
  upstream = await ModelServer.start();
  const names = {
    completionsModelTranscription: 'ears',
    completionsModelSpeech: 'mouth',
    completionsModelImage: 'brush',
  };
  api = await startPublicApi(
    GatewayModule,
    AdminModule,
    HubModule,
    configured(ModelsModule, ModelsConfig, { completionsUrl: upstream.url, completionsCacheSeconds: 0, ...names }),
  );
  account = await api.newAccount();
});

afterAll(async () => {
  await api?.stop();
  await upstream?.stop();
  await recorded?.stop();
});

beforeEach(() => {
  upstream.answer = answerWith('hello');
});

async function newBot() {
  const { bot } = await account.client.createBot({});
  const headers = { authorization: `Bearer ${account.token}`, 'x-bot-id': bot.id };
  const post = (path: string, json: object, more: object = {}) =>
    api.send(`POST ${path}`, { headers: { ...headers, ...more }, json });
  return {
    id: bot.id,
    post,
    generate: (metadata: object) =>
      post('/v2/cognitive/generate-text', { messages: [{ role: 'user', content: 'hi' }], meta: { metadata } }),
    list: (query = '') => api.send(`GET /v1/ai/calls${query}`, { headers }),
  };
}

it('lists the calls of a bot, newest first, by pages', async () => {
  const bot = await newBot();
  const other = await newBot();
  await other.generate({});
  for (const conversationId of ['c1', 'c2', 'c3'])
    await bot.generate({ conversationId, eventId: `of-${conversationId}` });

  const { json: first } = await bot.list('?limit=2');
  const { json: second } = await bot.list(`?limit=2&nextToken=${first.meta.nextToken}`);

  const conversations = [...first.calls, ...second.calls].map(
    (call: { conversationId: string }) => call.conversationId,
  );
  expect(conversations).toEqual(['c3', 'c2', 'c1']);
  expect(second.meta).toEqual({});
  expect(first.calls[0]).toMatchObject({
    ...{ kind: 'chat', model: 'default:gpt-4.1-mini', provider: 'default', wantedModel: 'auto', eventId: 'of-c3' },
    ...{ inputTokens: 10, outputTokens: 5, cost: 0, estimated: false, cached: false, fallbacks: 0, finish: 'stop' },
  });
});

it('lists the calls of one conversation, or of one event', async () => {
  const bot = await newBot();
  for (const conversationId of ['c1', 'c2']) await bot.generate({ conversationId, eventId: `of-${conversationId}` });

  for (const query of ['?conversationId=c1', '?eventId=of-c1'])
    expect((await bot.list(query)).json.calls).toEqual([expect.objectContaining({ conversationId: 'c1' })]);
});

it('returns 400 for the token of another list', async () => {
  const bot = await newBot();
  for (const conversationId of ['c1', 'c1']) await bot.generate({ conversationId });
  const { json } = await bot.list('?limit=1');

  const { status } = await bot.list(`?limit=1&conversationId=c1&nextToken=${json.meta.nextToken}`);

  expect(status).toBe(400);
});

it.each([
  ['chat', '/v1/ai/chat/completions', { model: 'auto', messages: [{ role: 'user', content: 'hi' }] }, answerWith('x')],
  [
    'embeddings',
    '/v1/ai/embeddings',
    { model: 'gpt-4.1-mini', input: 'x' },
    answerJson({ data: [], usage: { prompt_tokens: 3 } }),
  ],
  [
    'generate_content',
    '/v2/cognitive/transcribe-audio',
    { url: `data:audio/mpeg;base64,${Buffer.from('ID3').toString('base64')}` },
    answerJson({ text: 'hi', usage: { input_tokens: 4, output_tokens: 2 } }),
  ],
  [
    'generate_content',
    '/v2/cognitive/generate-audio-stream',
    { model: 'auto', input: 'hi' },
    answerBytes('audio/mpeg', Buffer.from('ID3')),
  ],
] as const)('records a span of %s for %s, in the trace of the caller', async (operation, path, body, answer) => {
  const bot = await newBot();
  upstream.answer = answer;
  const traceId = randomBytes(16).toString('hex');

  const { status } = await bot.post(path, body, { traceparent: `00-${traceId}-${'1'.repeat(16)}-01` });

  expect(status).toBe(200);
  const spans = recorded.spans().filter((span) => span.traceId === traceId);
  const call = spans.find(({ attributes }) => attributes['gen_ai.operation.name'] !== undefined);
  expect(call?.attributes).toMatchObject({
    'gen_ai.operation.name': operation,
    'gen_ai.provider.name': 'default',
    'gen_ai.request.model': expect.any(String) as string,
    'gen_ai.response.model': expect.any(String) as string,
    'gen_ai.usage.input_tokens': expect.any(Number) as number,
  });
  expect(spans.map(({ id }) => id)).toContain(call!.parentId);
  expect((await bot.list()).json.calls).toMatchObject([{ traceId }]);
});
