import { Client } from '@botpress/client';
import { systemCaller } from '@parley/contracts/caller';
import { resolution, type ResolvePlugins } from '@parley/contracts/hub/resolution';
import { blockedSessions } from '@parley/testing/lock-waits';
import { type Account, type PublicApi, startPublicApi } from '@parley/testing/public-api';
import { waitFor } from '@parley/testing/wait-for';
import { AdminModule } from '../../../admin/src/admin.module';
import { GatewayModule } from '../../../gateway/src/gateway.module';
import { HubModule } from '../hub.module';

let api: PublicApi;
let alice: Account;
let bob: Account;
let names = 0;

beforeAll(async () => {
  api = await startPublicApi(GatewayModule, AdminModule, HubModule);
  [alice, bob] = await Promise.all([api.newAccount(), api.newAccount()]);
});

afterAll(() => api?.stop());

function newName() {
  return `part-${(names += 1)}`;
}

async function memberWith(role: 'manager' | 'developer' | 'billing' | 'viewer') {
  const account = await api.newAccount();
  await api.addMember(alice.workspaceId, account.accountId, role);
  return api.client(account.token, alice.workspaceId);
}

function send(line: string, json?: unknown) {
  return api.send(line, {
    headers: { authorization: `Bearer ${alice.token}`, 'x-workspace-id': alice.workspaceId },
    json,
  });
}

const code = { node: 'module.exports = 1', browser: 'export default 1' };
const plain = () => ({ name: newName(), version: '1.0.0', code });

async function create(client: Client, change: Partial<Parameters<Client['createPlugin']>[0]> = {}) {
  return (await client.createPlugin({ ...plain(), ...change })).plugin;
}

const schema = { type: 'object', properties: { a: { type: 'string', 'x-zui': { index: 1 } } }, required: ['a'] };
const action = { title: 'Go', cacheable: true, input: { schema }, output: { schema }, attributes: { a: 'b' } };
const definition = {
  configuration: { title: 'Settings', description: 'Of it', schema },
  states: { s: { type: 'user' as const, schema, expiry: 1000 }, b: { type: 'bot' as const, schema } },
  events: { e: { title: 'E', schema, attributes: { a: 'b' } } },
  actions: { go: action },
  user: { tags: { u: { title: 'U' } } },
  conversation: { tags: { c: { description: 'C' } } },
  message: { tags: { m: {} } },
  attributes: { category: 'data' },
};

describe('creating a plugin', () => {
  it('accepts a plugin with code of several megabytes', async () => {
    const node = 'x'.repeat(2_500_000);

    const { id } = await create(alice.client, { code: { node, browser: code.browser } });

    const { code: stored } = await alice.client.getPluginCode({ id, platform: 'node' });
    expect(stored === node).toBe(true);
  });

  it('creates a plugin from only a name, version and code, and returns every map', async () => {
    const given = plain();

    const { plugin } = await alice.client.createPlugin(given);

    expect(plugin).toEqual({
      id: expect.stringMatching(/^plugver_[0-9A-Z]{26}$/),
      createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      updatedAt: plugin.createdAt,
      name: given.name,
      version: '1.0.0',
      title: given.name,
      description: '',
      iconUrl: '',
      readmeUrl: '',
      public: false,
      visibility: 'private',
      lifecycleStatus: 'published',
      configuration: { schema: { type: 'object', properties: {} } },
      states: {},
      events: {},
      actions: {},
      user: { tags: {} },
      conversation: { tags: {} },
      message: { tags: {} },
      dependencies: { interfaces: {}, integrations: {} },
    });
  });

  it('stores every given field of a plugin, and its code in a separate table', async () => {
    const given = { ...definition, title: 'Tea', description: 'Of tea', visibility: 'unlisted' as const };

    const created = await create(alice.client, { ...given, readme: Buffer.from('# Tea').toString('base64') });

    const { plugin } = await alice.client.getPlugin({ id: created.id });
    expect(plugin).toEqual(created);
    expect(plugin).toMatchObject({ ...given, public: false });
    expect(plugin.readmeUrl).toMatch(/^data:text\/markdown/);
    expect(JSON.stringify(plugin)).not.toContain(code.node);
    expect(await alice.client.getPluginCode({ id: plugin.id, platform: 'node' })).toEqual({ code: code.node });
    expect(await alice.client.getPluginCode({ id: plugin.id, platform: 'browser' })).toEqual({ code: code.browser });
    expect(await send(`GET /v1/admin/plugins/${plugin.id}/code/other`)).toMatchObject({ status: 404 });
  });

  it('drops further fields that newer clients send with a dependency, however large', async () => {
    const { integration } = await alice.client.createIntegration({ name: newName(), version: '1.0.0' });
    const implementation = { type: 'Buffer', data: Array.from({ length: 800_000 }, (_, index) => index % 256) };
    const dependency = { id: integration.id, type: 'integration', uri: 'x', definition: { deep: {} }, implementation };

    const { status, json } = await send('POST /v1/admin/plugins', {
      ...plain(),
      dependencies: { integrations: { slack: dependency } },
    });

    const { id, name, version } = integration;
    expect(status).toBe(200);
    expect(json.plugin.dependencies).toEqual({ interfaces: {}, integrations: { slack: { id, name, version } } });
  });

  it.each([
    [{ name: 'a b' }, 'InvalidPayload', /^name must be letters/],
    [{ name: 'foreign/tea' }, 'Forbidden', /^name: "foreign\/" is not the handle/],
    [{ version: 'v1' }, 'InvalidPayload', /^version must be a semver/],
    [{ icon: 'bm8gaW1hZ2U=' }, 'InvalidPayload', /^icon must be base64 of a PNG/],
    [{ states: entries(21, { type: 'user', schema }) }, 'InvalidPayload', /^states must have at most 20/],
    [{ user: { tags: entries(51, {}) } }, 'InvalidPayload', /^user\.tags must have at most 50/],
    [
      { configuration: { schema: { type: 'no' } } },
      'InvalidJsonSchema',
      /^configuration\.schema is not a valid JSON schema/,
    ],
    [{ states: { s: { type: 'user', schema: { type: 1 } } } }, 'InvalidJsonSchema', /^states\.s\.schema is no/],
    [
      { dependencies: { interfaces: { a: {} } } },
      'InvalidPayload',
      /^dependencies\.interfaces\.a: id or name is required/,
    ],
    [
      { dependencies: { interfaces: { a: { name: 'none', version: '^1.0.0' } } } },
      'ReferenceNotFound',
      /^dependencies\.interfaces\.a: none \^1\.0\.0 not found\.$/,
    ],
    [
      { dependencies: { integrations: { a: { id: 'intver_none' } } } },
      'ReferenceNotFound',
      /^dependencies\.integrations\.a: intver_none not found\.$/,
    ],
  ])('rejects a plugin with %j', async (json, type, message) => {
    const answer = await send('POST /v1/admin/plugins', { ...plain(), ...json });

    expect(answer.json).toMatchObject({ type, message: expect.stringMatching(message) });
  });

  it("finds dependencies by id, or by name and version, the workspace's own before public ones", async () => {
    const [own, shared, hidden] = [newName(), newName(), newName()];
    const ids: Record<string, string> = {};
    for (const [account, name, version, isPublic] of [
      [alice, own, '1.0.0', false],
      [alice, own, '1.1.0', false],
      [bob, own, '1.2.0', true],
      [bob, shared, '1.0.0', true],
      [bob, shared, '2.0.0', false],
      [bob, hidden, '1.0.0', false],
    ] as const) {
      const made = await account.client.createInterface({ name, version, public: isPublic });
      ids[`${name} ${version}`] = made.interface.id;
    }

    const { dependencies } = await create(alice.client, {
      dependencies: {
        interfaces: {
          latest: { name: own },
          exact: { name: own, version: '1.0.0' },
          range: { name: own, version: '>=1.2.0' },
          shared: { name: shared, version: 'latest' },
          id: { id: ids[`${own} 1.0.0`], name: 'whatever', version: '9.9.9' },
        },
      },
    });

    const found = Object.entries(dependencies.interfaces).map(([alias, { id }]) => [alias, id]);
    expect(Object.fromEntries(found)).toEqual({
      latest: ids[`${own} 1.1.0`],
      exact: ids[`${own} 1.0.0`],
      range: ids[`${own} 1.2.0`],
      shared: ids[`${shared} 1.0.0`],
      id: ids[`${own} 1.0.0`],
    });
    for (const dependency of [{ name: hidden }, { id: ids[`${hidden} 1.0.0`] }, { name: shared, version: '2.0.0' }]) {
      await expect(create(alice.client, { dependencies: { interfaces: { x: dependency } } })).rejects.toMatchObject({
        type: 'ReferenceNotFound',
        message: expect.stringMatching(/^dependencies\.interfaces\.x/),
      });
    }
  });

  it('returns AlreadyExists for an existing name and version of a plugin, and leaves no code behind', async () => {
    const { name } = await create(alice.client);
    const other = { node: `node of ${name}`, browser: `browser of ${name}` };

    await expect(alice.client.createPlugin({ name, version: '1.0.0', code: other })).rejects.toMatchObject({
      type: 'AlreadyExists',
      message: `Plugin "${name}" 1.0.0 already exists in this workspace.`,
    });

    expect(await codeRows(other.node)).toBe(0);
  });

  it('creates a plugin with a name published by another workspace only as private', async () => {
    const { name } = await create(bob.client, { visibility: 'unlisted' });

    await expect(create(alice.client, { name, visibility: 'public' })).rejects.toMatchObject({ type: 'AlreadyExists' });
    const { id } = await create(alice.client, { name });
    await expect(alice.client.updatePlugin({ id, public: true })).rejects.toMatchObject({ type: 'AlreadyExists' });
  });

  it('requires the role developer to create a plugin, and manager when it is not private', async () => {
    const [manager, developer, viewer] = await Promise.all([
      memberWith('manager'),
      memberWith('developer'),
      memberWith('viewer'),
    ]);

    const { id } = await create(developer);
    await expect(create(viewer)).rejects.toMatchObject({ type: 'Forbidden' });
    await expect(create(developer, { visibility: 'unlisted' })).rejects.toMatchObject({ type: 'Forbidden' });
    await expect(create(developer, { public: true })).rejects.toMatchObject({ type: 'Forbidden' });
    await expect(developer.updatePlugin({ id, visibility: 'public' })).rejects.toMatchObject({ type: 'Forbidden' });
    await expect(viewer.getPluginCode({ id, platform: 'node' })).resolves.toEqual({ code: code.node });
    await expect((await memberWith('billing')).getPlugin({ id })).rejects.toMatchObject({ type: 'Forbidden' });

    await expect(create(manager, { public: true })).resolves.toMatchObject({ visibility: 'public' });
    await manager.updatePlugin({ id, visibility: 'public' });
    await expect(developer.updatePlugin({ id, title: 'mine' })).rejects.toMatchObject({ type: 'Forbidden' });
    await expect(developer.deletePlugin({ id })).rejects.toMatchObject({ type: 'Forbidden' });
    await expect(manager.deletePlugin({ id })).resolves.toBeDefined();
  });
});

describe('the code of plugins', () => {
  it('stores code once for all plugins that share it, and deletes it with the last one', async () => {
    const shared = { node: `shared ${newName()}`, browser: `shared ${newName()}` };
    const same = `both ${newName()}`;
    const [first, second, third] = [
      await create(alice.client, { code: shared }),
      await create(bob.client, { code: shared }),
      await create(alice.client, { code: { node: same, browser: same } }),
    ];
    expect([await codeRows(shared.node), await codeRows(same)]).toEqual([1, 1]);

    await alice.client.updatePlugin({ id: first.id, code: { node: 'changed' } });
    await bob.client.deletePlugin({ id: second.id });
    await alice.client.updatePlugin({ id: third.id, code: { browser: 'changed' } });

    expect([await codeRows(shared.node), await codeRows(shared.browser), await codeRows(same)]).toEqual([0, 1, 1]);
    expect(await alice.client.getPluginCode({ id: first.id, platform: 'node' })).toEqual({ code: 'changed' });
    expect(await alice.client.getPluginCode({ id: first.id, platform: 'browser' })).toEqual({ code: shared.browser });
    expect(await alice.client.getPluginCode({ id: third.id, platform: 'node' })).toEqual({ code: same });
  });

  it('stores the code again if a save runs during its deletion', async () => {
    const node = `dropped ${newName()}`;
    const { id } = await create(alice.client, { code: { node, browser: '' } });
    await api.sql('BEGIN');
    await api.sql('SELECT FROM hub.plugin_code WHERE content = $1 FOR UPDATE', [node]);
    const saving = create(bob.client, { code: { node, browser: node } });
    await waitFor(() => blockedSessions({ query: api.sql }));

    await api.sql('DELETE FROM hub.plugin WHERE id = $1', [id]);
    await api.sql('DELETE FROM hub.plugin_code WHERE content = $1', [node]);
    await api.sql('COMMIT');

    const saved = await saving;
    expect(await bob.client.getPluginCode({ id: saved.id, platform: 'node' })).toEqual({ code: node });
  });

  it('does not delete the code of a plugin during another save', async () => {
    const node = `saved ${newName()}`;
    // One row for both: the save locks the rows of codes in the order of their hashes.
    const { id, name } = await create(alice.client, { code: { node, browser: node } });
    await api.sql('BEGIN');
    await api.sql('UPDATE hub.plugin_code SET hash = hash WHERE content = $1', [node]);
    const dropping = alice.client.deletePlugin({ id });
    await waitFor(() => blockedSessions({ query: api.sql }));

    await api.sql('CREATE TEMPORARY TABLE copy AS SELECT * FROM hub.plugin WHERE id = $1', [id]);
    await api.sql("UPDATE copy SET id = id || '2', version = '2.0.0'");
    await api.sql('INSERT INTO hub.plugin SELECT * FROM copy');
    await api.sql('DROP TABLE copy');
    await api.sql('COMMIT');

    await expect(dropping).resolves.toBeDefined();
    const { plugin } = await alice.client.getPluginByName({ name, version: '2.0.0' });
    expect(await alice.client.getPluginCode({ id: plugin.id, platform: 'node' })).toEqual({ code: node });
  });

  it('swaps the code of two plugins concurrently without a deadlock', async () => {
    const first = await create(alice.client);
    const second = await create(bob.client);
    const swap = (round: number) => {
      const [a, b] = [`a ${round} ${first.id}`, `b ${round} ${first.id}`];
      return Promise.all([
        alice.client.updatePlugin({ id: first.id, code: { node: a, browser: b } }),
        bob.client.updatePlugin({ id: second.id, code: { node: b, browser: a } }),
      ]);
    };

    for (let round = 0; round < 30; round += 1) await expect(swap(round)).resolves.toBeDefined();
  });

  it('accepts plugin code of 10 MB for each platform', async () => {
    const node = 'x'.repeat(10_000_000);

    const { id } = await create(alice.client, { code: { node, browser: `${node}y` } });

    expect((await alice.client.getPluginCode({ id, platform: 'node' })).code.length).toBe(node.length);
  });
});

async function codeRows(content: string): Promise<number> {
  return (await api.sql('SELECT 1 FROM hub.plugin_code WHERE content = $1', [content])).length;
}

describe('reading a plugin', () => {
  it("returns 404 for another workspace's plugin, unless it is published and read from the hub", async () => {
    const [hidden, unlisted, shown] = await Promise.all([
      create(bob.client),
      create(bob.client, { visibility: 'unlisted' }),
      create(bob.client, { visibility: 'public' }),
    ]);

    for (const { id, name } of [hidden, unlisted, shown, { id: 'none', name: 'none' }]) {
      const missing = { type: 'ResourceNotFound', message: `The plugin "${id}" was not found.` };
      await expect(alice.client.getPlugin({ id })).rejects.toMatchObject(missing);
      await expect(alice.client.updatePlugin({ id, title: 'x' })).rejects.toMatchObject(missing);
      await expect(alice.client.deletePlugin({ id })).rejects.toMatchObject(missing);
      await expect(alice.client.getDereferencedPlugin({ id, interfaces: {} })).rejects.toMatchObject(missing);
      const absent = { type: 'ResourceNotFound' };
      await expect(alice.client.getPluginCode({ id, platform: 'node' })).rejects.toMatchObject(absent);
      await expect(alice.client.getPluginByName({ name, version: 'latest' })).rejects.toMatchObject(absent);
    }
    const { id, name } = hidden;
    for (const read of [
      alice.client.getPublicPluginById({ id }),
      alice.client.getPublicPlugin({ name, version: '1.0.0' }),
      alice.client.getDereferencedPublicPluginById({ id, interfaces: {} }),
      alice.client.getPublicPluginCode({ id, platform: 'node' }),
    ]) {
      await expect(read).rejects.toMatchObject({ type: 'ResourceNotFound' });
    }
    for (const plugin of [unlisted, shown]) {
      expect(await alice.client.getPublicPluginById({ id: plugin.id })).toEqual({ plugin });
      expect(await alice.client.getPublicPlugin({ name: plugin.name, version: '^1.0.0' })).toEqual({ plugin });
      expect(await alice.client.getPublicPluginCode({ id: plugin.id, platform: 'browser' })).toEqual({
        code: code.browser,
      });
      expect(await bob.client.getPlugin({ id: plugin.id })).toEqual({ plugin });
      expect(await bob.client.getPluginByName({ name: plugin.name, version: 'latest' })).toEqual({ plugin });
    }
  });

  it('lists plugins newest first without definitions, and unlisted ones only for their workspace', async () => {
    const { client } = await api.newAccount();
    const made: string[] = [];
    for (const visibility of ['private', 'unlisted', 'public', 'public'] as const) {
      made.unshift((await create(client, { ...definition, visibility })).id);
    }

    const first = await client.listPlugins({ pageSize: 3 });
    const second = await client.listPlugins({ pageSize: 3, nextToken: first.meta.nextToken });
    const inHub = (await alice.client.listPublicPlugins({ pageSize: 200 })).plugins.map(({ id }) => id);

    expect([...first.plugins, ...second.plugins].map(({ id }) => id)).toEqual(made);
    expect(second.meta).toEqual({});
    expect(Object.keys(first.plugins[0]!).sort()).toEqual(
      [
        ...['id', 'createdAt', 'updatedAt', 'name', 'version', 'title', 'description', 'iconUrl', 'readmeUrl'],
        ...['public', 'visibility', 'lifecycleStatus'],
      ].sort(),
    );
    expect(inHub.filter((id) => made.includes(id))).toEqual(made.slice(0, 2));
    expect((await client.listPlugins({ name: first.plugins[0]!.name, version: '1.0.0' })).plugins).toEqual([
      first.plugins[0],
    ]);
  });
});

describe('updating a plugin', () => {
  it('replaces named entries of a plugin, removes those that are null and keeps the others', async () => {
    const { interface: llm } = await alice.client.createInterface({ name: newName(), version: '1.0.0' });
    const { interface: hitl } = await alice.client.createInterface({ name: newName(), version: '1.0.0' });
    const { id } = await create(alice.client, { ...definition, dependencies: { interfaces: { llm: { id: llm.id } } } });

    const { plugin } = await alice.client.updatePlugin({
      id,
      title: 'New',
      configuration: null,
      states: { s: null, n: { type: 'conversation', schema } },
      events: { e: { schema, attributes: { a: null, c: 'd' } } },
      actions: { go: null },
      user: { tags: { u: null, v: {} } },
      attributes: { category: null },
      dependencies: { interfaces: { llm: null, hitl: { name: hitl.name } } },
    });

    const { attributes: _gone, ...rest } = definition;
    expect(plugin).toEqual({
      ...plugin,
      ...rest,
      title: 'New',
      configuration: { schema: { type: 'object', properties: {} } },
      states: { b: definition.states.b, n: { type: 'conversation', schema } },
      events: { e: { schema, attributes: { c: 'd' } } },
      actions: {},
      user: { tags: { v: {} } },
      dependencies: { interfaces: { hitl: { id: hitl.id, name: hitl.name, version: '1.0.0' } }, integrations: {} },
    });
    expect(plugin).not.toHaveProperty('attributes');
    expect(await alice.client.getPlugin({ id })).toEqual({ plugin });
    await expect(alice.client.deleteInterface({ id: llm.id })).resolves.toBeDefined();
    await expect(alice.client.deleteInterface({ id: hitl.id })).rejects.toMatchObject({ type: 'ReferenceConstraint' });
  });

  it('loses neither of two concurrent changes of a plugin', async () => {
    const { id } = await create(alice.client);
    const keys = Array.from({ length: 8 }, (_, index) => `s${index}`);

    await Promise.all(
      keys.map((name) => alice.client.updatePlugin({ id, states: { [name]: { type: 'bot', schema } } })),
    );

    expect(Object.keys((await alice.client.getPlugin({ id })).plugin.states).sort()).toEqual(keys);
  });

  it('changes nothing of a plugin when an update is rejected', async () => {
    const { interface: llm } = await alice.client.createInterface({ name: newName(), version: '1.0.0' });
    const made = await create(alice.client, { states: entries(20, { type: 'bot' as const, schema }) });
    const { id } = made;

    for (const [change, type] of [
      [{ states: { more: { type: 'bot', schema } } }, 'InvalidPayload'],
      [{ events: { e: { schema: { type: 'no' } } } }, 'InvalidJsonSchema'],
      [{ dependencies: { interfaces: { a: { id: 'none' } } } }, 'ReferenceNotFound'],
      [{ dependencies: { interfaces: entries(51, { id: llm.id }) } }, 'InvalidPayload'],
      [{ readme: '?' }, 'InvalidPayload'],
    ] as const) {
      await expect(
        alice.client.updatePlugin({ id, title: 'x', code: { node: 'lost' }, ...change }),
      ).rejects.toMatchObject({ type });
    }

    expect(await alice.client.getPlugin({ id })).toEqual({ plugin: made });
    expect(await codeRows('lost')).toBe(0);
  });

  it('publishes an event and writes an audit record for update and deletion of a plugin', async () => {
    const { id } = await create(alice.client);

    await alice.client.updatePlugin({ id, title: 'New' });
    await alice.client.deletePlugin({ id });

    const rows = await api.sql<{ subject: string; data: object }>(
      "SELECT subject, data FROM hub.outbox WHERE data ->> 'id' = $1 OR data ->> 'resourceId' = $1 ORDER BY id",
      [id],
    );
    const of = (subject: string) => rows.filter((row) => row.subject === subject).map(({ data }) => data);
    const changed = { kind: 'plugin', id, workspaceId: alice.workspaceId };
    expect(of('hub.entryChanged')).toEqual([
      { ...changed, isDeleted: false },
      { ...changed, isDeleted: true },
    ]);
    expect(of('hub.administrativeChange')).toMatchObject(
      ['create', 'update', 'delete'].map((verb) => ({ operation: `hub.plugins.${verb}`, accountId: alice.accountId })),
    );
    await expect(alice.client.getPlugin({ id })).rejects.toMatchObject({ type: 'ResourceNotFound' });
    await expect(alice.client.deletePlugin({ id })).rejects.toMatchObject({ type: 'ResourceNotFound' });
  });
});

describe('a plugin that depends on an interface', () => {
  const model = { type: 'object', properties: { id: { type: 'string' }, onlyHere: { type: 'boolean' } } };
  const reference = { $ref: 'interface:llm/entities/modelRef' };
  const used = {
    configuration: { title: 'Settings', schema: { properties: { model: reference } } },
    states: { s: { type: 'bot' as const, schema: { properties: { model: reference } } } },
    events: { e: { schema: reference } },
    actions: { ask: { input: { schema: { properties: { model: reference } } }, output: { schema: reference } } },
  };
  const replacedParts = {
    states: { s: { type: 'bot', schema: { properties: { model } } } },
    events: { e: { schema: model } },
    actions: { ask: { input: { schema: { properties: { model } } }, output: { schema: model } } },
  };
  const replaced = { configuration: { title: 'Settings', schema: { properties: { model } } }, ...replacedParts };

  /** Publishes a plugin of Bob's, and public and private integrations of both accounts that implement its interface. */
  async function publish() {
    const { interface: llm } = await bob.client.createInterface({
      name: newName(),
      version: '1.0.0',
      public: true,
      entities: { modelRef: { schema: { type: 'object' } } },
    });
    const plugin = await create(bob.client, {
      ...used,
      visibility: 'public',
      dependencies: { interfaces: { llm: { id: llm.id } } },
    });
    const integrationOf = async ({ client }: Account, visibility: 'public' | 'private') =>
      (
        await client.createIntegration({
          name: newName(),
          version: '1.0.0',
          visibility,
          entities: { model: { schema: model } },
          interfaces: {
            [llm.name]: {
              id: llm.id,
              entities: { modelRef: { name: 'model' } },
              actions: {},
              events: {},
              channels: {},
            },
          },
        })
      ).integration.id;
    return {
      llm,
      plugin,
      open: await integrationOf(bob, 'public'),
      bobs: await integrationOf(bob, 'private'),
      alices: await integrationOf(alice, 'private'),
    };
  }

  it('returns a plugin with the entities of implementing integrations that the caller may see', async () => {
    const { plugin, open, bobs, alices } = await publish();
    const { id } = plugin;

    for (const integration of [open, bobs]) {
      expect(await bob.client.getDereferencedPlugin({ id, interfaces: { llm: integration } })).toEqual({
        plugin: { ...plugin, ...replaced },
      });
    }
    expect(await alice.client.getDereferencedPublicPluginById({ id, interfaces: { llm: open } })).toEqual({
      plugin: { ...plugin, ...replaced },
    });
    for (const [integration, read] of [
      [bobs, alice.client.getDereferencedPublicPluginById({ id, interfaces: { llm: bobs } })],
      [alices, alice.client.getDereferencedPublicPluginById({ id, interfaces: { llm: alices } })],
      [alices, bob.client.getDereferencedPlugin({ id, interfaces: { llm: alices } })],
      ['none', bob.client.getDereferencedPlugin({ id, interfaces: { llm: 'none' } })],
    ] as const) {
      await expect(read).rejects.toMatchObject({
        type: 'ReferenceNotFound',
        message: `interfaces.llm: integration "${integration}" not found.`,
      });
    }
    expect((await bob.client.getPlugin({ id })).plugin).toEqual(plugin);
  });

  it('accepts bindings of a plugin as one JSON object in the query, and requires all interfaces', async () => {
    const { plugin, open } = await publish();
    const path = `GET /v1/admin/hub/plugins/${plugin.id}/dereferenced`;

    const json = await send(`${path}?interfaces=${encodeURIComponent(JSON.stringify({ llm: open }))}`);
    const none = await send(path);
    const bad = await send(`${path}?interfaces=x`);

    expect(json.json.plugin).toMatchObject(replaced);
    expect(none.json).toMatchObject({
      type: 'InvalidPayload',
      message: expect.stringMatching(/^interfaces\.llm is missing/),
    });
    expect(bad.json).toMatchObject({ type: 'InvalidQuery', message: expect.stringMatching(/^interfaces must/) });
  });

  const resolve = (workspaceId: string, plugins: ResolvePlugins['plugins'], installedIds: string[] = []) =>
    api.call(resolution.plugins, systemCaller('test'), { workspaceId, plugins, installedIds });

  it('resolves a plugin for an installation with visible integrations, or reports the problem', async () => {
    const { llm, plugin, open, bobs, alices } = await publish();
    const own = await create(alice.client, { ...definition });
    const hidden = await create(bob.client);

    const { plugins, problems } = await resolve(alice.workspaceId, [
      { alias: 'one', id: plugin.id, interfaces: { llm: { integrationId: alices } } },
      {
        alias: 'two',
        id: plugin.id,
        interfaces: { llm: { integrationId: open, integrationInterfaceAlias: llm.name } },
      },
      { alias: 'own', id: own.id, interfaces: {} },
      { alias: 'foreign', id: plugin.id, interfaces: { llm: { integrationId: bobs } } },
      { alias: 'unbound', id: plugin.id, interfaces: {} },
      { alias: 'wrong', id: plugin.id, interfaces: { llm: { integrationId: open, integrationInterfaceAlias: 'x' } } },
      { alias: 'hidden', id: hidden.id, interfaces: {} },
    ]);

    expect(plugins.map(({ alias }) => alias)).toEqual(['one', 'two', 'own']);
    expect(plugins[0]).toEqual({
      alias: 'one',
      ...replacedParts,
      ...Object.fromEntries(
        (
          ['id', 'name', 'version', 'createdAt', 'updatedAt', 'title', 'description', 'iconUrl', 'readmeUrl'] as const
        ).map((field) => [field, plugin[field]]),
      ),
      visibility: 'public',
      verificationStatus: 'unapproved',
      lifecycleStatus: 'published',
      configurationSchema: replaced.configuration.schema,
      userTags: {},
      conversationTags: {},
      messageTags: {},
      interfaces: { llm: llm.id },
      integrations: {},
    });
    expect(plugins[2]).toMatchObject({
      configurationSchema: schema,
      actions: definition.actions,
      userTags: definition.user.tags,
      conversationTags: definition.conversation.tags,
      messageTags: definition.message.tags,
    });
    expect(problems).toEqual([
      { alias: 'foreign', problem: `interfaces.llm: integration "${bobs}" not found.` },
      { alias: 'unbound', problem: 'interfaces.llm is missing: bind it to an integration that implements it.' },
      { alias: 'wrong', problem: expect.stringMatching(/does not implement .* as "x"\.$/) },
    ]);
    expect(await resolve(alice.workspaceId, [])).toEqual({ plugins: [], problems: [] });
  });

  it('resolves a plugin for a bot that has it and its integrations installed, whoever may see them', async () => {
    const { plugin, bobs } = await publish();
    await bob.client.updatePlugin({ id: plugin.id, visibility: 'private' });
    const wanted = { alias: 'one', id: plugin.id, interfaces: { llm: { integrationId: bobs } } };
    const resolveWith = async (installedIds: string[]) => {
      const { plugins, problems } = await resolve(alice.workspaceId, [wanted], installedIds);
      return { plugins: plugins.map(({ alias }) => alias), problems };
    };

    expect(await resolveWith([plugin.id, bobs])).toEqual({ plugins: ['one'], problems: [] });
    expect(await resolveWith([bobs])).toEqual({ plugins: [], problems: [] });
    expect(await resolveWith([plugin.id])).toEqual({
      plugins: [],
      problems: [{ alias: 'one', problem: `interfaces.llm: integration "${bobs}" not found.` }],
    });
  });
});

describe('a plugin that a bot has installed', () => {
  it('merges an installed plugin into the bot, follows its changes, and refuses to delete it', async () => {
    const { interface: llm } = await alice.client.createInterface({ name: newName(), version: '1.0.0' });
    const { integration } = await alice.client.createIntegration({
      name: newName(),
      version: '1.0.0',
      entities: { model: { schema } },
      interfaces: {
        own: { id: llm.id, entities: { modelRef: { name: 'model' } }, actions: {}, events: {}, channels: {} },
      },
    });
    const reference = { $ref: 'interface:llm/entities/modelRef' };
    const plugin = await create(alice.client, {
      configuration: { schema: { type: 'object', properties: { model: reference } } },
      actions: { ask: { input: { schema: reference }, output: { schema: {} } } },
      dependencies: { interfaces: { llm: { id: llm.id } }, integrations: { ai: { id: integration.id } } },
    });
    const bound = { integrationId: integration.id, integrationAlias: 'ai' };
    const { token, workspaceId } = alice;
    const headers = { 'x-multiple-integrations': 'true' };
    const byAlias = new Client({ apiUrl: api.url, token, workspaceId, headers });
    const { id } = (await alice.client.createBot({})).bot;
    const actions = async () => (await alice.client.getBot({ id })).bot.actions;
    const reported = async () => (await alice.client.listIntegrations({ installedByBotId: id })).integrations.length;

    const configuredBy = (configuration: object) => ({
      id,
      integrations: { ai: { integrationId: integration.id, enabled: true } },
      plugins: { helper: { id: plugin.id, configuration, interfaces: { llm: bound }, integrations: { ai: bound } } },
    });
    await expect(byAlias.updateBot(configuredBy({ model: { a: 1 } }))).rejects.toMatchObject({
      type: 'InvalidPayload',
      message: 'plugins.helper.configuration.model.a must be string.',
    });
    await byAlias.updateBot(configuredBy({ model: { a: 'b' } }));

    expect(await actions()).toEqual({ 'helper#ask': { input: { schema }, output: { schema: {} } } });
    const inUse = { type: 'ReferenceConstraint' };
    await waitFor(async () => (await reported()) === 1);
    await expect(alice.client.deletePlugin({ id: plugin.id })).rejects.toMatchObject(inUse);

    await alice.client.updatePlugin({
      id: plugin.id,
      actions: { ask: null, tell: { input: { schema: {} }, output: { schema: reference } } },
    });
    await waitFor(async () => 'helper#tell' in (await actions()));
    expect(await actions()).toEqual({ 'helper#tell': { input: { schema: {} }, output: { schema } } });

    await byAlias.updateBot({ id, plugins: { helper: null }, integrations: { ai: null } });
    await waitFor(async () => (await reported()) === 0);
    await expect(alice.client.deleteIntegration({ id: integration.id })).rejects.toMatchObject(inUse);
    await alice.client.deletePlugin({ id: plugin.id });
    await alice.client.deleteIntegration({ id: integration.id });
    await expect(alice.client.deleteInterface({ id: llm.id })).resolves.toBeDefined();
  });
});

function entries<T>(count: number, entry: T): Record<string, T> {
  return Object.fromEntries(Array.from({ length: count }, (_, index) => [`n${index}`, entry]));
}
