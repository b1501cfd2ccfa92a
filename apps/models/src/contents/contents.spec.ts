import { answerWith, beginStream, failWith, ModelServer, sendChunk } from '@parley/testing/model-server';
import { type Account, configured, type PublicApi, startPublicApi } from '@parley/testing/public-api';
import { AdminModule } from '../../../admin/src/admin.module';
import { GatewayModule } from '../../../gateway/src/gateway.module';
import { HubModule } from '../../../hub/src/hub.module';
import { ModelsConfig } from '../config';
import { ModelsModule } from '../models.module';
import { ContentsService } from './contents.service';
import { EraseContentsHandler } from './erase-contents.handler';

let api: PublicApi;
let account: Account;
let upstream: ModelServer;

beforeAll(async () => {
  upstream = await ModelServer.start();
  api = await startPublicApi(
    GatewayModule,
    AdminModule,
    HubModule,
    configured(ModelsModule, ModelsConfig, { completionsUrl: upstream.url, completionsCacheSeconds: 0 }),
  );
  account = await api.newAccount();
});

afterAll(async () => {
  await api?.stop();
  await upstream?.stop();
});

beforeEach(() => {
  upstream.answer = answerWith('the secret answer');
});

async function newBot() {
  const { bot } = await account.client.createBot({});
  const headers = { authorization: `Bearer ${account.token}`, 'x-bot-id': bot.id };
  const messages = [{ role: 'user', content: 'the secret question' }];
  const post = (path: string, json: object = { messages }) => api.send(`POST ${path}`, { headers, json });
  return {
    id: bot.id,
    generate: (json: object = { messages }) => post('/v2/cognitive/generate-text', json),
    complete: (more: object = {}) => post('/v1/ai/chat/completions', { model: 'auto', messages, ...more }),
    keep: (kept: boolean) => api.send('PUT /v1/ai/contents', { headers, json: { kept } }),
    settings: () => api.send('GET /v1/ai/contents', { headers }),
    calls: async (query = '?contents=true') => (await api.send(`GET /v1/ai/calls${query}`, { headers })).json.calls,
    stored: () => api.sql('SELECT sealed FROM models.call_content WHERE bot_id = $1', [bot.id]),
  };
}

it('keeps no prompt and no answer unless a person asks for it', async () => {
  const bot = await newBot();

  await bot.generate();

  expect((await bot.settings()).json).toEqual({ kept: false, days: 7 });
  expect(await bot.stored()).toEqual([]);
  expect((await bot.calls())[0]).not.toHaveProperty('prompt');
});

it('keeps prompts and answers encrypted, of whole and streamed calls, and shows them on request', async () => {
  const bot = await newBot();
  expect((await bot.keep(true)).json).toEqual({ kept: true, days: 7 });

  await bot.generate();
  upstream.answer = (_request, response) => {
    beginStream(response);
    sendChunk(response, { content: 'in ' });
    sendChunk(response, { content: 'parts' }, 'stop');
    response.end('data: [DONE]\n\n');
  };
  await bot.complete({ stream: true });

  const stored = await bot.stored();
  expect(stored).toHaveLength(2);
  expect(JSON.stringify(stored)).not.toContain('secret');
  const [streamed, whole] = await bot.calls();
  expect(JSON.parse(whole.prompt)).toMatchObject({ messages: [{ role: 'user', content: 'the secret question' }] });
  expect(JSON.parse(whole.answer)).toMatchObject({ output: 'the secret answer', stopReason: 'stop' });
  expect(JSON.parse(streamed.answer)).toMatchObject({ output: 'in parts' });
  expect((await bot.calls(''))[0]).not.toHaveProperty('prompt');
});

it('cuts a long prompt', async () => {
  const bot = await newBot();
  await bot.keep(true);

  await bot.generate({ messages: [{ role: 'user', content: 'x'.repeat(300_000) }] });

  expect((await bot.calls())[0].prompt).toHaveLength(256_000);
});

it('deletes prompts and answers when the setting ends, and shows none of them when it begins again', async () => {
  const bot = await newBot();
  await bot.keep(true);
  await bot.generate();
  const [{ id }] = await bot.calls();

  await bot.keep(false);
  await bot.generate();

  expect(await bot.stored()).toEqual([]);
  await api.sql(
    `INSERT INTO models.call_content (call_id, bot_id, sealed, created_at) VALUES ($1, $2, 'left', now() - interval '1 minute')`,
    [id, bot.id],
  );
  await bot.keep(true);
  expect((await bot.calls()).map(({ prompt }: { prompt?: string }) => prompt)).toEqual([undefined, undefined]);
});

it('answers a call whose contents cannot be kept', async () => {
  const bot = await newBot();
  await bot.keep(true);
  await api.sql('ALTER TABLE models.call_content RENAME TO call_content_away');

  const { status, json } = await bot.generate();
  await api.sql('ALTER TABLE models.call_content_away RENAME TO call_content');

  expect({ status, output: json.output }).toEqual({ status: 200, output: 'the secret answer' });
  expect(await bot.stored()).toEqual([]);
});

it('leaves out contents under a secret key that is gone, and calls that failed', async () => {
  const bot = await newBot();
  await bot.keep(true);
  await bot.generate();
  await api.sql(`UPDATE models.call_content SET sealed = '00000000.' || sealed WHERE bot_id = $1`, [bot.id]);
  upstream.answer = failWith(500);
  await bot.generate();

  const calls = await bot.calls();

  expect(calls).toHaveLength(2);
  expect(calls.map(({ prompt }: { prompt?: string }) => prompt)).toEqual([undefined, undefined]);
});

it('deletes the prompts and answers of an erased conversation', async () => {
  const bot = await newBot();
  await bot.keep(true);
  const messages = [{ role: 'user', content: 'hi' }];
  for (const conversationId of ['erased', 'other'])
    await bot.generate({ messages, meta: { metadata: { conversationId } } });

  for (const subject of [{ conversationId: 'erased' }, { userId: 'someone' }])
    await api.apps
      .at(-1)!
      .get(EraseContentsHandler, { strict: false })
      .erase({ botId: bot.id, ...subject });

  const kept = (await bot.calls()).filter(({ prompt }: { prompt?: string }) => prompt !== undefined);
  expect(kept).toMatchObject([{ conversationId: 'other' }]);
});

it('deletes prompts and answers after seven days', async () => {
  const bot = await newBot();
  await bot.keep(true);
  await bot.generate();
  await bot.generate();
  await api.sql(
    `UPDATE models.call_content SET created_at = now() - interval '169 hours'
     WHERE call_id = (SELECT min(call_id) FROM models.call_content WHERE bot_id = $1)`,
    [bot.id],
  );

  await api.apps.at(-1)!.get(ContentsService, { strict: false }).deleteOld();

  expect(await bot.stored()).toHaveLength(1);
});

it('lets only people change the setting', async () => {
  const { bot } = await account.client.createBot({});
  const { value } = await account.client.createBotApiKey({ botId: bot.id });
  const headers = { authorization: `Bearer ${value}`, 'x-bot-id': bot.id };

  const { status } = await api.send('PUT /v1/ai/contents', { headers, json: { kept: true } });

  expect(status).toBe(403);
});
