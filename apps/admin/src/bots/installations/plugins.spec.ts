import type { Client } from '@botpress/client';
import { hubEntryChanged } from '@parley/contracts/hub/resolution';
import { type Account, type PublicApi, startPublicApi } from '@parley/testing/public-api';
import { waitFor } from '@parley/testing/wait-for';
import { GatewayModule } from '../../../../gateway/src/gateway.module';
import { AdminModule } from '../../admin.module';
import { FakeHub, FakeHubModule } from '../../test/fake-hub.module';

type Update = Omit<Parameters<Client['updateBot']>[0], 'id'>;

const hub = new FakeHub();
const hitl = 'ifver_hitl';
const desk = hub.addIntegration('intver_desk', { name: 'desk', interfaces: { hitl } });
const deskNext = hub.addIntegration('intver_desk_next', { name: 'desk', interfaces: { hitl } });
const schema = { type: 'object', properties: { a: { type: 'string' } } };
const added = {
  states: { queue: { type: 'bot', schema } },
  events: { started: { schema } },
  actions: { start: { input: { schema }, output: { schema } } },
  userTags: { agent: { title: 'Agent' } },
  conversationTags: { ticket: {} },
  messageTags: { origin: {} },
};
const handoff = hub.addPlugin('plugver_handoff', {
  name: 'handoff',
  ...(added as object),
  interfaces: { helpdesk: hitl },
  configurationSchema: { type: 'object', properties: { greeting: { type: 'string' } } },
});
const plain = hub.addPlugin('plugver_plain', { name: 'plain', ...(added as object) });
const backed = hub.addPlugin('plugver_backed', { name: 'backed', integrations: { store: desk } });

let api: PublicApi;
let alice: Account;

beforeAll(async () => {
  api = await startPublicApi(GatewayModule, AdminModule, FakeHubModule.of(hub));
  alice = await api.newAccount();
});

afterAll(() => api?.stop());

beforeEach(() => {
  hub.calls = [];
  hub.problems.length = 0;
  hub.beforeReply = () => Promise.resolve();
});

/** Creates a bot for Alice, with the desk installed under the alias `desk` and integrations keyed by alias. */
async function newBot() {
  const { id } = (await alice.client.createBot({})).bot;
  const headers = {
    authorization: `Bearer ${alice.token}`,
    'x-workspace-id': alice.workspaceId,
    'x-multiple-integrations': 'true',
  };
  const send = async (method: string, json?: unknown) => {
    const response = await api.send(`${method} /v1/admin/bots/${id}`, { headers, json });
    if (response.status !== 200) throw response.json;
    return response.json.bot as Awaited<ReturnType<Client['getBot']>>['bot'];
  };
  const update = (changes: Update) => send('PUT', changes);
  await update({ integrations: { desk: { integrationId: desk } } });
  hub.calls = [];
  return { id, update, get: () => send('GET') };
}

async function memberWith(role: 'developer' | 'viewer') {
  const account = await api.newAccount();
  await api.addMember(alice.workspaceId, account.accountId, role);
  return api.client(account.token, alice.workspaceId);
}

const bound = { helpdesk: { integrationId: desk, integrationAlias: 'desk' } };

describe('installing a plugin', () => {
  it('shows an installed plugin, and its entities under its alias', async () => {
    const { id, update, get } = await newBot();

    await update({
      plugins: { help: { id: handoff, configuration: { greeting: 'hi' }, interfaces: bound } },
    });

    const bot = await get();
    expect(bot.plugins).toEqual({
      help: {
        id: handoff,
        name: 'handoff',
        version: '1.0.0',
        title: `Title of ${handoff}`,
        description: 'Says what it does',
        iconUrl: 'https://example.com/icon.svg',
        readmeUrl: 'https://example.com/readme.md',
        createdAt: '2026-01-01T00:00:00.000Z',
        updatedAt: '2026-01-02T00:00:00.000Z',
        public: true,
        visibility: 'public',
        lifecycleStatus: 'published',
        enabled: true,
        configuration: { greeting: 'hi' },
        interfaces: { helpdesk: { integrationId: desk, integrationAlias: 'desk', interfaceId: hitl } },
        integrations: {},
      },
    });
    expect(bot).toMatchObject({
      states: { 'help#queue': added.states.queue },
      events: { 'help#started': added.events.started },
      actions: { 'help#start': added.actions.start },
      user: { tags: { 'help#agent': { title: 'Agent' } } },
      conversation: { tags: { 'help#ticket': {} } },
      message: { tags: { 'help#origin': {} } },
    });
    expect(hub.calls).toEqual([`plugins ${handoff}`]);
    expect(await lastAnnounced(id)).toMatchObject({ revision: 3, plugins: [{ alias: 'help', id: handoff }] });
  });

  it('calls the hub once for each kind to install plugins together with their dependencies', async () => {
    const { update } = await newBot();

    const { plugins } = await update({
      integrations: { other: { integrationId: deskNext } },
      plugins: {
        a: { id: plain },
        b: { id: handoff, interfaces: { helpdesk: { integrationId: deskNext, integrationInterfaceAlias: 'hitl' } } },
      },
    });

    expect(hub.calls).toEqual([`integrations ${deskNext}`, `plugins ${plain} ${handoff}`]);
    expect(plugins['b']!.interfaces).toEqual({
      helpdesk: {
        integrationId: deskNext,
        integrationAlias: 'other',
        integrationInterfaceAlias: 'hitl',
        interfaceId: hitl,
      },
    });
  });

  it('keeps the configuration of a plugin encrypted', async () => {
    const { id, update } = await newBot();

    await update({ plugins: { help: { id: handoff, configuration: { greeting: 'hush-hi' }, interfaces: bound } } });

    const rows = await api.sql('SELECT * FROM admin.bot_plugin WHERE bot_id = $1', [id]);
    expect(rows).toHaveLength(1);
    expect(JSON.stringify(rows)).not.toContain('hush');
    expect(JSON.stringify(await api.sql('SELECT * FROM admin.audit_record'))).not.toContain('hush');
    expect(JSON.stringify(await lastAnnounced(id))).not.toContain('hush');
  });

  it('shows the configuration of a plugin to developers and higher roles only', async () => {
    const { id, update } = await newBot();
    await update({ plugins: { help: { id: handoff, configuration: { greeting: 'hi' }, interfaces: bound } } });
    const { value } = await alice.client.createBotApiKey({ botId: id });
    const seenBy = async (client: Client) => (await client.getBot({ id })).bot.plugins['help']!.configuration;

    expect(await seenBy(await memberWith('developer'))).toEqual({ greeting: 'hi' });
    expect(await seenBy(await memberWith('viewer'))).toEqual({});
    expect(await seenBy(api.client(value))).toEqual({});
  });

  it("keeps a plugin out of the bot's own definition when a client sends back the reply of getBot", async () => {
    const { id, update, get } = await newBot();
    const own = { states: { mine: { type: 'bot' as const, schema } } };
    await update({ plugins: { help: { id: plain } }, ...own });
    const shown = await get();

    const { states, events, actions, user, conversation, message } = shown;
    await update({ states, events, actions, user, conversation, message });

    const [row] = await api.sql<{ definition: object }>('SELECT definition FROM admin.bot WHERE id = $1', [id]);
    expect(row!.definition).toMatchObject({
      ...own,
      events: {},
      actions: {},
      user: { tags: {} },
      message: { tags: {} },
    });
    expect(Object.keys((row!.definition as { states: object }).states)).toEqual(['mine']);
    expect({ ...(await get()), updatedAt: '' }).toEqual({ ...shown, updatedAt: '' });
  });

  it('stores entities once if a deployment sends a plugin together with its entities', async () => {
    const { id, update } = await newBot();

    const bot = await update({
      plugins: { help: { id: plain } },
      actions: { 'help#start': { input: { schema: {} }, output: { schema: {} } }, own: added.actions.start },
    });

    const [row] = await api.sql<{ definition: { actions: object } }>('SELECT definition FROM admin.bot WHERE id = $1', [
      id,
    ]);
    expect(Object.keys(row!.definition.actions)).toEqual(['own']);
    expect(bot.actions['help#start']).toEqual(added.actions.start);
  });

  it('adds no entities of a disabled plugin to the bot', async () => {
    const { update } = await newBot();

    const bot = await update({ plugins: { help: { id: plain, enabled: false } } });

    expect(bot.plugins['help']).toMatchObject({ enabled: false });
    expect(bot.actions).toEqual({});
  });

  it.each([
    [
      'that nobody published',
      { x: { id: 'plugver_none' } },
      'ReferenceNotFound',
      /^plugins\.x: plugin "plugver_none" not found, or this workspace may not install it/,
    ],
    [
      'that needs an interface',
      { x: { id: handoff } },
      'InvalidPayload',
      /^plugins\.x\.interfaces\.helpdesk is missing: bind this dependency/,
    ],
    [
      'bound to an integration that is not installed',
      { x: { id: handoff, interfaces: { helpdesk: { integrationId: deskNext } } } },
      'InvalidPayload',
      /^plugins\.x\.interfaces\.helpdesk is bound to the integration "intver_desk_next", which the bot does not have/,
    ],
    [
      'bound to another alias',
      { x: { id: handoff, interfaces: { helpdesk: { integrationId: desk, integrationAlias: 'chat' } } } },
      'InvalidPayload',
      /^plugins\.x\.interfaces\.helpdesk is bound to the integration "intver_desk" as "chat"/,
    ],
    [
      'that needs an integration',
      { x: { id: backed } },
      'InvalidPayload',
      /^plugins\.x\.integrations\.store is missing: bind this dependency/,
    ],
    [
      'with a wrong configuration',
      { x: { id: handoff, interfaces: bound, configuration: { greeting: 1 } } },
      'InvalidPayload',
      /^plugins\.x\.configuration\.greeting must be string/,
    ],
    ['under an alias that is none', { 'a#b': { id: plain } }, 'InvalidPayload', /^plugins has a name "a#b"/],
  ])('rejects an update with a plugin %s, and applies nothing of it', async (_case, plugins, type, message) => {
    const { update, get } = await newBot();
    const before = await get();

    await expect(update({ name: 'renamed', plugins })).rejects.toMatchObject({
      type,
      message: expect.stringMatching(message),
    });

    expect(await get()).toEqual(before);
  });

  it('returns the reason why the hub cannot resolve a plugin', async () => {
    const { update } = await newBot();
    hub.problems.push({ alias: 'x', problem: 'it does not implement hitl.' });

    await expect(update({ plugins: { x: { id: plain } } })).rejects.toMatchObject({
      type: 'InvalidPayload',
      message: 'plugins.x: it does not implement hitl.',
    });
  });
});

describe('changing plugins and what they depend on', () => {
  it('keeps the fields of a plugin that are left out', async () => {
    const { update } = await newBot();
    const before = await update({
      plugins: { help: { id: handoff, enabled: false, configuration: { greeting: 'hi' }, interfaces: bound } },
    });

    const after = await update({ plugins: { help: { id: handoff } } });

    expect(after.plugins).toEqual(before.plugins);
  });

  it('rebinds a plugin to the new version of an integration', async () => {
    const { update } = await newBot();
    await update({
      plugins: {
        help: { id: handoff, interfaces: bound },
        other: { id: backed, integrations: { store: { integrationId: desk, integrationAlias: 'desk' } } },
      },
    });
    hub.calls = [];

    const { plugins } = await update({ integrations: { desk: { integrationId: deskNext } } });

    expect(plugins['help']!.interfaces!['helpdesk']).toMatchObject({
      integrationId: deskNext,
      integrationAlias: 'desk',
    });
    expect(plugins['other']!.integrations).toEqual({ store: { integrationId: deskNext, integrationAlias: 'desk' } });
    expect(hub.calls).toEqual([`integrations ${deskNext}`, `plugins ${handoff} ${backed}`]);
  });

  it('blocks the removal of an integration that a plugin depends on, unless the plugin is removed too', async () => {
    const { update } = await newBot();
    await update({ plugins: { help: { id: handoff, interfaces: bound } } });

    await expect(update({ integrations: { desk: null } })).rejects.toMatchObject({
      type: 'InvalidPayload',
      message: expect.stringMatching(/^plugins\.help\.interfaces\.helpdesk is bound to the integration "desk"/),
    });
    const bot = await update({ integrations: { desk: null }, plugins: { help: null } });

    expect(bot.plugins).toEqual({});
    expect(Object.keys(bot.integrations)).toEqual(['chat']);
    expect(bot.actions).toEqual({});
  });

  it('updates the entities of a plugin after a change in the hub, also of an integration that it is bound to', async () => {
    const { update, get } = await newBot();
    const configuration = { greeting: 'hi' };
    await update({ plugins: { help: { id: handoff, configuration, interfaces: bound } } });
    const actionsOf = async () => Object.keys((await get()).actions);
    const change = (name: string) =>
      hub.addPlugin(handoff, {
        name: 'handoff',
        interfaces: { helpdesk: hitl },
        actions: { [name]: added.actions.start },
      });

    change('second');
    await announce({ kind: 'plugin', id: handoff });
    await waitFor(actionsOf, ([name]) => name === 'help#second');
    change('third');
    await announce({ kind: 'integration', id: desk });

    await waitFor(actionsOf, ([name]) => name === 'help#third');
    expect((await get()).plugins['help']).toMatchObject({ configuration });
  });

  it('updates the entities of a plugin that changed in the hub during its installation', async () => {
    const { update, get } = await newBot();
    const racing = hub.addPlugin('plugver_racing', { actions: { first: added.actions.start } });
    hub.beforeReply = async () => {
      hub.addPlugin(racing, { actions: { second: added.actions.start } });
    };

    const { actions } = await update({ plugins: { help: { id: racing } } });

    expect(Object.keys(actions)).toEqual(['help#first']);
    await waitFor(async () => 'help#second' in (await get()).actions);
  });
});

describe('listing bots', () => {
  it('filters bots by the names of plugins', async () => {
    const { id, update } = await newBot();
    await update({ plugins: { any: { id: plain } } });

    const found = await alice.client.listBots({ pluginNames: ['plain', 'none'], integrationNames: ['desk'] });
    const none = await alice.client.listBots({ pluginNames: ['plain'], integrationNames: ['none'] });

    expect(found.bots.map((bot) => bot.id)).toContain(id);
    expect(none.bots).toEqual([]);
  });
});

async function lastAnnounced(botId: string) {
  const [row] = await api.sql<{ data: object }>(
    `SELECT data FROM admin.outbox WHERE subject = 'admin.installationsChanged' AND data ->> 'botId' = $1
     ORDER BY id DESC LIMIT 1`,
    [botId],
  );
  return row!.data;
}

async function announce(change: { kind: 'integration' | 'plugin'; id: string }) {
  await api.publish(hubEntryChanged, { ...change, isDeleted: false, workspaceId: null });
}
