import { type BudgetChanged, budgetChanged } from '@parley/contracts/admin/budgets';
import { type Account, type PublicApi, startPublicApi } from '@parley/testing/public-api';
import { GatewayModule } from '../../../../gateway/src/gateway.module';
import { AdminModule } from '../../admin.module';
import { AdminConfig } from '../../config';

let api: PublicApi;
let alice: Account;

beforeAll(async () => {
  api = await startPublicApi(GatewayModule, AdminModule);
  Object.assign(api.settings, new AdminConfig());
});

beforeEach(async () => {
  alice = await api.newAccount();
});

afterAll(() => api?.stop());

const unlimited = Number.MAX_SAFE_INTEGER;

function headersOf({ token, workspaceId }: Account) {
  return { authorization: `Bearer ${token}`, 'x-workspace-id': workspaceId };
}

const get = async (path: string, account = alice) =>
  (await api.send(`GET ${path}`, { headers: headersOf(account) })).json;
const set = (path: string, json: object, account = alice) =>
  api.send(`PUT ${path}`, { headers: headersOf(account), json });
const ofBot = (id: string) => `/v1/admin/bots/${id}/budget`;
const ofWorkspace = '/v1/admin/budget';

function published() {
  return api.sql<{ data: BudgetChanged }>(`SELECT data FROM admin.outbox WHERE subject = $1 ORDER BY id`, [
    budgetChanged.subject,
  ]);
}

it('returns no limits until a budget is set', async () => {
  const { bot } = await alice.client.createBot({});

  expect(await get(ofWorkspace)).toEqual({ dollars: null, tokens: null });
  expect(await get(ofBot(bot.id))).toEqual({ dollars: null, tokens: null });
  expect((await alice.client.getUsage({ id: bot.id, type: 'ai_spend' })).usage.quota).toBe(unlimited);
});

it('sets money by changeAISpendQuota and keeps the tokens', async () => {
  await set(ofWorkspace, { dollars: null, tokens: 1_000 });

  await alice.client.changeAISpendQuota({ monthlySpendingLimit: 12.5 });

  expect(await get(ofWorkspace)).toEqual({ dollars: 12.5, tokens: 1_000 });
  const { quota } = await alice.client.getWorkspaceQuota({ id: alice.workspaceId, type: 'ai_spend' });
  expect(quota.value).toBe(12.5);
});

it('announces each change with a higher version', async () => {
  const { bot } = await alice.client.createBot({});
  await set(ofBot(bot.id), { dollars: 0.000_000_1, tokens: 7 });
  await set(ofBot(bot.id), { dollars: null, tokens: null });

  const events = (await published()).map(({ data }) => data).filter((data) => data.scopeId === bot.id);
  expect(events).toEqual([
    { scope: 'bot', scopeId: bot.id, dollars: 0.000_000_1, tokens: 7, version: 1 },
    { scope: 'bot', scopeId: bot.id, dollars: null, tokens: null, version: 2 },
  ]);
});

it('shows the smaller budget of bot and workspace as the quota of the bot', async () => {
  const { bot } = await alice.client.createBot({});
  const quotas = async () => {
    const { usages } = await alice.client.getMultipleUsages({
      ids: [bot.id, alice.workspaceId],
      types: ['ai_spend'],
    });
    return usages.map(({ quota }) => quota);
  };
  await set(ofWorkspace, { dollars: 10, tokens: null });
  expect(await quotas()).toEqual([10, 10]);

  await set(ofBot(bot.id), { dollars: 3, tokens: null });
  expect(await quotas()).toEqual([3, 10]);

  await set(ofBot(bot.id), { dollars: 30, tokens: null });
  expect(await quotas()).toEqual([10, 10]);
});

it('keeps the budget of a bot when it is transferred', async () => {
  const { bot } = await alice.client.createBot({});
  const { id } = await alice.client.createWorkspace({ name: 'second' });
  await set(ofBot(bot.id), { dollars: 3, tokens: null });

  await alice.client.transferBot({ id: bot.id, targetWorkspaceId: id });

  expect(await get(ofBot(bot.id), { ...alice, workspaceId: id })).toEqual({ dollars: 3, tokens: null });
});

it.each([
  { dollars: -1, tokens: null },
  { dollars: 'many', tokens: null },
  { dollars: null, tokens: 1.5 },
  { dollars: null },
])('refuses the budget %j', async (budget) => {
  expect(await set(ofWorkspace, budget)).toMatchObject({ status: 400, json: { type: 'InvalidPayload' } });
});

it('lets only owners and administrators set budgets', async () => {
  const { bot } = await alice.client.createBot({});
  const manager = { ...(await api.newAccount()), workspaceId: alice.workspaceId };
  await api.addMember(alice.workspaceId, manager.accountId, 'manager');

  expect(await set(ofWorkspace, { dollars: 1, tokens: null }, manager)).toMatchObject({ status: 403 });
  expect(await set(ofBot(bot.id), { dollars: 1, tokens: null }, manager)).toMatchObject({ status: 403 });
  expect(await set('/v1/admin/quotas/ai-spend', { monthlySpendingLimit: 1 }, manager)).toMatchObject({ status: 403 });
  expect(await get(ofBot(bot.id), manager)).toEqual({ dollars: null, tokens: null });
});

it('hides budgets from members of other workspaces', async () => {
  const { bot } = await alice.client.createBot({});
  const mallory = await api.newAccount();

  expect(await set(ofBot(bot.id), { dollars: 1, tokens: null }, mallory)).toMatchObject({ status: 404 });
  expect(await get(ofBot(bot.id), mallory)).toMatchObject({ code: 404 });
  expect(await published()).not.toContainEqual({ data: expect.objectContaining({ scopeId: bot.id }) as object });
});
