import { type Account, type PublicApi, startPublicApi } from '@parley/testing/public-api';
import { chatIntegration } from '@parley/contracts/hub/built-in';
import { hub } from '@parley/contracts/hub/hub';
import { systemCaller } from '@parley/contracts/caller';
import { AdminModule } from '../../../admin/src/admin.module';
import { GatewayModule } from '../../../gateway/src/gateway.module';
import { HubModule } from '../hub.module';

let api: PublicApi;
let alice: Account;
let bob: Account;

beforeAll(async () => {
  api = await startPublicApi(GatewayModule, AdminModule, HubModule);
  [alice, bob] = await Promise.all([api.newAccount(), api.newAccount()]);
});

afterAll(() => api?.stop());

let names = 0;
function newName(): string {
  names += 1;
  return `integration-${names}`;
}

function send(line: string, json: unknown, { token, workspaceId }: Account = alice) {
  return api.send(line, { headers: { authorization: `Bearer ${token}`, 'x-workspace-id': workspaceId }, json });
}

async function memberWith(role: 'administrator' | 'manager' | 'developer' | 'billing' | 'viewer') {
  const account = await api.newAccount();
  await api.addMember(alice.workspaceId, account.accountId, role);
  return api.client(account.token, alice.workspaceId);
}

function resolve(ids: string[], workspaceId = alice.workspaceId, installedIds: string[] = []) {
  return api.call(hub.resolution.integrations, systemCaller('test'), { workspaceId, ids, installedIds });
}

const mebibyte = 1024 * 1024;
const schema = { type: 'object', properties: { b: { type: 'string' }, a: { type: 'number', 'x-zui': { index: 1 } } } };

const everything = {
  title: 'Tea',
  description: 'Makes tea',
  configuration: { title: 'Kettle', schema, identifier: { required: true, linkTemplateScript: 'link' } },
  configurations: { manual: { description: 'By hand', schema } },
  identifier: { extractScript: 'extract', fallbackHandlerScript: 'fallback' },
  channels: {
    counter: {
      title: 'Counter',
      messages: { text: { schema } },
      conversation: { tags: { table: { title: 'Table' } }, creation: { enabled: true, requiredTags: ['table'] } },
      message: { tags: { spoon: {} } },
    },
  },
  states: { stock: { type: 'integration' as const, schema } },
  events: { boiled: { title: 'Boiled', schema, attributes: { loud: 'yes' } } },
  actions: { brew: { title: 'Brew', billable: true, cacheable: false, input: { schema }, output: { schema } } },
  entities: { cup: { title: 'Cup', schema } },
  user: { tags: { guest: {} }, creation: { enabled: false, requiredTags: [] } },
  attributes: { color: 'green' },
};

describe('creating an integration', () => {
  it('creates an integration from only a name, and returns every part', async () => {
    const name = newName();

    const { integration } = await alice.client.createIntegration({ name, version: '1.0.0' });

    expect(integration).toEqual({
      id: expect.stringMatching(/^intver_[0-9A-HJKMNP-TV-Z]{26}$/),
      createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      updatedAt: integration.createdAt,
      name,
      version: '1.0.0',
      title: name,
      description: '',
      url: '',
      iconUrl: '',
      readmeUrl: '',
      signingSecret: expect.stringMatching(/^[0-9a-f]{64}$/),
      dev: false,
      public: false,
      visibility: 'private',
      verificationStatus: 'unapproved',
      lifecycleStatus: 'published',
      secrets: [],
      interfaces: {},
      configuration: { identifier: { required: false }, schema: { type: 'object', properties: {} } },
      configurations: {},
      identifier: {},
      channels: {},
      states: {},
      events: {},
      actions: {},
      entities: {},
      user: { tags: {}, creation: { enabled: false, requiredTags: [] } },
    });
  });

  it('returns the schema of any object for a configuration without a schema', async () => {
    const configurations = { absent: { title: 'Absent' }, empty: { schema: {} } };
    const given = { name: newName(), version: '1.0.0', visibility: 'public' as const, configurations };
    const shown = { identifier: { required: false }, schema: { type: 'object', properties: {} } };

    const { id } = (await alice.client.createIntegration({ ...given, configuration: { schema: {} } })).integration;

    for (const { integration } of [
      await alice.client.getIntegration({ id }),
      await alice.client.updateIntegration({ id, configuration: { schema: {} } }),
      await bob.client.getPublicIntegrationById({ id }),
    ]) {
      expect(integration).toMatchObject({
        configuration: shown,
        configurations: { absent: { title: 'Absent', ...shown }, empty: shown },
      });
    }
  });

  it('ignores an icon and a readme that are not base64 of an integration under development', async () => {
    const fileNames = { icon: 'icon.svg', readme: 'hub.md' };
    const [icon, readme] = [base64('<svg/>'), base64('# Tea')];
    const given = { name: newName(), version: '1.0.0', dev: true, ...fileNames };

    await alice.client.validateIntegrationCreation(given);
    const { integration: made } = await alice.client.createIntegration(given);
    const { id } = made;
    const { integration: labelled } = await alice.client.updateIntegration({ id, icon, readme });
    await alice.client.validateIntegrationUpdate({ id, ...fileNames });
    const { integration: kept } = await alice.client.updateIntegration({ id, title: 'Tea', ...fileNames });

    const { iconUrl, readmeUrl } = labelled;
    expect(made).toMatchObject({ iconUrl: '', readmeUrl: '' });
    expect([iconUrl, readmeUrl]).toEqual([
      `data:image/svg+xml;base64,${icon}`,
      `data:text/markdown;charset=utf-8;base64,${readme}`,
    ]);
    expect(kept).toMatchObject({ title: 'Tea', iconUrl, readmeUrl });
    await expect(alice.client.updateIntegration({ id, icon: readme })).rejects.toMatchObject({
      type: 'InvalidPayload',
      message: expect.stringMatching(/^icon must be base64 of a PNG/) as string,
    });
    for (const [field, fileName] of Object.entries(fileNames)) {
      await expect(
        alice.client.createIntegration({ name: newName(), version: '1.0.0', [field]: fileName }),
      ).rejects.toMatchObject({ type: 'InvalidPayload', message: `${field} must be base64.` });
    }
  });

  it('stores every given field of an integration, and keeps the order of properties in schemas', async () => {
    const given = { ...everything, name: newName(), version: '1.2.3', url: 'http://localhost:8080/tea' };

    const { id } = (await alice.client.createIntegration(given)).integration;

    const { integration } = await alice.client.getIntegration({ id });
    const { configurations, ...rest } = given;
    expect(integration).toMatchObject(rest);
    expect(integration.configurations).toEqual({
      manual: { ...configurations.manual, identifier: { required: false } },
    });
    expect(JSON.stringify(integration.entities['cup']!.schema)).toBe(JSON.stringify(schema));
  });

  it('encrypts secrets of an integration, returns their names, and the signing secret only once', async () => {
    const secrets = { API_KEY: 'hush-1', OTHER_2: 'hush-2' };

    const { integration } = await alice.client.createIntegration({ name: newName(), version: '1.0.0', secrets });

    const [row] = await api.sql('SELECT * FROM hub.integration WHERE id = $1', [integration.id]);
    const { integration: later } = await alice.client.getIntegration({ id: integration.id });
    expect(integration.secrets).toEqual(['API_KEY', 'OTHER_2']);
    expect(JSON.stringify([row, later])).not.toMatch(/hush/);
    expect(JSON.stringify([row, later])).not.toContain(integration.signingSecret);
    expect(later.signingSecret).toBe('');
  });

  it('returns icon and readme of an integration as URLs in every reply', async () => {
    const [icon, readme] = [base64('<svg xmlns="http://www.w3.org/2000/svg"/>'), base64('# Tea')];
    const given = { name: newName(), version: '1.0.0', visibility: 'public' as const, icon, readme };

    const { integration } = await alice.client.createIntegration(given);

    const iconUrl = `data:image/svg+xml;base64,${icon}`;
    expect(integration).toMatchObject({ iconUrl, readmeUrl: `data:text/markdown;charset=utf-8;base64,${readme}` });
    const { integrations } = await bob.client.listPublicIntegrations({ name: given.name });
    expect(integrations).toMatchObject([{ iconUrl }]);
    const changed = await alice.client.updateIntegration({ id: integration.id, icon: '' });
    expect(changed.integration).toMatchObject({ iconUrl: '', readmeUrl: integration.readmeUrl });
  });

  it('lists icons of at most 4 MB together, and installs an integration without an icon over 100 KB', async () => {
    const icon = base64('<svg/>'.padEnd(mebibyte));
    const readme = base64('x'.repeat(mebibyte));
    const name = newName();
    const create = (version: string) => alice.client.createIntegration({ name, version, icon, readme });
    const { integration } = await create('1.0.0');
    for (const version of ['1.0.1', '1.0.2', '1.0.3']) await create(version);

    const { integrations } = await alice.client.listIntegrations({ name });
    const resolved = (await resolve([integration.id])).integrations;

    expect(integration.iconUrl).toBe(`data:image/svg+xml;base64,${icon}`);
    expect(integrations.map(({ iconUrl }) => iconUrl === integration.iconUrl)).toEqual([true, true, false, false]);
    expect(resolved).toMatchObject([{ id: integration.id, iconUrl: '', readmeUrl: '' }]);
  });

  it.each(['icon', 'readme'])('refuses an integration with a larger %s than 1 MiB', async (field) => {
    const draft = { name: newName(), version: '1.0.0', [field]: base64('<svg/>'.padEnd(mebibyte + 1)) };

    await expect(alice.client.createIntegration(draft)).rejects.toMatchObject({
      type: 'InvalidPayload',
      message: `${field} must be at most ${mebibyte} bytes.`,
    });
  });

  it('stores code of an integration in a table that reads do not touch', async () => {
    const { id } = (await alice.client.createIntegration({ name: newName(), version: '1.0.0', code: 'code of tea' }))
      .integration;

    const [kept] = await api.sql('SELECT code FROM hub.integration_code WHERE integration_id = $1', [id]);
    expect(kept).toEqual({ code: 'code of tea' });
    expect(JSON.stringify(await alice.client.getIntegration({ id }))).not.toContain('code of tea');
  });

  it.each([
    [{ name: 'a b' }, 'InvalidPayload', /^name must be letters/],
    [{ name: 'foreign/tea' }, 'Forbidden', /^name: "foreign\/" is not the handle/],
    [{ version: '1.0' }, 'InvalidPayload', /^version must be a semver/],
    [{ version: 'latest' }, 'InvalidPayload', /^version must be a semver/],
    [{ icon: 'not base64!' }, 'InvalidPayload', /^icon must be base64/],
    [{ icon: base64('<html></html>') }, 'InvalidPayload', /^icon must be base64 of a PNG/],
    [{ secrets: entries(26, 'x', 'S') }, 'InvalidPayload', /^secrets must have at most 25/],
    [{ states: entries(21, { type: 'user', schema }) }, 'InvalidPayload', /^states must have at most 20/],
    [{ events: entries(21, { schema }) }, 'InvalidPayload', /^events must have at most 20/],
    [{ channels: entries(11, {}) }, 'InvalidPayload', /^channels must have at most 10/],
    [{ channels: { c: { messages: entries(21, { schema }) } } }, 'InvalidPayload', /^channels.c.messages must have/],
    [{ user: { tags: entries(51, {}) } }, 'InvalidPayload', /^user.tags must have at most 50/],
    [
      { states: { s: { type: 'user', schema: { type: 7 } } } },
      'InvalidJsonSchema',
      /^states.s.schema is not a valid JSON schema/,
    ],
    [{ configuration: { schema: { required: 1 } } }, 'InvalidJsonSchema', /^configuration.schema is no/],
    [
      { channels: { c: { messages: { m: { schema: { type: 'x' } } } } } },
      'InvalidJsonSchema',
      /^channels.c.messages.m.schema is no/,
    ],
    [
      { actions: { a: { input: { schema }, output: { schema: { minimum: 'x' } } } } },
      'InvalidJsonSchema',
      /^actions.a.output.schema is no/,
    ],
    [
      { interfaces: { i: { id: 'ifver_01ARZ3NDEKTSV4RRFFQ69G5FAV' } } },
      'ReferenceNotFound',
      /^interfaces.i.id: interface .* not found/,
    ],
  ])('rejects an integration of %j', async (json, type, message) => {
    const answer = await send('POST /v1/admin/integrations', { name: newName(), version: '1.0.0', ...json });

    expect(answer.json).toMatchObject({ type, message: expect.stringMatching(message) });
  });

  it("accepts the handle of the workspace in an integration's name, and rejects an existing version", async () => {
    await bob.client.updateWorkspace({ id: bob.workspaceId, handle: 'bobs' });
    const given = { name: 'bobs/tea', version: '1.0.0' };

    await bob.client.createIntegration(given);

    await expect(bob.client.createIntegration(given)).rejects.toMatchObject({ type: 'AlreadyExists' });
    await expect(alice.client.createIntegration(given)).rejects.toMatchObject({ type: 'Forbidden' });
    await expect(bob.client.createIntegration({ ...given, dev: true })).resolves.toMatchObject({
      integration: { dev: true },
    });
  });

  it('lets only one workspace publish a name of an integration', async () => {
    const name = newName();
    await alice.client.createIntegration({ name, version: '1.0.0', visibility: 'unlisted' });

    await expect(bob.client.createIntegration({ name, version: '2.0.0', visibility: 'public' })).rejects.toMatchObject({
      type: 'AlreadyExists',
      message: expect.stringContaining('another workspace'),
    });
    await expect(bob.client.createIntegration({ name, version: '2.0.0' })).resolves.toMatchObject({
      integration: { visibility: 'private' },
    });
  });

  it.each([
    [{ visibility: 'public' as const }, { visibility: 'public', public: true }],
    [{ public: true }, { visibility: 'public', public: true }],
    [{ public: false }, { visibility: 'private', public: false }],
    [
      { public: true, visibility: 'unlisted' as const },
      { visibility: 'unlisted', public: false },
    ],
  ])('creates an integration with %j as %j', async (given, shown) => {
    const { integration } = await alice.client.createIntegration({ name: newName(), version: '1.0.0', ...given });

    expect(integration).toMatchObject(shown);
  });

  it.each([
    ['administrator', 'created', 'created'],
    ['manager', 'created', 'created'],
    ['developer', 'created', 'Forbidden'],
    ['viewer', 'Forbidden', 'Forbidden'],
    ['billing', 'Forbidden', 'Forbidden'],
  ] as const)(
    'decides what a member may create as %s: a draft %s, a public integration %s',
    async (role, draft, published) => {
      const member = await memberWith(role);
      const outcome = (visibility: 'private' | 'public') =>
        member.createIntegration({ name: newName(), version: '1.0.0', visibility }).then(
          () => 'created',
          (error: { type: string }) => error.type,
        );

      expect([await outcome('private'), await outcome('public')]).toEqual([draft, published]);
    },
  );

  it('writes an audit record of a new integration', async () => {
    const { integration } = await alice.client.createIntegration({ name: newName(), version: '1.0.0' });

    const told = await api.sql<{ data: object }>(
      "SELECT data FROM hub.outbox WHERE subject = 'hub.administrativeChange' AND data ->> 'resourceId' = $1",
      [integration.id],
    );
    expect(told.map(({ data }) => data)).toEqual([
      expect.objectContaining({
        workspaceId: alice.workspaceId,
        accountId: alice.accountId,
        operation: 'hub.integrations.create',
        resourceName: integration.name,
        value: '1.0.0, private',
      }),
    ]);
  });
});

describe('getting an integration', () => {
  it('hides an integration from another workspace, by id and by name, published or not', async () => {
    const given = { name: newName(), version: '1.0.0', visibility: 'public' as const };
    const { id } = (await alice.client.createIntegration(given)).integration;

    await expect(bob.client.getIntegration({ id })).rejects.toMatchObject({ type: 'ResourceNotFound' });
    await expect(bob.client.getIntegrationByName(given)).rejects.toMatchObject({ type: 'ResourceNotFound' });
  });

  it('finds exact versions, ranges and latest of an integration by name, but none under development', async () => {
    const name = newName();
    for (const version of ['0.2.0', '1.0.0', '1.10.0', '1.9.0', '2.0.0-beta.1'])
      await alice.client.createIntegration({ name, version });
    await alice.client.createIntegration({ name, version: '1.11.0', dev: true });
    const find = async (version: string) =>
      (
        await alice.client.getIntegrationByName({ name, version }).catch(({ type }: { type: string }) => ({
          integration: { version: type },
        }))
      ).integration.version;

    expect(await find('1.0.0')).toBe('1.0.0');
    expect(await find('latest')).toBe('1.10.0');
    expect(await find('<1.10.0')).toBe('1.9.0');
    expect(await find('>=1.0.0 <2.0.0')).toBe('1.10.0');
    expect(await find('2.0.0-beta.1')).toBe('2.0.0-beta.1');
    expect(await find('1.11.0')).toBe('ResourceNotFound');
    expect(await find('nonsense')).toBe('ResourceNotFound');
  });
});

describe('resolving integrations for an installation', () => {
  it('resolves the built-in chat for every workspace', async () => {
    const { integrations } = await resolve([chatIntegration.id]);

    expect(integrations).toEqual([
      expect.objectContaining({
        id: chatIntegration.id,
        name: 'chat',
        version: '1.0.0',
        visibility: 'public',
        verificationStatus: 'approved',
        channels: ['channel'],
        isCallable: false,
        interfaces: {},
        configurationSchemas: {},
        configurationSchema: chatIntegration.definition.configuration.schema,
      }),
    ]);
  });

  it('omits missing integrations and private ones of other workspaces from an installation', async () => {
    const given = { ...everything, version: '1.0.0', code: 'x' };
    const own = (await alice.client.createIntegration({ ...given, name: newName() })).integration;
    const unlisted = (await bob.client.createIntegration({ ...given, name: newName(), visibility: 'unlisted' }))
      .integration;
    const foreign = (await bob.client.createIntegration({ ...given, name: newName() })).integration;
    const foreignDev = (
      await bob.client.createIntegration({ ...given, name: newName(), visibility: 'public', dev: true })
    ).integration;

    const { integrations } = await resolve([own.id, unlisted.id, foreign.id, foreignDev.id, 'intver_none']);

    expect(integrations.map(({ id }) => id).sort()).toEqual([own.id, unlisted.id].sort());
    expect(integrations[0]).toMatchObject({
      channels: ['counter'],
      isCallable: true,
      configurationSchemas: { manual: schema },
    });
  });

  it('resolves an installed integration, also a private one of another workspace, until it is deleted', async () => {
    const create = async () =>
      (await bob.client.createIntegration({ name: newName(), version: '1.0.0' })).integration.id;
    const [installed, other, gone] = [await create(), await create(), await create()];
    await bob.client.deleteIntegration({ id: gone });

    const { integrations } = await resolve([installed, other, gone], alice.workspaceId, [installed, gone]);

    expect(integrations.map(({ id }) => id)).toEqual([installed]);
  });
});

function entries(count: number, entry: unknown, prefix = 'e'): Record<string, unknown> {
  return Object.fromEntries(Array.from({ length: count }, (_, index) => [`${prefix}${index}`, entry]));
}

function base64(text: string): string {
  return Buffer.from(text).toString('base64');
}
