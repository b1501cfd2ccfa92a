import type { Client } from '@botpress/client';
import { chatIntegration } from '@parley/contracts/hub/built-in';
import { type Account, type PublicApi, startPublicApi } from '@parley/testing/public-api';
import { waitFor } from '@parley/testing/wait-for';
import { GatewayModule } from '../../../../gateway/src/gateway.module';
import { HubModule } from '../../../../hub/src/hub.module';
import { AdminModule } from '../../admin.module';

let api: PublicApi;
let alice: Account;
let bob: Account;

beforeAll(async () => {
  api = await startPublicApi(GatewayModule, AdminModule, HubModule);
  [alice, bob] = await Promise.all([api.newAccount(), api.newAccount()]);
});

afterAll(() => api?.stop());

let names = 0;
type NewIntegration = Partial<Parameters<Client['createIntegration']>[0]>;

async function newIntegration({ client }: Account, change: NewIntegration = {}) {
  names += 1;
  return (await client.createIntegration({ name: `integration-${names}`, version: '1.0.0', ...change })).integration;
}

/** Sends no header x-multiple-integrations. */
async function newBot() {
  const { id } = (await alice.client.createBot({})).bot;
  return {
    id,
    update: async (changes: Omit<Parameters<Client['updateBot']>[0], 'id'>) =>
      (await alice.client.updateBot({ id, ...changes })).bot,
    get: async () => (await alice.client.getBot({ id })).bot,
  };
}

/** Whether the event of an installation has arrived in the hub. */
async function installedInHub(id: string): Promise<boolean> {
  return (await api.sql('SELECT FROM hub.installation WHERE entry_id = $1', [id])).length > 0;
}

it('shows the chat as the hub does', async () => {
  const { get } = await newBot();

  const shown = (await get()).integrations[chatIntegration.id]!;

  const { integration } = await alice.client.getPublicIntegrationById({ id: chatIntegration.id });
  const fields = ['id', 'name', 'version', 'title', 'description', 'iconUrl', 'createdAt', 'updatedAt'] as const;
  const states = ['public', 'visibility', 'verificationStatus', 'lifecycleStatus'] as const;
  for (const field of [...fields, ...states]) expect([field, shown[field]]).toEqual([field, integration[field]]);
});

it('validates the configuration of the chat by the schema in the hub', async () => {
  const { update } = await newBot();
  const configure = (configuration: Record<string, unknown>) =>
    update({ integrations: { [chatIntegration.id]: { configuration } } });

  const { integrations } = await configure({ encryptionKey: 'k', webhookUrl: 'https://example.com' });

  expect(integrations[chatIntegration.id]).toMatchObject({
    configuration: { encryptionKey: 'k' },
    status: 'registered',
  });
  await expect(configure({ encryptionKey: 7 })).rejects.toMatchObject({ type: 'InvalidPayload' });
});

it('installs own and public integrations, and returns one error for a foreign private and a missing one', async () => {
  const { update } = await newBot();
  const own = await newIntegration(alice, { url: 'https://example.com' });
  const open = await newIntegration(bob, { visibility: 'public' });
  const foreign = await newIntegration(bob);

  const { integrations } = await update({ integrations: { [own.id]: {}, [open.id]: {} } });

  expect(integrations[own.id]).toMatchObject({ name: own.name, status: 'registration_pending', visibility: 'private' });
  expect(integrations[open.id]).toMatchObject({ name: open.name, status: 'registered', visibility: 'public' });
  for (const id of [foreign.id, 'intver_none']) {
    await expect(update({ integrations: { [id]: {} } })).rejects.toMatchObject({
      type: 'ReferenceNotFound',
      message: `integrations.${id}: integration "${id}" not found, or this workspace may not install it.`,
    });
  }
});

it('shows changes of the hub, and blocks the deletion of an installed integration', async () => {
  const { update, get } = await newBot();
  const { id } = await newIntegration(alice, { title: 'Before' });
  await update({ integrations: { [id]: {} } });
  const { value } = await alice.client.createIntegrationApiKey({ integrationId: id });

  await alice.client.updateIntegration({ id, title: 'After', url: 'https://example.com' });

  await waitFor(
    async () => (await get()).integrations[id]!,
    ({ title, status }) => title === 'After' && status === 'registration_pending',
  );
  await waitFor(() => installedInHub(id));
  await expect(alice.client.deleteIntegration({ id })).rejects.toMatchObject({ type: 'ReferenceConstraint' });
  await update({ integrations: { [id]: null } });
  await waitFor(async () => !(await installedInHub(id)));
  await alice.client.deleteIntegration({ id });
  await waitFor(() =>
    api
      .client(value)
      .getIntegration({ id })
      .then(
        () => false,
        ({ type }) => type === 'Unauthorized',
      ),
  );
});

it('registers an installation again that failed before a change of its integration, and no other one', async () => {
  const { id } = await newIntegration(alice, { url: 'https://example.com' });
  const [failed, registered] = [await newBot(), await newBot()];
  for (const { update } of [failed, registered]) await update({ integrations: { [id]: {} } });
  await setStatus(failed.id, 'registration_failed');
  await setStatus(registered.id, 'registered');

  await alice.client.updateIntegration({ id, title: 'Repaired' });

  const shown = async ({ get }: typeof failed) => (await get()).integrations[id]!;
  await waitFor(async () => (await shown(registered)).title === 'Repaired');
  expect(await shown(registered)).toMatchObject({ status: 'registered' });
  await waitFor(async () => (await shown(failed)).title === 'Repaired');
  expect(await shown(failed)).toMatchObject({ status: 'registration_pending', statusReason: null });

  function setStatus(botId: string, status: string) {
    return api.sql(`UPDATE admin.installation SET status = $2, status_reason = 'No license.' WHERE bot_id = $1`, [
      ...[botId, status],
    ]);
  }
});

it('lets a bot keep and change an integration that became private, which no other workspace can install', async () => {
  const { update, get } = await newBot();
  const { id } = await newIntegration(bob, { visibility: 'public' });
  const code = { node: '', browser: '' };
  const { plugin } = await bob.client.createPlugin({ name: 'hideable', version: '1.0.0', code, visibility: 'public' });
  await update({ integrations: { [id]: {} }, plugins: { hidden: { id: plugin.id } } });
  await bob.client.updateIntegration({ id, visibility: 'private' });
  await bob.client.updatePlugin({ id: plugin.id, visibility: 'private' });
  await waitFor(get, ({ integrations, plugins }) =>
    [integrations[id]!, plugins['hidden']!].every(({ visibility }) => visibility === 'private'),
  );

  const bot = await update({
    integrations: { [id]: { enabled: false } },
    plugins: { hidden: { id: plugin.id, enabled: false } },
  });

  expect([bot.integrations[id]!.enabled, bot.plugins['hidden']!.enabled]).toEqual([false, false]);
  const other = await newBot();
  await expect(other.update({ integrations: { [id]: {} } })).rejects.toMatchObject({
    type: 'ReferenceNotFound',
    message: `integrations.${id}: integration "${id}" not found, or this workspace may not install it.`,
  });
  await expect(other.update({ plugins: { hidden: { id: plugin.id } } })).rejects.toMatchObject({
    type: 'ReferenceNotFound',
    message: `plugins.hidden: plugin "${plugin.id}" not found, or this workspace may not install it.`,
  });
});

it('counts an installation in the hub', async () => {
  const { id } = await newIntegration(alice, { visibility: 'public' });
  const { update } = await newBot();
  const installs = async () => (await alice.client.getPublicIntegrationById({ id })).integration.meta.installs;

  await update({ integrations: { [id]: {} } });
  await waitFor(installs, (count) => count === 1);
  await update({ integrations: { [id]: null } });

  await waitFor(installs, (count) => count === 0);
});

it('merges a plugin with the entities of the integration that it is bound to', async () => {
  const { update, get } = await newBot();
  const itemSchema = { type: 'object', properties: { id: { type: 'string' }, onlyHere: { type: 'boolean' } } };
  const listable = await newInterface();
  const store = await newIntegration(alice, {
    entities: { product: { schema: itemSchema } },
    actions: { listProducts: { input: { schema: {} }, output: { schema: {} } } },
    interfaces: {
      listable: {
        id: listable.id,
        entities: { item: { name: 'product' } },
        actions: { list: { name: 'listProducts' } },
        events: {},
        channels: {},
      },
    },
  });
  const other = await newIntegration(alice);
  const { plugin } = await alice.client.createPlugin({
    name: 'shop',
    version: '1.0.0',
    code: { node: '', browser: '' },
    dependencies: { interfaces: { things: { id: listable.id } } },
    actions: { pick: { input: { schema: { $ref: 'interface:things/entities/item' } }, output: { schema: {} } } },
  });
  await update({ integrations: { [store.id]: {}, [other.id]: {} } });
  const install = (integrationId: string) =>
    update({ plugins: { shop: { id: plugin.id, interfaces: { things: { integrationId } } } } });

  await install(store.id);

  const bot = await get();
  expect(bot.actions['shop#pick']!.input.schema).toEqual(itemSchema);
  expect(bot.plugins['shop']!.interfaces).toEqual({
    things: { integrationId: store.id, integrationAlias: store.name, interfaceId: listable.id },
  });
  await expect(install(other.id)).rejects.toMatchObject({
    type: 'InvalidPayload',
    message: expect.stringMatching(/^plugins\.shop: interfaces\.things: integration .* does not implement/),
  });
});

async function newInterface() {
  return (
    await alice.client.createInterface({
      name: 'sellable',
      version: '1.0.0',
      entities: { item: { schema: { type: 'object' } } },
      events: {},
      channels: {},
      actions: { list: { input: { schema: {} }, output: { schema: {} } } },
    })
  ).interface;
}

it('reports a deleted version to a bot that installed it in the moment before, and lets it uninstall', async () => {
  const { update, get } = await newBot();
  const { id } = await newIntegration(alice);
  const code = { node: '', browser: '' };
  const { plugin } = await alice.client.createPlugin({ name: 'brief', version: '1.0.0', code });
  // Keeps the event of the installation from arriving.
  await api.sql('BEGIN');
  await api.sql('LOCK TABLE hub.installation_report IN EXCLUSIVE MODE');
  await update({ integrations: { [id]: {} }, plugins: { brief: { id: plugin.id } } });

  await alice.client.deleteIntegration({ id });
  await alice.client.deletePlugin({ id: plugin.id });
  await api.sql('COMMIT');

  await waitFor(() => installedInHub(id));
  const { integrations } = await waitFor(get, (bot) => bot.integrations[id]!.status === 'registration_failed');
  expect(integrations[id]!.statusReason).toBe(
    'This version of the integration was deleted. Uninstall it, or install another version.',
  );
  await expect(update({ integrations: { [id]: { enabled: true } } })).rejects.toMatchObject({
    type: 'ReferenceNotFound',
    message: `integrations.${id}: integration "${id}" not found, or this workspace may not install it.`,
  });
  await expect(update({ plugins: { brief: { id: plugin.id, enabled: true } } })).rejects.toMatchObject({
    type: 'ReferenceNotFound',
  });
  await update({ name: 'Still changeable' });
  const bot = await update({ integrations: { [id]: null }, plugins: { brief: null } });
  expect([Object.keys(bot.integrations), bot.plugins]).toEqual([[chatIntegration.id], {}]);
  await waitFor(async () => !(await installedInHub(id)));
});
