import { randomUUID } from 'node:crypto';
import { usageChanged, type UsageChanged, type UsageType } from '@parley/contracts/admin/usage';
import { Database } from '@parley/persistence/database';
import { Outbox } from '@parley/events/outbox';
import { type Account, type PublicApi, startPublicApi } from '@parley/testing/public-api';
import { waitFor } from '@parley/testing/wait-for';
import { GatewayModule } from '../../../../gateway/src/gateway.module';
import { AdminModule } from '../../admin.module';
import { AdminConfig } from '../../config';
import { RecordUsageHandler } from './record-usage.handler';

const quotas = { quotaBotCount: 4, quotaWorkspaceMemberCount: 3, quotaStorageBytes: 1000 };
const thisMonth = new Date().toISOString().slice(0, 7);
const now = new Date().toISOString();

let api: PublicApi;

beforeAll(async () => {
  api = await startPublicApi(GatewayModule, AdminModule);
  Object.assign(api.settings, new AdminConfig(), quotas);
});

afterAll(() => api?.stop());

function tell({ workspaceId }: Account, type: UsageType, value: number, more: Partial<UsageChanged> = {}) {
  return api.apps[1]!.get(RecordUsageHandler, { strict: false }).record({
    workspaceId,
    type,
    value,
    at: now,
    ...more,
  });
}

async function newBot(account: Account): Promise<string> {
  return (await account.client.createBot({})).bot.id;
}

async function valueOf({ client }: Account, id: string, type: UsageType, period?: string): Promise<number> {
  return (await client.getUsage({ id, type, period })).usage.value;
}

describe('quotas', () => {
  it('returns the configured amounts of quotas for every month', async () => {
    const { client, workspaceId: id } = await api.newAccount();

    const { quotas: all } = await client.listWorkspaceQuotas({ id });
    const { quota } = await client.getWorkspaceQuota({ id, type: 'bot_count', period: '2025-12' });

    const amounts = Object.fromEntries(all.map(({ type, value }) => [type, value]));
    expect(quota).toEqual({ type: 'bot_count', period: '2025-12', value: 4 });
    expect(new Set(all.map(({ period }) => period))).toEqual(new Set([thisMonth]));
    expect(amounts).toEqual({
      invocation_timeout: 60_000,
      invocation_calls: expect.any(Number),
      storage_count: 1000,
      bot_count: 4,
      knowledgebase_vector_storage: expect.any(Number),
      workspace_ratelimit: Number.MAX_SAFE_INTEGER,
      table_row_count: Number.MAX_SAFE_INTEGER,
      workspace_member_count: 3,
      integrations_owned_count: Number.MAX_SAFE_INTEGER,
      ai_spend: Number.MAX_SAFE_INTEGER,
      openai_spend: Number.MAX_SAFE_INTEGER,
      bing_search_spend: Number.MAX_SAFE_INTEGER,
      always_alive: Number.MAX_SAFE_INTEGER,
      indexed_file_count: Number.MAX_SAFE_INTEGER,
      file_max_size_bytes: 5_000_000_000,
    });
  });

  it('limits bots to the quota, also for concurrent requests', async () => {
    const { client, workspaceId: id } = await api.newAccount();

    const results = await Promise.allSettled(Array.from({ length: 7 }, () => client.createBot({})));

    const failures = results.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []));
    expect(failures).toHaveLength(3);
    expect(failures[0]).toMatchObject({
      type: 'QuotaExceeded',
      code: 403,
      message: 'Quota exceeded: the workspace may have 4 bots (bot_count) and has 4.',
    });
    expect(await client.getWorkspace({ id })).toMatchObject({ botCount: 4 });
    const { bots } = await client.listBots({});
    await client.deleteBot({ id: bots[0]!.id });
    await expect(client.createBot({})).resolves.toBeDefined();
  });

  it('limits bots to the quota when they are transferred to a workspace', async () => {
    const alice = await api.newAccount();
    const { id } = await alice.client.createWorkspace({ name: 'full' });
    for (let count = 0; count < 4; count++) await api.client(alice.token, id).createBot({});
    const botId = await newBot(alice);

    await expect(alice.client.transferBot({ id: botId, targetWorkspaceId: id })).rejects.toMatchObject({
      type: 'QuotaExceeded',
    });

    await expect(alice.client.getBot({ id: botId })).resolves.toBeDefined();
  });

  it('limits members to the quota, also for concurrent requests', async () => {
    const [alice, ...others] = await Promise.all(Array.from({ length: 5 }, () => api.newAccount()));
    const emails = await Promise.all(others.map(async ({ client }) => (await client.getAccount({})).account.email));

    const results = await Promise.allSettled(
      emails.map((email) => alice!.client.createWorkspaceMember({ email, role: 'viewer' })),
    );

    const failures = results.flatMap((result) => (result.status === 'rejected' ? [result.reason.type] : []));
    expect(failures).toEqual(['QuotaExceeded', 'QuotaExceeded']);
  });
});

describe('usage that admin counts', () => {
  it('returns the current count of bots and members as usage, stored per day', async () => {
    const alice = await api.newAccount();
    const { client, workspaceId: id } = alice;
    const botId = await newBot(alice);
    await newBot(alice);
    await client.deleteBot({ id: botId });
    await api.addMember(id, (await api.newAccount()).accountId, 'viewer');

    expect((await client.getUsage({ id, type: 'bot_count' })).usage).toEqual({
      id,
      period: thisMonth,
      value: 1,
      quota: 4,
      type: 'bot_count',
    });
    expect(await valueOf(alice, id, 'workspace_member_count')).toBe(2);
    expect((await client.listUsageActivityDaily({ id, type: 'bot_count' })).data).toEqual([
      { key: `${id}:${now.slice(0, 10)}`, date: now.slice(0, 10), value: 1 },
    ]);
  });

  it('moves counted usage with a bot that is transferred', async () => {
    const alice = await api.newAccount();
    const { id } = await alice.client.createWorkspace({ name: 'second' });
    const botId = await newBot(alice);
    await tell(alice, 'storage_count', 10, { botId });
    await tell(alice, 'ai_spend', 7, { botId });

    await alice.client.transferBot({ id: botId, targetWorkspaceId: id });

    const { usages } = await alice.client.getMultipleUsages({
      ids: [alice.workspaceId, id, botId],
      types: ['ai_spend', 'bot_count', 'storage_count'],
    });
    expect(usages.map((usage) => [usage.id, usage.type, usage.value])).toEqual([
      [alice.workspaceId, 'storage_count', 0],
      [alice.workspaceId, 'bot_count', 0],
      [alice.workspaceId, 'ai_spend', 0],
      [id, 'storage_count', 10],
      [id, 'bot_count', 1],
      [id, 'ai_spend', 7],
      [botId, 'storage_count', 10],
      [botId, 'bot_count', 0],
      [botId, 'ai_spend', 7],
    ]);
    // Reports sent before the transfer count for the new workspace.
    await tell(alice, 'storage_count', 11, { botId, at: new Date(Date.now() + 60_000).toISOString() });
    expect(await valueOf(alice, id, 'storage_count')).toBe(11);
  });
});

describe('usage that other services count', () => {
  it('receives usage that other services count by event', async () => {
    const { client, workspaceId } = await api.newAccount();
    const app = api.apps[1]!;
    const change: UsageChanged = { workspaceId, type: 'integrations_owned_count', value: 3, at: now };

    await app
      .get(Database, { strict: false })
      .transaction((tx) => app.get(Outbox, { strict: false }).add(tx, usageChanged, change));

    const { usage } = await waitFor(
      () => client.getUsage({ id: workspaceId, type: 'integrations_owned_count' }),
      (answer) => answer.usage.value > 0,
    );
    expect(usage.value).toBe(3);
  });

  it('keeps the newest report of usage, however often and in whatever order reports arrive', async () => {
    const alice = await api.newAccount();
    const at = (hour: number) => `2024-03-05T0${hour}:00:00.000Z`;

    for (const [hour, value] of [
      [2, 20],
      [3, 30],
      [1, 10],
      [2, 20],
    ] as const) {
      await tell(alice, 'storage_count', value, { at: at(hour) });
    }

    expect(await valueOf(alice, alice.workspaceId, 'storage_count', '2024-03')).toBe(30);
  });

  it('sums usage of a workspace from its bots and from usage without a bot', async () => {
    const alice = await api.newAccount();
    const [one, two] = [await newBot(alice), await newBot(alice)];

    await tell(alice, 'storage_count', 1);
    await tell(alice, 'storage_count', 10, { botId: one });
    await tell(alice, 'storage_count', 100, { botId: two });

    const { client, workspaceId: id } = alice;
    expect(await valueOf(alice, id, 'storage_count')).toBe(111);
    expect(await valueOf(alice, one, 'storage_count')).toBe(10);
    expect((await client.listWorkspaceUsages({ id, type: 'storage_count' })).usages).toEqual([
      { id, period: thisMonth, value: 111, quota: 1000, type: 'storage_count' },
    ]);
    expect((await client.breakDownWorkspaceUsageByBot({ id, type: 'storage_count' })).data).toEqual([
      { botId: two, value: 100 },
      { botId: one, value: 10 },
    ]);
  });

  it('ends the usage of a bot when it is deleted, except for monthly types', async () => {
    const alice = await api.newAccount();
    const botId = await newBot(alice);
    await tell(alice, 'storage_count', 10, { botId });
    await tell(alice, 'invocation_calls', 5, { botId });

    await alice.client.deleteBot({ id: botId });

    await waitFor(async () => (await valueOf(alice, alice.workspaceId, 'storage_count')) === 0);
    const late = new Date(Date.now() + 60_000).toISOString();
    await tell(alice, 'storage_count', 9, { botId, at: late });
    await tell(alice, 'invocation_calls', 6, { botId, at: late });
    expect(await valueOf(alice, alice.workspaceId, 'storage_count')).toBe(0);
    expect(await valueOf(alice, alice.workspaceId, 'invocation_calls', late.slice(0, 7))).toBe(6);
    await expect(alice.client.getUsage({ id: botId, type: 'storage_count' })).rejects.toMatchObject({
      type: 'ResourceNotFound',
    });
  });

  it('drops reported usage of a deleted workspace', async () => {
    const alice = await api.newAccount();

    await tell({ ...alice, workspaceId: 'wkspace_none' }, 'storage_count', 1);

    expect(await api.sql("SELECT 1 FROM admin.usage WHERE workspace_id = 'wkspace_none'")).toEqual([]);
  });
});

describe('the history of usage', () => {
  it('keeps levels of usage from month to month, and starts monthly types at zero', async () => {
    const alice = await api.newAccount();
    const [one, two] = [await newBot(alice), await newBot(alice)];
    for (const type of ['storage_count', 'invocation_calls'] as const) {
      await tell(alice, type, 10, { botId: one, at: '2024-01-10T12:00:00Z' });
      await tell(alice, type, 15, { botId: one, at: '2024-01-31T23:59:59Z' });
      await tell(alice, type, 100, { botId: two, at: '2024-03-01T00:00:00Z' });
    }
    const history = async (id: string, type: UsageType) =>
      (await alice.client.listUsageHistory({ id, type })).usages.map(({ period, value }) => [period, value]);

    expect(await history(alice.workspaceId, 'storage_count')).toEqual([
      [thisMonth, 115],
      ['2024-03', 115],
      ['2024-01', 15],
    ]);
    expect(await history(alice.workspaceId, 'invocation_calls')).toEqual([
      [thisMonth, 0],
      ['2024-03', 100],
      ['2024-01', 15],
    ]);
    expect(await history(two, 'storage_count')).toEqual([
      [thisMonth, 100],
      ['2024-03', 100],
    ]);
    expect(await valueOf(alice, alice.workspaceId, 'storage_count', '2024-02')).toBe(15);
    expect(await valueOf(alice, alice.workspaceId, 'storage_count', '2023-12')).toBe(0);
  });

  it('shows each day of usage once, page by page, within the requested dates', async () => {
    const alice = await api.newAccount();
    const botId = await newBot(alice);
    const days = ['2024-01-29', '2024-01-30', '2024-01-31', '2024-02-01'];
    for (const [index, day] of days.entries()) {
      await tell(alice, 'storage_count', index, { at: `${day}T10:00:00Z` });
      await tell(alice, 'storage_count', 10 + index, { botId, at: `${day}T10:00:00Z` });
    }
    const { client, workspaceId: id } = alice;
    const query = { id, type: 'storage_count' } as const;

    const first = await client.listUsageActivity({ ...query, pageSize: 5 });
    const second = await client.listUsageActivity({ ...query, pageSize: 5, nextToken: first.meta.nextToken });
    const daily = await client.listUsageActivityDaily({ ...query, pageSize: 7 });
    const lastDaily = await client.listUsageActivityDaily({ ...query, pageSize: 7, nextToken: daily.meta.nextToken });

    const all = [...first.data, ...second.data];
    expect(all).toHaveLength(8);
    expect(second.meta).toEqual({});
    expect(all[0]).toEqual({
      timestamp: '2024-02-01T10:00:00.000Z',
      value: 13,
      period: '2024-02',
      metadata: { botId },
    });
    expect(all[1]).toEqual({ timestamp: '2024-02-01T10:00:00.000Z', value: 3, period: '2024-02', metadata: {} });
    expect([...daily.data, ...lastDaily.data].map(({ key }) => key)).toEqual(
      days.toReversed().flatMap((day) => [`${botId}:${day}`, `${id}:${day}`]),
    );
    const between = await client.listUsageActivity({
      ...query,
      timestampFrom: '2024-01-30T11:00:00+01:00',
      timestampUntil: '2024-01-31',
    });
    expect(between.data.map(({ value }) => value)).toEqual([11, 1]);
    const ofBot = await client.listUsageActivityDaily({
      id: botId,
      type: 'storage_count',
      dateFrom: '2024-01-30',
      dateUntil: '2024-01-31',
    });
    expect(ofBot.data.map(({ date, value }) => [date, value])).toEqual([
      ['2024-01-31', 12],
      ['2024-01-30', 11],
    ]);
    await expect(
      client.listUsageActivity({ id, type: 'bot_count', nextToken: first.meta.nextToken }),
    ).rejects.toMatchObject({ type: 'InvalidQuery' });
  });
});

describe('the completion of quotas', () => {
  it('returns the completion of the most used quota for each workspace of the account', async () => {
    const alice = await api.newAccount();
    const { id } = await alice.client.createWorkspace({ name: 'second' });
    await tell(alice, 'storage_count', 900);
    await newBot(alice);

    const completion = await alice.client.getAllWorkspaceQuotaCompletion({});

    expect(completion).toEqual({
      [alice.workspaceId]: { type: 'storage_count', completion: 0.9 },
      [id]: { type: 'workspace_member_count', completion: 1 / 3 },
    });
  });
});

describe('usage and quotas', () => {
  const calls = {
    getUsage: (client: Account['client'], id: string) => client.getUsage({ id, type: 'bot_count' }),
    getMultipleUsages: (client: Account['client'], id: string) =>
      client.getMultipleUsages({ ids: [id], types: ['bot_count'] }),
    listUsageHistory: (client: Account['client'], id: string) => client.listUsageHistory({ id, type: 'bot_count' }),
    listUsageActivity: (client: Account['client'], id: string) => client.listUsageActivity({ id, type: 'bot_count' }),
    listUsageActivityDaily: (client: Account['client'], id: string) =>
      client.listUsageActivityDaily({ id, type: 'bot_count' }),
    listWorkspaceUsages: (client: Account['client'], id: string) =>
      client.listWorkspaceUsages({ id, type: 'bot_count' }),
    breakDownWorkspaceUsageByBot: (client: Account['client'], id: string) =>
      client.breakDownWorkspaceUsageByBot({ id, type: 'bot_count' }),
    getWorkspaceQuota: (client: Account['client'], id: string) => client.getWorkspaceQuota({ id, type: 'bot_count' }),
    listWorkspaceQuotas: (client: Account['client'], id: string) => client.listWorkspaceQuotas({ id }),
  };

  it.each(Object.entries(calls))(
    'shows usage and quotas to billing, and hides them from other accounts: %s',
    async (name, call) => {
      const [alice, bob, carol] = await Promise.all([api.newAccount(), api.newAccount(), api.newAccount()]);
      await api.addMember(alice.workspaceId, carol.accountId, 'billing');
      const botId = await newBot(alice);

      await expect(call(carol.client, alice.workspaceId)).resolves.toBeDefined();
      for (const id of [alice.workspaceId, botId, 'none', randomUUID()]) {
        await expect(call(bob.client, id)).rejects.toMatchObject({
          type: 'ResourceNotFound',
          message: expect.stringContaining(`"${id}" was not found.`),
        });
      }
      if (/^(getU|getM|listUsage)/.test(name)) await expect(call(carol.client, botId)).resolves.toBeDefined();
    },
  );

  it('rejects usage of several subjects when one of them belongs to another account', async () => {
    const [alice, bob] = await Promise.all([api.newAccount(), api.newAccount()]);

    await expect(
      alice.client.getMultipleUsages({ ids: [alice.workspaceId, bob.workspaceId], types: ['bot_count'] }),
    ).rejects.toMatchObject({ type: 'ResourceNotFound', message: expect.stringContaining(bob.workspaceId) });
  });

  it('accepts a date of usage that is not in the calendar', async () => {
    const { client, workspaceId: id } = await api.newAccount();
    const query = { id, type: 'bot_count' } as const;

    expect((await client.listUsageActivityDaily({ ...query, dateFrom: '2026-02-31' })).data).toEqual([]);
    expect((await client.listUsageActivity({ ...query, timestampFrom: '2099-02-29' })).data).toEqual([]);
  });
});
