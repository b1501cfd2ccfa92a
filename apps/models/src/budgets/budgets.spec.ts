import { answerWith, ModelServer } from '@parley/testing/model-server';
import { type Account, configured, type PublicApi, startPublicApi } from '@parley/testing/public-api';
import { waitFor } from '@parley/testing/wait-for';
import { writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { AdminModule } from '../../../admin/src/admin.module';
import { GatewayModule } from '../../../gateway/src/gateway.module';
import { HubModule } from '../../../hub/src/hub.module';
import { ModelsConfig } from '../config';
import { ModelsModule } from '../models.module';
import { BudgetsService } from './budgets.service';
import type { SpendRepository } from './spend.repository';

let api: PublicApi;
let account: Account;
let upstream: ModelServer;
let folder: string;

const month = new Date().toISOString().slice(0, 7);

beforeAll(async () => {
  upstream = await ModelServer.start();
  folder = await mkdtemp(join(tmpdir(), 'parley-budgets-'));
  const file = join(folder, 'providers.json');
  const model = { name: 'm', prices: { input: 1, output: 2 } };
  writeFileSync(file, JSON.stringify({ providers: [{ name: 'priced', url: upstream.url, models: [model] }] }));
  api = await startPublicApi(
    GatewayModule,
    AdminModule,
    HubModule,
    configured(ModelsModule, ModelsConfig, { completionsProvidersFile: file, completionsCacheSeconds: 0 }),
  );
  account = await api.newAccount();
});

afterAll(async () => {
  await api?.stop();
  await upstream?.stop();
  await rm(folder, { recursive: true, force: true });
});

async function newBot() {
  const { bot } = await account.client.createBot({});
  const headers = { authorization: `Bearer ${account.token}`, 'x-bot-id': bot.id };
  const generate = (json: object = {}) =>
    api.send('POST /v2/cognitive/generate-text', {
      headers,
      json: { messages: [{ role: 'user', content: 'hi' }], maxTokens: 5, ...json },
    });
  const limit = (cost: number | null, tokens: number | null) =>
    api.sql(
      `INSERT INTO models.budget (scope, scope_id, max_cost, max_tokens) VALUES ('bot', $1, $2, $3)
       ON CONFLICT (scope, scope_id) DO UPDATE SET max_cost = $2, max_tokens = $3`,
      [bot.id, cost, tokens],
    );
  const spent = async () =>
    (
      await api.sql<Record<string, string>>(
        `SELECT settled_cost, settled_tokens, reserved_cost, reserved_tokens FROM models.spend WHERE scope = 'bot' AND scope_id = $1`,
        [bot.id],
      )
    )[0]!;
  return { id: bot.id, generate, limit, spent };
}

const usage = { prompt_tokens: 7, completion_tokens: 3 };

it('settles a call at the tokens that the provider counted, at its prices', async () => {
  const bot = await newBot();
  upstream.answer = answerWith('x', { usage });

  const { json } = await bot.generate();

  expect(json.metadata).toMatchObject({ cost: 13e-6, usage: { inputCost: 7e-6, outputCost: 6e-6 } });
  expect(await bot.spent()).toEqual({
    ...{ settled_cost: '13000', settled_tokens: '10', reserved_cost: '0', reserved_tokens: '0' },
  });
});

it('keeps to a budget with 200 calls at once, and lets as many pass as it holds', async () => {
  const bot = await newBot();
  // A call reserves 9 tokens of the prompt and 5 of the answer, and uses all of them.
  upstream.answer = answerWith('x', { usage: { prompt_tokens: 9, completion_tokens: 5 } });
  await bot.limit(null, 14 * 50 + 13);

  const answers = await Promise.all(Array.from({ length: 200 }, () => bot.generate()));

  const refused = answers.filter(({ status }) => status === 403);
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(50);
  expect(refused).toHaveLength(150);
  expect(refused[0]!.json).toMatchObject({ type: 'QuotaExceeded', metadata: { scope: 'bot', month } });
  expect(await bot.spent()).toMatchObject({ settled_tokens: '700', reserved_tokens: '0' });
});

it('refuses a call that could cost more than the budget has left', async () => {
  const bot = await newBot();
  upstream.requests.length = 0;
  await bot.limit(1_000, null);

  expect(await bot.generate({ maxTokens: 1_000 })).toMatchObject({ status: 403 });
  expect(upstream.requests).toHaveLength(0);
});

it('sends the longest answer that it has reserved, where a budget applies and the request names none', async () => {
  const [limited, free] = [await newBot(), await newBot()];
  await limited.limit(null, 1_000_000);
  upstream.requests.length = 0;

  await limited.generate({ maxTokens: undefined });
  await free.generate({ maxTokens: undefined });

  expect(upstream.requests.map(({ body }) => body['max_completion_tokens'])).toEqual([8_192, undefined]);
});

it('stops a bot at the budget of its workspace', async () => {
  const other = await api.newAccount();
  const { bot } = await other.client.createBot({});
  await api.sql(`INSERT INTO models.budget (scope, scope_id, max_tokens) VALUES ('workspace', $1, 1)`, [
    other.workspaceId,
  ]);

  const { status, json } = await api.send('POST /v2/cognitive/generate-text', {
    headers: { authorization: `Bearer ${other.token}`, 'x-bot-id': bot.id },
    json: { messages: [{ role: 'user', content: 'hi' }] },
  });
  expect({ status, metadata: json.metadata }).toEqual({ status: 403, metadata: { scope: 'workspace', month } });
});

it('gives back what a failed call had reserved', async () => {
  const bot = await newBot();
  upstream.answer = (_request, response) => void response.writeHead(500).end('{}');

  expect((await bot.generate()).status).toBe(503);
  expect(await bot.spent()).toEqual({
    ...{ settled_cost: '0', settled_tokens: '0', reserved_cost: '0', reserved_tokens: '0' },
  });
});

it('settles the reservation of a process that died: at what had streamed, else at its full amount', async () => {
  const bot = await newBot();
  upstream.answer = answerWith('x', { usage });
  await bot.generate();
  const call = JSON.stringify({ kind: 'chat', wanted_model: 'auto' });
  for (const [id, streamed] of [
    ['mcall_full', null],
    ['mcall_part', 4],
  ])
    await api.sql(
      `INSERT INTO models.reservation (id, bot_id, workspace_id, month, cost, tokens, streamed_cost, streamed_tokens, call, renewed_at)
       VALUES ($1, $2, $3, $4, 100, 10, $5, $5, $6, now() - interval '95 seconds')`,
      [id, bot.id, account.workspaceId, month, streamed, call],
    );
  await api.sql(
    `UPDATE models.spend SET reserved_cost = reserved_cost + 200, reserved_tokens = reserved_tokens + 20 WHERE scope_id IN ($1, $2)`,
    [bot.id, account.workspaceId],
  );

  await api.apps[3]!.get(BudgetsService, { strict: false }).settleLapsed();

  await waitFor(async () => (await bot.spent())['reserved_tokens'] === '0');
  expect(await bot.spent()).toEqual({
    ...{ settled_cost: '13104', settled_tokens: '24', reserved_cost: '0', reserved_tokens: '0' },
  });
});

it('leaves a call whose settlement fails to lapse, and does not settle it as free', async () => {
  const settle = jest.fn().mockRejectedValue(new Error('the database is away'));
  const spend = { reserve: () => Promise.resolve({ isLimited: true }), settle } as unknown as SpendRepository;
  const call = {
    ...{ payer: { botId: 'b', workspaceId: 'w', month }, most: { cost: 9, tokens: 9 }, started: 0 },
    planned: { kind: 'chat', wanted_model: 'auto' },
  };
  const record = {
    ...{ input_tokens: 1, output_tokens: 1, cost: 2, is_estimated: false, is_cached: false },
    ...{ fallbacks: 0, latency_ms: 1, finish: 'stop' },
  };

  const answer = new BudgetsService(spend).run(call, () =>
    Promise.resolve({ result: 'x', amount: { cost: 2, tokens: 2 }, record }),
  );

  await expect(answer).rejects.toThrow('the database is away');
  expect(settle).toHaveBeenCalledTimes(1);
});
