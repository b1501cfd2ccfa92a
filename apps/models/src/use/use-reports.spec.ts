import { answerWith, ModelServer } from '@parley/testing/model-server';
import { type Account, configured, type PublicApi, startPublicApi } from '@parley/testing/public-api';
import { waitFor } from '@parley/testing/wait-for';
import { writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { AdminModule } from '../../../admin/src/admin.module';
import { ChatModule } from '../../../chat/src/chat.module';
import { ChatConfig } from '../../../chat/src/config';
import { GatewayModule } from '../../../gateway/src/gateway.module';
import { HubModule } from '../../../hub/src/hub.module';
import { RuntimeConfig } from '../../../runtime/src/config';
import { RuntimeModule } from '../../../runtime/src/runtime.module';
import { CachedCallsService } from '../budgets/cached-calls.service';
import { ModelsConfig } from '../config';
import { ModelsModule } from '../models.module';
import { UseReportsService } from './use-reports.service';

let api: PublicApi;
let account: Account;
let upstream: ModelServer;
let folder: string;

beforeAll(async () => {
  upstream = await ModelServer.start();
  folder = await mkdtemp(join(tmpdir(), 'parley-use-'));
  const file = join(folder, 'providers.json');
  const model = { name: 'm', prices: { input: 1_000, output: 2_000 } };
  writeFileSync(file, JSON.stringify({ providers: [{ name: 'priced', url: upstream.url, models: [model] }] }));
  api = await startPublicApi(
    GatewayModule,
    AdminModule,
    HubModule,
    configured(ChatModule, ChatConfig, {}),
    configured(RuntimeModule, RuntimeConfig, {}),
    configured(ModelsModule, ModelsConfig, { completionsProvidersFile: file }),
  );
  account = await api.newAccount();
  upstream.answer = answerWith('x', { usage: { prompt_tokens: 7, completion_tokens: 3 } });
});

afterAll(async () => {
  await api?.stop();
  await upstream?.stop();
  await rm(folder, { recursive: true, force: true });
});

async function newBot() {
  const { bot } = await account.client.createBot({});
  const headers = { authorization: `Bearer ${account.token}`, 'x-bot-id': bot.id };
  const generate = (content: string) =>
    api.send('POST /v2/cognitive/generate-text', { headers, json: { messages: [{ role: 'user', content }] } });
  return { id: bot.id, generate };
}

const models = () => api.apps.at(-1)!;

async function report(): Promise<void> {
  await models().get(CachedCallsService, { strict: false }).write();
  while (await models().get(UseReportsService, { strict: false }).report());
}

const spentBy = async (id: string) => (await account.client.getUsage({ id, type: 'ai_spend' })).usage.value;

async function llmOf(id: string) {
  const today = new Date().toISOString();
  const { records } = await account.client.getBotAnalytics({ id, startDate: today, endDate: today });
  return records[0]!.llm;
}

it('reports calls to the analytics of the bot, with errors and cached answers', async () => {
  const bot = await newBot();
  await bot.generate('one');
  await bot.generate('one');
  const { answer } = upstream;
  upstream.answer = (_request, response) => void response.writeHead(500).end('{}');
  await bot.generate('two');
  upstream.answer = answer;

  await report();

  const llm = await waitFor(
    () => llmOf(bot.id),
    ({ calls }) => calls === 3,
  );
  expect(llm).toMatchObject({ errors: 1, inputTokens: 7, outputTokens: 3, cost: { sum: 0.013, min: 0, max: 0.013 } });
  expect(llm.latency.max).toBeGreaterThanOrEqual(llm.latency.min);
  const calls = await api.sql('SELECT is_cached, cost FROM models.model_call WHERE bot_id = $1 ORDER BY id', [bot.id]);
  expect(calls[1]).toEqual({ is_cached: true, cost: '0' });
});

it('reports the money that was spent in the month to the usage, by bot and workspace', async () => {
  const other = await api.newAccount();
  const before = await spentBy(account.workspaceId);
  const bots = [await newBot(), await newBot()];
  await Promise.all(bots.map(({ generate }) => generate('hi')));
  await bots[0]!.generate('again');

  await report();

  await waitFor(async () => Math.abs((await spentBy(bots[0]!.id)) - 0.026) < 1e-9);
  await waitFor(async () => Math.abs((await spentBy(account.workspaceId)) - before - 0.039) < 1e-9);
  const { data } = await account.client.listUsageActivityDaily({ id: bots[1]!.id, type: 'ai_spend' });
  expect(data).toEqual([expect.objectContaining({ date: new Date().toISOString().slice(0, 10), value: 0.013 })]);
  expect((await account.client.listUsageActivity({ id: bots[1]!.id, type: 'ai_spend' })).data).toHaveLength(1);
  await expect(other.client.getUsage({ id: bots[0]!.id, type: 'ai_spend' })).rejects.toMatchObject({ code: 404 });
});

it('reports the same figures when it repeats a time, and none without new calls', async () => {
  const bot = await newBot();
  await bot.generate('hi');
  await report();
  await waitFor(async () => (await llmOf(bot.id)).calls === 1);
  const reports = async () =>
    (await api.sql(`SELECT 1 FROM models.outbox WHERE data ->> 'botId' = $1`, [bot.id])).length;

  await api.sql(`UPDATE models.use_report SET reported_until = now() - interval '30 minutes'`);
  await report();
  await waitFor(async () => (await reports()) >= 4);
  expect((await llmOf(bot.id)).calls).toBe(1);
  expect(await spentBy(bot.id)).toBeCloseTo(0.013, 9);

  const before = await reports();
  await api.sql(`UPDATE models.model_call SET created_at = now() - interval '5 minutes' WHERE bot_id = $1`, [bot.id]);
  await report();
  expect(await reports()).toBe(before);
});

it('keeps the money that a deleted bot has spent in the usage of its workspace', async () => {
  const before = await spentBy(account.workspaceId);
  const bot = await newBot();
  await bot.generate('hi');

  await account.client.deleteBot({ id: bot.id });

  await waitFor(async () => Math.abs((await spentBy(account.workspaceId)) - before - 0.013) < 1e-9);
});

it('makes issues of the bot whose calls use up a budget, also that of its workspace', async () => {
  const other = await api.newAccount();
  const { bot } = await other.client.createBot({});
  await other.client.changeAISpendQuota({ monthlySpendingLimit: 0.04 });
  await waitFor(async () => {
    const rows = await api.sql('SELECT 1 FROM models.budget WHERE scope_id = $1', [other.workspaceId]);
    return rows.length > 0;
  });
  const headers = { authorization: `Bearer ${other.token}`, 'x-bot-id': bot.id };
  const statuses = [];
  for (const content of ['a', 'b', 'c', 'd']) {
    const json = { messages: [{ role: 'user', content }], maxTokens: 2 };
    statuses.push((await api.send('POST /v2/cognitive/generate-text', { headers, json })).status);
  }

  expect(statuses).toEqual([200, 200, 200, 403]);
  const issues = await waitFor(
    async () => (await other.client.listBotIssues({ id: bot.id })).issues,
    ({ length }) => length === 2,
  );
  expect(issues.map(({ code }) => code).sort()).toEqual(['model_budget_near', 'model_budget_reached']);
  expect(issues[0]!.groupedData['scope']).toEqual({ raw: 'workspace' });
});
