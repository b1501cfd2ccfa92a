import { type Budget, budgetChanged } from '@parley/contracts/admin/budgets';
import { type BudgetReached, budgetReached } from '@parley/contracts/models/use';
import { Outbox } from '@parley/events/outbox';
import { Database } from '@parley/persistence/database';
import { BackgroundTasks } from '@parley/work-queue/background-tasks.service';
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
import { AmountsHandler } from './amounts.handler';
import { BudgetNoticesRepository } from './budget-notices.repository';
import { BudgetNoticesService } from './budget-notices.service';
import { BudgetsService } from './budgets.service';
import type { SpendRepository } from './spend.repository';

let api: PublicApi;
let defaultAccount: Account;
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
  defaultAccount = await api.newAccount();
});

afterAll(async () => {
  await api?.stop();
  await upstream?.stop();
  await rm(folder, { recursive: true, force: true });
});

/** Sets a budget and waits until models knows it. */
async function setBudget({ token, workspaceId }: Account, path: string, id: string, budget: Budget): Promise<void> {
  const headers = { authorization: `Bearer ${token}`, 'x-workspace-id': workspaceId };
  const { status } = await api.send(`PUT ${path}`, { headers, json: { ...budget } });
  expect(status).toBe(200);
  const [row] = await api.sql(
    'SELECT budget_version AS version FROM admin.bot WHERE id = $1 UNION ALL SELECT budget_version FROM admin.workspace WHERE id = $1',
    [id],
  );
  await waitFor(async () => {
    const rows = await api.sql('SELECT 1 FROM models.budget WHERE scope_id = $1 AND version = $2', [
      id,
      row!['version'],
    ]);
    return rows.length > 0;
  });
}

const setOfWorkspace = (of: Account, budget: Budget) => setBudget(of, '/v1/admin/budget', of.workspaceId, budget);

async function newBot(account = defaultAccount) {
  const { bot } = await account.client.createBot({});
  const headers = { authorization: `Bearer ${account.token}`, 'x-bot-id': bot.id };
  const generate = (json: object = {}) =>
    api.send('POST /v2/cognitive/generate-text', {
      headers,
      json: { messages: [{ role: 'user', content: 'hi' }], maxTokens: 5, ...json },
    });
  const limit = (dollars: number | null, tokens: number | null) =>
    setBudget(account, `/v1/admin/bots/${bot.id}/budget`, bot.id, { dollars, tokens });
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

it('keeps to the budget of a workspace with calls of two bots at once', async () => {
  const other = await api.newAccount();
  const bots = [await newBot(other), await newBot(other)];
  upstream.answer = answerWith('x', { usage: { prompt_tokens: 9, completion_tokens: 5 } });
  await setOfWorkspace(other, { dollars: null, tokens: 14 * 30 + 13 });

  const answers = await Promise.all(Array.from({ length: 200 }, (_, n) => bots[n % 2]!.generate()));

  const refused = answers.filter(({ status }) => status === 403);
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(30);
  expect(refused[0]!.json).toMatchObject({ type: 'QuotaExceeded', metadata: { scope: 'workspace', month } });
  const spent = await Promise.all(bots.map((bot) => bot.spent()));
  expect(spent.reduce((sum, each) => sum + Number(each['settled_tokens']), 0)).toBe(420);
});

it('keeps newer amounts when an older event arrives late', async () => {
  const bot = await newBot();
  await bot.limit(1, null);
  await bot.limit(2, 3);

  await api.publish(budgetChanged, { scope: 'bot', scopeId: bot.id, dollars: 1, tokens: null, version: 1 });
  await api.publish(budgetChanged, { scope: 'bot', scopeId: 'marker', dollars: 1, tokens: null, version: 1 });

  const budgetOf = (id: string) => api.sql('SELECT max_cost, max_tokens FROM models.budget WHERE scope_id = $1', [id]);
  await waitFor(async () => (await budgetOf('marker')).length > 0);
  expect(await budgetOf(bot.id)).toEqual([{ max_cost: '2000000000', max_tokens: '3' }]);
});

it('drops budget and sums of a deleted workspace, and amounts that arrive after it', async () => {
  const { client } = defaultAccount;
  const { id } = await client.createWorkspace({ name: 'short' });
  await setOfWorkspace({ ...defaultAccount, workspaceId: id }, { dollars: 5, tokens: 5 });
  const budget = () => api.sql('SELECT max_cost, max_tokens FROM models.budget WHERE scope_id = $1', [id]);

  await client.deleteWorkspace({ id });
  const isEmpty = async () => (await budget()).every((row) => row['max_cost'] === null);
  await waitFor(isEmpty);
  await api.apps[3]!.get(AmountsHandler, { strict: false }).keep({
    scope: 'workspace',
    scopeId: id,
    dollars: 1,
    tokens: 1,
    version: 9,
  });

  expect(await budget()).toEqual([{ max_cost: null, max_tokens: null }]);
});

describe('notices', () => {
  const noticesOf = async (...ids: string[]) =>
    (
      await api.sql<{ data: BudgetReached }>(`SELECT data FROM models.outbox WHERE subject = $1 ORDER BY id`, [
        budgetReached.subject,
      ])
    )
      .map(({ data }) => data)
      .filter(({ botId }) => ids.includes(botId));
  const written = () => api.apps[3]!.get(BudgetNoticesService, { strict: false }).write();

  it('announces a budget once at 80 % and once when it refuses calls', async () => {
    const bot = await newBot();
    upstream.answer = answerWith('x', { usage: { prompt_tokens: 9, completion_tokens: 5 } });
    await bot.limit(null, 14 * 5);
    for (const status of [200, 200, 200]) expect(await bot.generate()).toMatchObject({ status });
    while (await written());
    expect(await noticesOf(bot.id)).toEqual([]);

    for (const status of [200, 200, 403, 403]) expect(await bot.generate()).toMatchObject({ status });

    const notices = await waitFor(
      () => noticesOf(bot.id),
      ({ length }) => length >= 2,
    );
    const common = { botId: bot.id, scope: 'bot', month, maxTokens: 70 };
    expect(notices).toEqual([
      { ...common, percent: 80 },
      { ...common, percent: 100 },
    ]);
  });

  it('announces a budget again when another process reaches it, only with new amounts', async () => {
    const bot = await newBot();
    await bot.limit(null, 20);
    const payer = { botId: bot.id, workspaceId: defaultAccount.workspaceId, month };
    const of = (version: string) => ({
      ...{ scope: 'bot' as const, scope_id: bot.id, version, cost: '0', tokens: '17' },
      ...{ max_cost: null, max_tokens: '20' },
    });
    const [first, second] = [0, 1].map(() => {
      const parts = [Database, BudgetNoticesRepository, Outbox, BackgroundTasks].map((part) =>
        api.apps[3]!.get(part as never, { strict: false }),
      );
      return new (BudgetNoticesService as new (...parts: unknown[]) => BudgetNoticesService)(...parts);
    }) as [BudgetNoticesService, BudgetNoticesService];
    first.settled(payer, [of('1')]);
    second.settled(payer, [of('1')]);
    second.settled(payer, [of('2')]);
    for (const service of [first, second]) while (await service.write());

    expect(await noticesOf(bot.id)).toHaveLength(2);
  });
});

it('refuses a call that could cost more than the budget has left', async () => {
  const bot = await newBot();
  upstream.requests.length = 0;
  await bot.limit(1e-6, null);

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
  const bot = await newBot(other);
  await setOfWorkspace(other, { dollars: null, tokens: 1 });

  const { status, json } = await bot.generate();

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
      [id, bot.id, defaultAccount.workspaceId, month, streamed, call],
    );
  await api.sql(
    `UPDATE models.spend SET reserved_cost = reserved_cost + 200, reserved_tokens = reserved_tokens + 20 WHERE scope_id IN ($1, $2)`,
    [bot.id, defaultAccount.workspaceId],
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

  const answer = new BudgetsService(spend, {} as BudgetNoticesService).run(call, () =>
    Promise.resolve({ result: 'x', amount: { cost: 2, tokens: 2 }, record }),
  );

  await expect(answer).rejects.toThrow('the database is away');
  expect(settle).toHaveBeenCalledTimes(1);
});
