import type { Client } from '@botpress/client';
import { admin } from '@parley/contracts/admin/admin';
import { systemCaller } from '@parley/contracts/caller';
import { hubEntryChanged } from '@parley/contracts/hub/resolution';
import { type Account, type PublicApi, startPublicApi } from '@parley/testing/public-api';
import { waitFor } from '@parley/testing/wait-for';
import { GatewayModule } from '../../../../gateway/src/gateway.module';
import { AdminModule } from '../../admin.module';
import { builtInChat } from './built-in-chat';
import { FakeHub, FakeHubModule } from '../../test/fake-hub.module';

type Update = Omit<Parameters<Client['updateBot']>[0], 'id'>;

const hub = new FakeHub();
const slack = hub.addIntegration('intver_slack', {
  name: 'slack',
  channels: ['dm', 'channel'],
  configurationSchema: {
    type: 'object',
    properties: { token: { type: 'string', minLength: 3 } },
    required: ['token'],
  },
  configurationSchemas: { manual: { type: 'object', properties: { port: { type: 'number' } } } },
});
const slackNext = hub.addIntegration('intver_slack_next', { name: 'slack', version: '2.0.0' });
const clock = hub.addIntegration('intver_clock', { name: 'clock', isCallable: false });

let api: PublicApi;
let alice: Account;
let bob: Account;

beforeAll(async () => {
  api = await startPublicApi(GatewayModule, AdminModule, FakeHubModule.of(hub));
  [alice, bob] = await Promise.all([api.newAccount(), api.newAccount()]);
});

afterAll(() => api?.stop());

beforeEach(() => {
  hub.calls = [];
  hub.beforeReply = () => Promise.resolve();
});

const headers = (account: Account) => ({
  authorization: `Bearer ${account.token}`,
  'x-workspace-id': account.workspaceId,
  'x-multiple-integrations': 'true',
});

/** Creates a bot for Alice. `byAlias` sends the header x-multiple-integrations. */
async function newBot() {
  const { id } = (await alice.client.createBot({})).bot;
  const send = async (method: string, json?: unknown) => {
    const response = await api.send(`${method} /v1/admin/bots/${id}`, { headers: headers(alice), json });
    if (response.status !== 200) throw response.json;
    return response.json.bot as Awaited<ReturnType<Client['getBot']>>['bot'];
  };
  return {
    id,
    update: async (changes: Update) => (await alice.client.updateBot({ id, ...changes })).bot,
    get: async () => (await alice.client.getBot({ id })).bot,
    byAlias: { update: (changes: Update) => send('PUT', changes), get: () => send('GET') },
  };
}

async function memberWith(role: 'developer' | 'viewer') {
  const account = await api.newAccount();
  await api.addMember(alice.workspaceId, account.accountId, role);
  return api.client(account.token, alice.workspaceId);
}

function idsOf(integrations: Record<string, { id: string }>) {
  return Object.fromEntries(Object.entries(integrations).map(([key, { id }]) => [key, id]));
}

async function announced(botId: string) {
  const rows = await api.sql<{ data: { revision: number; integrations: unknown[]; plugins: unknown[] } }>(
    "SELECT data FROM admin.outbox WHERE subject = 'admin.installationsChanged' AND data ->> 'botId' = $1 ORDER BY id",
    [botId],
  );
  return rows.map(({ data }) => data);
}

async function announce(change: { kind: 'integration' | 'plugin'; id: string; isDeleted: boolean }) {
  await api.publish(hubEntryChanged, { ...change, workspaceId: null });
}

async function untilConsumed() {
  const waiting = () =>
    api.sql(`SELECT id FROM hub.outbox WHERE published_at IS NULL
      UNION ALL SELECT id FROM admin.outbox WHERE published_at IS NULL
      UNION ALL SELECT key FROM events.work
        WHERE queue IN ('admin.refreshInstallations', 'admin.refreshInstalled')`);
  await waitFor(waiting, (rows) => rows.length === 0);
}

describe('a new bot', () => {
  it('installs the chat in a new bot, and announces it to the hub', async () => {
    const { id, get, byAlias } = await newBot();

    const { chat } = (await byAlias.get()).integrations;

    expect(chat).toEqual({
      id: builtInChat.id,
      name: 'chat',
      version: '1.0.0',
      title: 'Chat',
      description: builtInChat.description,
      iconUrl: '',
      createdAt: builtInChat.createdAt,
      updatedAt: builtInChat.updatedAt,
      public: true,
      visibility: 'public',
      verificationStatus: 'approved',
      lifecycleStatus: 'published',
      enabled: true,
      webhookId: expect.stringMatching(/^webhook_[0-9A-Z]{26}$/),
      webhookUrl: `http://parley.test/chat/${chat!.webhookId}`,
      configurationType: null,
      configuration: {},
      status: 'registered',
      statusReason: null,
      disabledChannels: [],
    });
    expect((await get()).integrations).toEqual({ [builtInChat.id]: chat });
    expect(await announced(id)).toEqual([
      {
        botId: id,
        workspaceId: alice.workspaceId,
        revision: 1,
        integrations: [{ alias: 'chat', id: builtInChat.id }],
        plugins: [],
      },
    ]);
    expect(hub.calls).toEqual([]);
  });
});

describe('installing an integration', () => {
  it('installs an integration by alias with one call of the hub, and returns its generated webhook', async () => {
    const { id, byAlias, get } = await newBot();

    const { integrations } = await byAlias.update({
      integrations: {
        team: { integrationId: slack, configuration: { token: 'hush-token' }, disabledChannels: ['dm'] },
      },
    });

    expect(integrations['team']).toMatchObject({
      id: slack,
      name: 'slack',
      enabled: true,
      webhookUrl: `http://parley.test/webhooks/${integrations['team']!.webhookId}`,
      configurationType: null,
      configuration: { token: 'hush-token' },
      disabledChannels: ['dm'],
      status: 'registration_pending',
      statusReason: null,
    });
    expect(Object.keys(integrations)).toEqual(['chat', 'team']);
    expect(await byAlias.get()).toMatchObject({ integrations });
    expect(Object.keys((await get()).integrations)).toEqual([builtInChat.id, slack]);
    expect(hub.calls).toEqual([`integrations ${slack}`]);
    expect((await announced(id)).at(-1)).toMatchObject({
      revision: 2,
      integrations: [
        { alias: 'chat', id: builtInChat.id },
        { alias: 'team', id: slack },
      ],
    });
  });

  it('names an integration that is installed by id after itself, with a number if the alias is taken', async () => {
    const { byAlias, update } = await newBot();

    await update({ integrations: { [slack]: { configuration: { token: 'abc' } } } });
    const { integrations } = await update({ integrations: { [slackNext]: {} } });

    expect(Object.keys(integrations).sort()).toEqual([builtInChat.id, slack, slackNext].sort());
    expect(idsOf((await byAlias.get()).integrations)).toEqual({
      chat: builtInChat.id,
      slack,
      'slack-2': slackNext,
    });
  });

  it('requires two aliases to install an integration twice, whose id then means the smallest alias', async () => {
    const { byAlias, update } = await newBot();
    const configuration = { token: 'abc' };
    await byAlias.update({
      integrations: { b: { integrationId: slack, configuration }, a: { integrationId: slack, configuration } },
    });

    const { integrations } = await update({ integrations: { [slack]: { enabled: false } } });

    const both = (await byAlias.get()).integrations;
    expect(integrations[slack]).toEqual(both['a']);
    expect([both['a']!.enabled, both['b']!.enabled]).toEqual([false, true]);
  });

  it('registers an integration without url and code at once, but not a disabled one', async () => {
    const { byAlias } = await newBot();

    const { integrations } = await byAlias.update({
      integrations: { on: { integrationId: clock }, off: { integrationId: clock, enabled: false } },
    });

    expect(integrations['on']).toMatchObject({ enabled: true, status: 'registered', statusReason: null });
    expect(integrations['off']).toMatchObject({ enabled: false, status: 'unregistered', statusReason: null });
  });

  it('keeps the configuration of an installation encrypted', async () => {
    const { id, byAlias } = await newBot();

    await byAlias.update({ integrations: { team: { integrationId: slack, configuration: { token: 'hush-token' } } } });

    const rows = await api.sql('SELECT * FROM admin.installation WHERE bot_id = $1', [id]);
    expect(JSON.stringify(rows)).not.toContain('hush');
    expect(JSON.stringify(await api.sql('SELECT * FROM admin.audit_record'))).not.toContain('hush');
    expect(JSON.stringify(await announced(id))).not.toContain('hush');
  });

  it('shows the configuration of an installation to developers and higher roles only', async () => {
    const { id, byAlias } = await newBot();
    await byAlias.update({ integrations: { team: { integrationId: slack, configuration: { token: 'abc' } } } });
    const { value } = await alice.client.createBotApiKey({ botId: id });
    const seenBy = async (client: Client) => (await client.getBot({ id })).bot.integrations[slack]!.configuration;

    expect(await seenBy(await memberWith('developer'))).toEqual({ token: 'abc' });
    expect(await seenBy(await memberWith('viewer'))).toEqual({});
    expect(await seenBy(api.client(value))).toEqual({});
  });

  it.each([
    [{ x: {} }, 'InvalidPayload', /^integrations\.x\.integrationId is missing: no integration is installed/],
    [
      { x: { integrationId: 'intver_none' } },
      'ReferenceNotFound',
      /^integrations\.x: integration "intver_none" not found, or this workspace may not install it/,
    ],
    [{ x: { integrationId: slack } }, 'InvalidPayload', /^integrations\.x\.configuration must have .* 'token'/],
    [
      { x: { integrationId: slack, configuration: { token: 'a' } } },
      'InvalidPayload',
      /^integrations\.x\.configuration\.token must NOT have fewer than 3/,
    ],
    [
      { x: { integrationId: slack, configurationType: 'other' } },
      'InvalidPayload',
      /^integrations\.x\.configurationType: .* has no configuration "other"\. Use one of: null, manual/,
    ],
    [
      { x: { integrationId: slack, configurationType: 'manual', configuration: { port: 'a' } } },
      'InvalidPayload',
      /^integrations\.x\.configuration\.port must be number/,
    ],
    [
      { x: { integrationId: slack, configuration: { token: 'abc' }, disabledChannels: ['fax'] } },
      'InvalidPayload',
      /^integrations\.x\.disabledChannels: slack 1\.0\.0 has no channel "fax"\. Its channels: dm, channel/,
    ],
  ])('rejects the installation of %j, and applies nothing of the update', async (integrations, type, message) => {
    const { id, byAlias, get } = await newBot();
    const before = await get();

    const update = byAlias.update({ name: 'renamed', integrations: integrations });

    await expect(update).rejects.toMatchObject({ type, message: expect.stringMatching(message) });
    expect(await get()).toEqual(before);
    expect(await announced(id)).toHaveLength(1);
  });

  it('does not validate the configuration of a disabled installation until it is enabled', async () => {
    const { byAlias } = await newBot();

    await byAlias.update({
      integrations: { x: { integrationId: slack, enabled: false, configuration: { token: 1 } } },
    });

    await expect(byAlias.update({ integrations: { x: { enabled: true } } })).rejects.toMatchObject({
      type: 'InvalidPayload',
      message: expect.stringMatching(/^integrations\.x\.configuration\.token must be string/),
    });
  });

  it('limits a bot to 30 installations, without those that the same update removes', async () => {
    const { byAlias } = await newBot();
    const installs = (names: string[]) => Object.fromEntries(names.map((name) => [name, { integrationId: clock }]));
    const numbers = Array.from({ length: 29 }, (_, index) => `n${index}`);
    await byAlias.update({ integrations: installs(numbers) });

    await expect(byAlias.update({ integrations: installs(['more']) })).rejects.toMatchObject({
      type: 'InvalidPayload',
      message: expect.stringMatching(/^integrations must have at most 30 entries and would have 31/),
    });
    const { integrations } = await byAlias.update({ integrations: { ...installs(['more']), n0: null } });

    expect(Object.keys(integrations)).toHaveLength(30);
    expect(integrations['n0']).toBeUndefined();
  });
});

describe('changing an installation', () => {
  it('keeps fields of an installation that are left out, and its webhook when the version changes', async () => {
    const { byAlias } = await newBot();
    const before = await byAlias.update({
      integrations: { team: { integrationId: slack, configuration: { token: 'abc' }, disabledChannels: ['dm'] } },
    });

    const kept = await byAlias.update({ integrations: { team: {} } });
    const disabled = await byAlias.update({ integrations: { team: { enabled: false } } });
    const switched = await byAlias.update({
      integrations: { team: { integrationId: slackNext, disabledChannels: [] } },
    });

    expect(kept.integrations).toEqual(before.integrations);
    expect(disabled.integrations['team']).toMatchObject({ configuration: { token: 'abc' }, disabledChannels: ['dm'] });
    expect(switched.integrations['team']).toMatchObject({
      id: slackNext,
      version: '2.0.0',
      enabled: false,
      configuration: { token: 'abc' },
      webhookId: before.integrations['team']!.webhookId,
    });
  });

  it('sets the configuration of the chat', async () => {
    const { byAlias, update } = await newBot();

    await update({ integrations: { [builtInChat.id]: { configuration: { encryptionKey: 'secret' } } } });

    expect((await byAlias.get()).integrations['chat']).toMatchObject({ configuration: { encryptionKey: 'secret' } });
    await expect(
      update({ integrations: { [builtInChat.id]: { configuration: { encryptionKey: 1 } } } }),
    ).rejects.toMatchObject({ type: 'InvalidPayload', message: expect.stringMatching(/encryptionKey must be string/) });
  });

  it('uninstalls an integration that is set to null, without an error if it is absent', async () => {
    const { id, byAlias, update, get } = await newBot();
    await byAlias.update({ integrations: { a: { integrationId: clock }, b: { integrationId: clock } } });

    await update({ integrations: { [clock]: null } });
    expect(Object.keys((await byAlias.get()).integrations)).toEqual(['b', 'chat']);
    await byAlias.update({ integrations: { b: null, chat: null, none: null } });

    expect((await get()).integrations).toEqual({});
    expect((await announced(id)).map(({ revision }) => revision)).toEqual([1, 2, 3, 4]);
    expect((await announced(id)).at(-1)).toMatchObject({ integrations: [], plugins: [] });
  });

  it('keeps all installations when an update of the bot leaves them out', async () => {
    const { id, update } = await newBot();

    await update({ name: 'renamed' });

    expect(hub.calls).toEqual([]);
    expect(await announced(id)).toHaveLength(1);
  });

  it('loses none of several concurrent changes of installations', async () => {
    const { id, byAlias } = await newBot();
    const names = ['a', 'b', 'c', 'd'];

    await Promise.all(names.map((name) => byAlias.update({ integrations: { [name]: { integrationId: clock } } })));

    expect(Object.keys((await byAlias.get()).integrations)).toEqual(['a', 'b', 'c', 'chat', 'd']);
    expect((await announced(id)).map(({ revision }) => revision)).toEqual([1, 2, 3, 4, 5]);
  });

  it('retries a change of an installation if another one was committed during the call to the hub', async () => {
    const { byAlias } = await newBot();
    let hasOvertaken = false;
    hub.beforeReply = async () => {
      if (hasOvertaken) return;
      hasOvertaken = true;
      await byAlias.update({ integrations: { x: { integrationId: clock, enabled: false } } });
    };

    const { integrations } = await byAlias.update({
      integrations: { x: { integrationId: slack, configuration: { token: 'abc' } } },
    });

    // Based on the other change, which disabled it.
    expect(integrations['x']).toMatchObject({ id: slack, enabled: false });
  });

  it('requires the role developer in the own workspace to change installations', async () => {
    const { id } = await newBot();
    const change = { id, integrations: { [clock]: {} } };

    await expect((await memberWith('viewer')).updateBot(change)).rejects.toMatchObject({ type: 'Forbidden' });
    await expect(bob.client.updateBot(change)).rejects.toMatchObject({ type: 'ResourceNotFound' });
    expect(hub.calls).toEqual([]);
    await expect((await memberWith('developer')).updateBot(change)).resolves.toBeDefined();
  });

  it('writes an audit record of an installation without secrets', async () => {
    const { id, byAlias } = await newBot();

    await byAlias.update({ integrations: { x: { integrationId: clock, configuration: { a: 'hush' } }, chat: null } });

    const [record] = await api.sql(
      "SELECT * FROM admin.audit_record WHERE resource_id = $1 AND action = 'UPDATE_BOT_CHANNEL'",
      [id],
    );
    expect(record).toMatchObject({
      workspace_id: alice.workspaceId,
      account_id: alice.accountId,
      operation: 'admin.bots.update',
      value: `integrations: x ${clock}, chat removed`,
    });
  });
});

describe('listing bots', () => {
  it('filters bots by the names of integrations', async () => {
    const { client, workspaceId, token, accountId } = await api.newAccount();
    const account = { client, workspaceId, token, accountId };
    const [withSlack, withClock] = await Promise.all([
      client.createBot({}),
      client.createBot({}),
      client.createBot({}),
    ]);
    await client.updateBot({ id: withSlack.bot.id, integrations: { [slack]: { enabled: false } } });
    await client.updateBot({ id: withClock.bot.id, integrations: { [clock]: {} } });
    const ids = async (integrationNames: string[]) =>
      (await account.client.listBots({ integrationNames })).bots.map(({ id }) => id).sort();

    expect(await ids(['slack'])).toEqual([withSlack.bot.id]);
    expect(await ids(['slack', 'clock'])).toEqual([withSlack.bot.id, withClock.bot.id].sort());
    expect(await ids(['chat'])).toHaveLength(3);
    expect(await ids(['none'])).toEqual([]);
  });
});

describe('counting installations', () => {
  it('counts bots with an installation, not installations', async () => {
    const popular = hub.addIntegration('intver_popular');
    const [one, two] = await Promise.all([newBot(), newBot()]);
    await one.byAlias.update({ integrations: { a: { integrationId: popular }, b: { integrationId: popular } } });
    await two.byAlias.update({ integrations: { a: { integrationId: popular } } });

    const count = (id: string) => api.call(admin.installations.count, systemCaller('test'), { id });

    expect(await count(popular)).toEqual({ count: 2 });
    expect(await count('intver_nobody')).toEqual({ count: 0 });
  });
});

describe('a change in the hub', () => {
  it('updates every bot that has an integration changed in the hub, whatever the order of events', async () => {
    const id = hub.addIntegration('intver_moving', { isCallable: false, updatedAt: '2026-02-01T00:00:00.000Z' });
    const bots = await Promise.all([newBot(), newBot()]);
    for (const bot of bots) await bot.byAlias.update({ integrations: { x: { integrationId: id } } });
    const shown = () => Promise.all(bots.map(async ({ byAlias }) => (await byAlias.get()).integrations['x']));

    hub.addIntegration(id, { title: 'Newer', isCallable: true, updatedAt: '2026-02-03T00:00:00.000Z' });
    await announce({ kind: 'integration', id, isDeleted: false });
    await waitFor(shown, (all) => all.every((x) => x!.title === 'Newer' && x!.status === 'registration_pending'));
    hub.addIntegration(id, { title: 'Older', updatedAt: '2026-02-02T00:00:00.000Z' });
    await announce({ kind: 'integration', id, isDeleted: false });
    await untilConsumed();

    expect((await shown()).map((x) => x!.title)).toEqual(['Newer', 'Newer']);
  });

  it('applies a hub change published before the installation, without an event about the bot', async () => {
    const id = hub.addIntegration('intver_racing', { updatedAt: '2026-02-01T00:00:00.000Z' });
    const bot = await newBot();
    hub.beforeReply = async () => {
      hub.addIntegration(id, { title: 'Newer', isCallable: false, updatedAt: '2026-02-02T00:00:00.000Z' });
    };

    const { integrations } = await bot.byAlias.update({ integrations: { x: { integrationId: id } } });

    expect(integrations['x']).toMatchObject({ title: `Title of ${id}`, status: 'registration_pending' });
    await waitFor(
      async () => (await bot.byAlias.get()).integrations['x']!,
      ({ title, status }) => title === 'Newer' && status === 'registered',
    );
    await untilConsumed();
    expect(await announced(bot.id)).toHaveLength(2);
  });

  it('writes nothing to a bot that is up to date with the hub', async () => {
    const bot = await newBot();
    const plugins = { p: { id: hub.addPlugin('plugver_still', { actions: {} }) } };
    await bot.byAlias.update({ integrations: { x: { integrationId: clock } }, plugins });
    const rows = () =>
      api.sql(
        `SELECT alias, xmin::text FROM admin.installation WHERE bot_id = $1
         UNION ALL SELECT alias, xmin::text FROM admin.bot_plugin WHERE bot_id = $1`,
        [bot.id],
      );
    await untilConsumed();
    const before = await rows();

    await bot.byAlias.update({ integrations: { y: { integrationId: clock } } });
    await untilConsumed();

    expect(await rows()).toEqual(expect.arrayContaining(before));
  });

  it('fails the installations of an integration that is deleted during or after the installation', async () => {
    const [racing, later] = [hub.addIntegration('intver_gone'), hub.addIntegration('intver_gone_later')];
    const bot = await newBot();
    hub.beforeReply = async () => void hub.integrations.delete(racing);
    const failed = (alias: string) =>
      waitFor(
        async () => (await bot.byAlias.get()).integrations[alias]!,
        ({ status, statusReason }) =>
          status === 'registration_failed' && /^This version of the integration was deleted/.test(statusReason ?? ''),
      );

    await bot.byAlias.update({ integrations: { x: { integrationId: racing }, y: { integrationId: later } } });

    await failed('x');
    await untilConsumed();
    expect((await bot.byAlias.get()).integrations['y']).toMatchObject({ status: 'registration_pending' });
    await announce({ kind: 'integration', id: later, isDeleted: true });
    await failed('y');
    await bot.byAlias.update({ integrations: { x: null, y: null } });
  });
});
