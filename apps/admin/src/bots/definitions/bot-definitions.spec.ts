import type { Client } from '@botpress/client';
import { admin } from '@parley/contracts/admin/admin';
import { systemCaller } from '@parley/contracts/caller';
import { chatIntegration } from '@parley/contracts/hub/built-in';
import { type Account, type PublicApi, startPublicApi } from '@parley/testing/public-api';
import { GatewayModule } from '../../../../gateway/src/gateway.module';
import { HubModule } from '../../../../hub/src/hub.module';
import { AdminModule } from '../../admin.module';

type Update = Omit<Parameters<Client['updateBot']>[0], 'id'>;
type NewIntegration = Partial<Parameters<Client['createIntegration']>[0]>;

let api: PublicApi;
let alice: Account;
let bob: Account;

beforeAll(async () => {
  api = await startPublicApi(GatewayModule, AdminModule, HubModule);
  [alice, bob] = await Promise.all([api.newAccount(), api.newAccount()]);
});

afterAll(() => api?.stop());

const getDefinition = (botId: string) => api.call(admin.botDefinitions.get, systemCaller('test'), { botId });
const findWebhook = (webhookId: string) =>
  api.call(admin.botDefinitions.findByWebhookId, systemCaller('test'), { webhookId });

let names = 0;
const channel = { messages: {}, conversation: {}, message: {} };

async function newIntegration({ client }: Account, change: NewIntegration = {}) {
  names += 1;
  return (await client.createIntegration({ name: `integration-${names}`, version: '1.0.0', ...change })).integration;
}

/** Sends the header x-multiple-integrations. */
async function newBot(input: Parameters<Client['createBot']>[0] = {}) {
  const { id } = (await alice.client.createBot(input)).bot;
  const headers = {
    authorization: `Bearer ${alice.token}`,
    'x-workspace-id': alice.workspaceId,
    'x-multiple-integrations': 'true',
  };
  const update = async (json: Update) => {
    const response = await api.send(`PUT /v1/admin/bots/${id}`, { headers, json });
    if (response.status !== 200) throw response.json;
    return response.json.bot as Awaited<ReturnType<Client['getBot']>>['bot'];
  };
  return { id, update };
}

describe('the runtime of a bot', () => {
  it("sends the bot's own states and its chat to the runtime", async () => {
    const schema = { type: 'object', properties: { step: { type: 'number' } } };
    const recurringEvents = { tick: { type: 'ticked', payload: { n: 1 }, schedule: { cron: '*/5 * * * *' } } };
    const states = { progress: { type: 'conversation' as const, schema, expiry: 5000 } };

    const { id } = await newBot({ states, recurringEvents });

    expect(await getDefinition(id)).toEqual({
      botId: id,
      workspaceId: alice.workspaceId,
      states,
      recurringEvents,
      recurringEventsRevision: expect.any(Number),
      installations: [
        {
          alias: 'chat',
          integrationId: chatIntegration.id,
          name: 'chat',
          webhookId: expect.stringMatching(/^webhook_/),
          enabled: true,
          isChat: true,
          channels: ['channel'],
          states: {},
          extraOperations: [],
        },
      ],
    });
  });

  it('sends states of enabled plugins under their names in the bot to the runtime', async () => {
    const schema = { type: 'object', properties: {} };
    const { plugin } = await alice.client.createPlugin({
      name: 'counting',
      version: '1.0.0',
      code: { node: '', browser: '' },
      states: { count: { type: 'user', schema } },
    });
    const { id, update } = await newBot({ states: { own: { type: 'bot', schema } } });

    await update({ plugins: { on: { id: plugin.id }, off: { id: plugin.id, enabled: false } } });

    expect((await getDefinition(id)).states).toEqual({
      own: { type: 'bot', schema },
      'on#count': { type: 'user', schema },
    });
  });

  it('sends states and enabled channels of each integration, also of disabled installations', async () => {
    const schema = { type: 'object', properties: { token: { type: 'string' } } };
    const slack = await newIntegration(alice, {
      channels: { dm: channel, group: channel },
      states: { credentials: { type: 'integration', schema } },
    });
    const mail = await newIntegration(alice, { channels: { thread: channel } });
    const { id, update } = await newBot();

    const { integrations } = await update({
      integrations: {
        chat: { disabledChannels: ['channel'] },
        one: { integrationId: slack.id, disabledChannels: ['dm'] },
        two: { integrationId: slack.id, enabled: false },
        post: { integrationId: mail.id },
      },
    });

    const states = { credentials: { type: 'integration', schema } };
    const shown = (alias: string, rest: object) => ({
      alias,
      integrationId: integrations[alias]!.id,
      name: integrations[alias]!.name,
      webhookId: integrations[alias]!.webhookId,
      enabled: true,
      isChat: false,
      extraOperations: [],
      ...rest,
    });
    expect((await getDefinition(id)).installations).toEqual([
      shown('chat', { isChat: true, channels: [], states: {} }),
      shown('one', { channels: ['group'], states }),
      shown('post', { channels: ['thread'], states: {} }),
      shown('two', { enabled: false, channels: ['dm', 'group'], states }),
    ]);
  });

  it('sends the declarations of an integration that became private', async () => {
    const { id: integrationId } = await newIntegration(bob, { visibility: 'public', channels: { dm: channel } });
    const { id, update } = await newBot();
    await update({ integrations: { hidden: { integrationId } } });

    await bob.client.updateIntegration({ id: integrationId, visibility: 'private' });

    expect((await getDefinition(id)).installations[1]).toMatchObject({ alias: 'hidden', channels: ['dm'] });
  });

  it('sends an installation without channels and states when its version was deleted from the hub', async () => {
    const { id: integrationId } = await newIntegration(alice, { channels: { dm: channel } });
    const { id, update } = await newBot();
    await update({ integrations: { gone: { integrationId } } });

    // Simulates a deletion during the installation.
    await api.sql('DELETE FROM hub.integration WHERE id = $1', [integrationId]);

    expect((await getDefinition(id)).installations[1]).toMatchObject({ alias: 'gone', channels: [], states: {} });
  });

  it('returns 404 for the definition of a missing or deleted bot', async () => {
    const { id } = await newBot();
    await alice.client.deleteBot({ id });

    for (const botId of [id, 'none']) {
      await expect(getDefinition(botId)).rejects.toMatchObject({ type: 'ResourceNotFound', code: 404 });
    }
  });
});

describe('without the hub', () => {
  it('returns the definition of a bot with only the chat without the hub, and fails for other bots', async () => {
    const alone = await startPublicApi(GatewayModule, AdminModule);
    const { client } = await alone.newAccount();
    const [simple, other] = [(await client.createBot({})).bot.id, (await client.createBot({})).bot.id];
    await alone.sql(
      `INSERT INTO admin.installation (bot_id, alias, integration_id, webhook_id, enabled, status, summary)
       VALUES ($1, 'slack', 'intver_slack', 'webhook_slack', true, 'registered', '{"name": "slack"}')`,
      [other],
    );
    const ask = (botId: string) => alone.call(admin.botDefinitions.get, systemCaller('test'), { botId });

    try {
      expect((await ask(simple)).installations).toMatchObject([{ alias: 'chat', channels: ['channel'] }]);
      await expect(ask(other)).rejects.toMatchObject({ type: 'Internal', code: 503 });
    } finally {
      await alone.stop();
    }
  });
});

describe('a webhook', () => {
  it('resolves a webhook to the installation of the bot, with its decrypted configuration', async () => {
    const { id, update } = await newBot();
    const { integrations } = await update({ integrations: { chat: { configuration: { encryptionKey: 'hush' } } } });

    expect(await findWebhook(integrations['chat']!.webhookId)).toEqual({
      botId: id,
      workspaceId: alice.workspaceId,
      isBlocked: false,
      alias: 'chat',
      integrationId: chatIntegration.id,
      name: 'chat',
      isChat: true,
      enabled: true,
      configuration: { encryptionKey: 'hush' },
    });
  });

  it('reports missing configuration, disabled or other installation, and a blocked bot for a webhook', async () => {
    const { id: integrationId, name } = await newIntegration(alice);
    const { update } = await newBot();
    await update({ blocked: true });

    const { integrations } = await update({ integrations: { post: { integrationId, enabled: false } } });

    expect(await findWebhook(integrations['post']!.webhookId)).toMatchObject({
      ...{ alias: 'post', integrationId, name, isChat: false, enabled: false },
      isBlocked: true,
      configuration: {},
    });
    expect(await findWebhook(integrations['chat']!.webhookId)).toMatchObject({ enabled: true, configuration: {} });
  });

  it('returns 404 for a webhook that is unknown, uninstalled, or of a deleted bot', async () => {
    const { id: integrationId } = await newIntegration(alice);
    const { id, update } = await newBot();
    const { integrations } = await update({ integrations: { post: { integrationId } } });
    await update({ integrations: { post: null } });
    await alice.client.deleteBot({ id });

    for (const webhookId of [integrations['post']!.webhookId, integrations['chat']!.webhookId, 'webhook_none', '']) {
      await expect(findWebhook(webhookId)).rejects.toMatchObject({ type: 'ResourceNotFound', code: 404 });
    }
  });
});

describe('the recurring events of a bot', () => {
  const every = (cron: string) => ({ type: 'ticked', payload: {}, schedule: { cron } });
  const announced = async (botId: string) => {
    const rows = await api.sql<{ data: object }>(
      "SELECT data FROM admin.outbox WHERE subject = 'admin.recurringEventsChanged' AND data ->> 'botId' = $1 ORDER BY id",
      [botId],
    );
    return rows.map(({ data }) => data);
  };

  it('announces the recurring events of a bot on each update that contains them, with a growing revision', async () => {
    const { id, update } = await newBot({ recurringEvents: { tick: every('* * * * *') } });
    await update({ recurringEvents: { tock: every('0 * * * *') } });
    await update({ recurringEvents: { tick: null } });

    expect(await announced(id)).toEqual([1, 2, 3].map((revision) => ({ botId: id, revision })));
    expect(await getDefinition(id)).toMatchObject({ recurringEventsRevision: 3, recurringEvents: { tock: {} } });
  });

  it('does not announce recurring events if an update omits them or fails, or if other code is deployed', async () => {
    const { id, update } = await newBot({ code: 'first' });
    await update({ name: 'Other', code: 'second' });
    const versions = (await alice.client.listBotVersions({ id })).versions;
    await alice.client.deployBotVersion({ id, versionId: versions[1]!.id });
    const tooMany = Array.from({ length: 51 }, (_, n) => [`event-${n}`, every('* * * * *')]);
    await expect(update({ recurringEvents: Object.fromEntries(tooMany) })).rejects.toMatchObject({ code: 400 });

    expect(await announced(id)).toEqual([]);
    expect(await getDefinition(id)).toMatchObject({ recurringEventsRevision: 0, recurringEvents: {} });
  });

  it('gives each of many concurrent updates of recurring events its own revision', async () => {
    const { id, update } = await newBot();

    await Promise.all(
      Array.from({ length: 8 }, (_, n) => update({ recurringEvents: { [`event-${n}`]: every('* * * * *') } })),
    );

    expect(await announced(id)).toEqual(
      expect.arrayContaining(Array.from({ length: 8 }, (_, n) => ({ botId: id, revision: n + 1 }))),
    );
    const { recurringEvents, recurringEventsRevision } = await getDefinition(id);
    expect(recurringEventsRevision).toBe(8);
    expect(Object.keys(recurringEvents)).toHaveLength(8);
  });
});
