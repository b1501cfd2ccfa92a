import { InterfaceDefinition } from '@parley/contracts/hub/interface-definition';
import { type Account, type PublicApi, startPublicApi } from '@parley/testing/public-api';
import { AdminModule } from '../../../admin/src/admin.module';
import { GatewayModule } from '../../../gateway/src/gateway.module';
import { HubModule } from '../hub.module';
import { checkDefinition } from '../publishing/check-definition';
import { builtInInterfaces } from './built-in-interfaces';

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
  return `thing-${(names += 1)}`;
}

async function memberWith(role: 'manager' | 'developer' | 'billing' | 'viewer') {
  const account = await api.newAccount();
  await api.addMember(alice.workspaceId, account.accountId, role);
  return api.client(account.token, alice.workspaceId);
}

function send(line: string, json: unknown) {
  return api.send(line, {
    headers: { authorization: `Bearer ${alice.token}`, 'x-workspace-id': alice.workspaceId },
    json,
  });
}

const schema = { type: 'object', properties: { a: { type: 'string', 'x-zui': { index: 1 } } }, required: ['a'] };
const action = { title: 'List', billable: true, input: { schema }, output: { schema }, attributes: { a: 'b' } };
const definition = {
  entities: { item: { title: 'Item', description: 'A thing', schema: { type: 'object' } } },
  events: { created: { title: 'Created', schema: { $ref: 'item' }, attributes: { a: 'b' } } },
  actions: { list: action },
  channels: { main: { title: 'Main', messages: { text: { schema } } } },
  nameTemplate: { script: '{{ entity }}List', language: 'handlebars' },
  attributes: { category: 'data' },
};
const png = Buffer.from('\x89PNG\r\n\x1a\n and so on', 'latin1').toString('base64');
const readme = Buffer.from('# Tea ☕').toString('base64');

describe('creating an interface', () => {
  it('creates an interface from only a name and version, and returns every map', async () => {
    const name = newName();

    const created = await alice.client.createInterface({ name, version: '1.0.0' });

    expect(created.interface).toEqual({
      id: expect.stringMatching(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/),
      createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      updatedAt: created.interface.createdAt,
      name,
      version: '1.0.0',
      title: name,
      description: '',
      iconUrl: '',
      readmeUrl: '',
      public: false,
      entities: {},
      events: {},
      actions: {},
      channels: {},
    });
  });

  it('stores every given field of an interface, also under names like __proto__', async () => {
    const name = newName();
    const entities = JSON.parse('{"__proto__":{"schema":{}},"constructor":{"schema":{}}}') as object;
    const given = { ...definition, title: 'Tea', description: 'Of tea', public: true };

    const created = await alice.client.createInterface({ name, version: '0.1.0', ...given, icon: png, readme });
    const odd = await send('POST /v1/admin/interfaces', { name: newName(), version: '1.0.0', entities });

    const { interface: read } = await alice.client.getInterface({ id: created.interface.id });
    expect(read).toEqual(created.interface);
    expect(read).toMatchObject(given);
    expect(read.iconUrl).toBe(`data:image/png;base64,${png}`);
    expect(read.readmeUrl).toBe(`data:text/markdown;charset=utf-8;base64,${readme}`);
    expect(JSON.stringify(odd.json.interface.entities)).toBe(JSON.stringify(entities));
  });

  it('writes an audit record of a new interface in admin', async () => {
    const { interface: made } = await alice.client.createInterface({ name: newName(), version: '1.0.0' });

    const [row] = await api.sql<{ data: object }>(
      "SELECT data FROM hub.outbox WHERE subject = 'hub.administrativeChange' AND data ->> 'resourceId' = $1",
      [made.id],
    );
    expect(row!.data).toMatchObject({
      workspaceId: alice.workspaceId,
      accountId: alice.accountId,
      action: 'UNKNOWN',
      operation: 'hub.interfaces.create',
      resourceName: made.name,
      value: 'private 1.0.0',
    });
  });

  it('rejects an interface with a readme over 1 MiB', async () => {
    const readme = Buffer.alloc(1024 * 1024 + 1).toString('base64');

    await expect(alice.client.createInterface({ name: 'large', version: '1.0.0', readme })).rejects.toMatchObject({
      type: 'InvalidPayload',
      message: 'readme must be at most 1048576 bytes.',
    });
  });

  it.each([
    [{ name: 'a b' }, 'InvalidPayload', /^name must be letters/],
    [{ name: 'foreign/tea' }, 'Forbidden', /^name: "foreign\/" is not the handle/],
    [{ version: '1.0' }, 'InvalidPayload', /^version must be a semver/],
    [{ icon: Buffer.from('no image').toString('base64') }, 'InvalidPayload', /^icon must be base64 of a PNG/],
    [{ icon: 'not base64!' }, 'InvalidPayload', /^icon must be base64/],
    [{ events: entries(21, { schema }) }, 'InvalidPayload', /^events must have at most 20/],
    [{ channels: entries(11, { messages: {} }) }, 'InvalidPayload', /^channels must have at most 10/],
    [
      { channels: { c: { messages: entries(21, { schema }) } } },
      'InvalidPayload',
      /^channels has an entry "c" whose messages must have at most 20/,
    ],
    [
      { entities: { item: { schema: { type: 'text' } } } },
      'InvalidJsonSchema',
      /^entities\.item\.schema is not a valid JSON schema: \/type must/,
    ],
    [
      { channels: { c: { messages: { m: { schema: { required: 'a' } } } } } },
      'InvalidJsonSchema',
      /^channels\.c\.messages\.m\.schema is not a valid JSON schema/,
    ],
    [
      { actions: { a: { input: { schema: {} }, output: { schema: { minimum: 'low' } } } } },
      'InvalidJsonSchema',
      /^actions\.a\.output\.schema is not a valid JSON schema/,
    ],
  ])('rejects an interface with %j', async (json, type, message) => {
    const answer = await send('POST /v1/admin/interfaces', { name: newName(), version: '1.0.0', ...json });

    expect(answer.json).toMatchObject({ type, message: expect.stringMatching(message) });
  });

  it('returns AlreadyExists for an existing name and version of an interface, also for concurrent requests', async () => {
    const name = newName();

    const results = await Promise.allSettled(
      Array.from({ length: 3 }, () => alice.client.createInterface({ name, version: '1.0.0' })),
    );

    const failures = results.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []));
    expect(failures.map(({ type }) => type)).toEqual(['AlreadyExists', 'AlreadyExists']);
    expect(failures[0].message).toBe(`Interface "${name}" 1.0.0 already exists in this workspace.`);
    await expect(bob.client.createInterface({ name, version: '1.0.0' })).resolves.toBeDefined();
  });

  it('creates an interface with a name published by another workspace only as private, also concurrently', async () => {
    const name = newName();
    const draft = (await bob.client.createInterface({ name, version: '1.0.0' })).interface;

    const results = await Promise.allSettled([
      alice.client.createInterface({ name, version: '2.0.0', public: true }),
      bob.client.updateInterface({ id: draft.id, public: true }),
    ]);

    expect(results.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    expect(results.find((result) => result.status === 'rejected')).toMatchObject({
      reason: { type: 'AlreadyExists', message: expect.stringContaining('another workspace has published') },
    });
  });

  it('rejects more than 200 versions of an interface', async () => {
    const name = newName();
    await alice.client.createInterface({ name, version: '1.0.0' });
    await api.sql(
      `INSERT INTO hub.interface (id, workspace_id, name, version, version_key, is_prerelease, visibility, title, description, icon_url, readme_url, definition)
       SELECT gen_random_uuid()::text, workspace_id, name, '1.0.' || n, version_key, false, visibility, title, description, '', '', definition
       FROM hub.interface, generate_series(1, 198) n WHERE name = $1`,
      [name],
    );

    const last = alice.client.createInterface({ name, version: '2.0.0' });
    await expect(last).resolves.toBeDefined();
    await expect(alice.client.createInterface({ name, version: '3.0.0' })).rejects.toMatchObject({
      type: 'LimitExceeded',
      message: expect.stringContaining('200 versions'),
    });
    const whole = await alice.client.listInterfaces({ name, pageSize: 5 });
    expect([whole.interfaces.length, whole.meta]).toEqual([200, {}]);
  });

  it('requires the role developer to create an interface, and manager when it is not private', async () => {
    const [manager, developer, viewer] = await Promise.all([
      memberWith('manager'),
      memberWith('developer'),
      memberWith('viewer'),
    ]);
    const draft = () => ({ name: newName(), version: '1.0.0' });

    const { id } = (await developer.createInterface(draft())).interface;
    await expect(viewer.createInterface(draft())).rejects.toMatchObject({ type: 'Forbidden' });
    await expect(developer.createInterface({ ...draft(), public: true })).rejects.toMatchObject({ type: 'Forbidden' });
    await expect(developer.updateInterface({ id, public: true })).rejects.toMatchObject({ type: 'Forbidden' });
    await expect(developer.updateInterface({ id, title: 'draft' })).resolves.toBeDefined();

    await expect(manager.createInterface({ ...draft(), public: true })).resolves.toBeDefined();
    await manager.updateInterface({ id, public: true });
    await expect(developer.updateInterface({ id, title: 'mine' })).rejects.toMatchObject({ type: 'Forbidden' });
    await expect(developer.deleteInterface({ id })).rejects.toMatchObject({ type: 'Forbidden' });
    await expect(manager.updateInterface({ id, public: false })).resolves.toMatchObject({
      interface: { public: false },
    });
    await expect(developer.deleteInterface({ id })).resolves.toBeDefined();
  });
});

describe('reading an interface', () => {
  it("returns 404 for another workspace's interface, unless it is public and read from the hub", async () => {
    const [hidden, shown] = await Promise.all([
      bob.client.createInterface({ name: newName(), version: '1.0.0' }),
      bob.client.createInterface({ name: newName(), version: '1.0.0', public: true }),
    ]);

    for (const { id } of [hidden.interface, shown.interface, { id: 'none' }]) {
      const missing = { type: 'ResourceNotFound', message: `The interface "${id}" was not found.` };
      await expect(alice.client.getInterface({ id })).rejects.toMatchObject(missing);
      await expect(alice.client.updateInterface({ id, title: 'x' })).rejects.toMatchObject(missing);
      await expect(alice.client.deleteInterface({ id })).rejects.toMatchObject(missing);
    }
    for (const name of [hidden.interface.name, 'none']) {
      await expect(alice.client.getInterfaceByName({ name, version: 'latest' })).rejects.toMatchObject({
        type: 'ResourceNotFound',
      });
    }
    const { id, name } = hidden.interface;
    await expect(alice.client.getPublicInterfaceById({ id })).rejects.toMatchObject({ type: 'ResourceNotFound' });
    await expect(alice.client.getPublicInterface({ name, version: '1.0.0' })).rejects.toMatchObject({
      type: 'ResourceNotFound',
    });
    expect(await alice.client.getPublicInterfaceById({ id: shown.interface.id })).toEqual(shown);
    expect(await bob.client.getInterface({ id: shown.interface.id })).toEqual(shown);
    expect(await alice.client.getPublicInterface({ name: shown.interface.name, version: 'latest' })).toEqual(shown);
  });

  it("returns the workspace's own interface by name, or else a public one, for older clients", async () => {
    const name = newName();
    const { interface: own } = await alice.client.createInterface({ name, version: '1.0.0' });
    const { interface: shared } = await bob.client.createInterface({ name, version: '2.0.0', public: true });
    const found = async (version: string) => (await alice.client.getInterfaceByName({ name, version })).interface;

    expect(await found('latest')).toEqual(own);
    expect(await found('2.0.0')).toEqual(shared);
    expect(await found('>1.0.0')).toEqual(shared);
    await bob.client.updateInterface({ id: shared.id, public: false });
    await expect(found('2.0.0')).rejects.toMatchObject({ type: 'ResourceNotFound' });
  });

  it.each([
    ['latest', '1.10.0'],
    ['1.0.0', '1.0.0'],
    ['>=1.0.0 <1.10.0', '1.2.0'],
    ['<1.0.0', undefined],
    ['2.0.0-beta.1', '2.0.0-beta.1'],
    ['nonsense', undefined],
  ])('finds by name in version %s the interface version %s', async (version, found) => {
    const { client, workspaceId } = await api.newAccount();
    const handle = newName();
    await client.updateWorkspace({ id: workspaceId, handle });
    const name = `${handle}/tea`;
    for (const each of ['1.0.0', '1.10.0', '1.2.0', '2.0.0-beta.1']) {
      await client.createInterface({ name, version: each, public: true });
    }

    const reads = await Promise.allSettled([
      client.getInterfaceByName({ name, version }),
      alice.client.getPublicInterface({ name, version }),
    ]);

    for (const read of reads) {
      if (found) expect(read).toMatchObject({ value: { interface: { version: found } } });
      else expect(read).toMatchObject({ reason: { type: 'ResourceNotFound' } });
    }
  });

  it('requires a higher role than billing to read an interface', async () => {
    await expect((await memberWith('billing')).listInterfaces({})).rejects.toMatchObject({ type: 'Forbidden' });
  });
});

describe('listing interfaces', () => {
  it('lists interfaces of the workspace, newest first and page by page, without their definitions', async () => {
    const { client, workspaceId } = await api.newAccount();
    for (let index = 0; index < 5; index += 1) {
      await client.createInterface({ name: newName(), version: '1.0.0', ...definition });
    }
    await api.sql("UPDATE hub.interface SET created_at = '2026-01-01' WHERE workspace_id = $1", [workspaceId]);
    const newest = (await client.createInterface({ name: newName(), version: '1.0.0' })).interface;

    const first = await client.listInterfaces({ pageSize: 4 });
    const second = await client.listInterfaces({ pageSize: 4, nextToken: first.meta.nextToken });

    const { entities: _e, events: _v, actions: _a, channels: _c, ...entry } = newest;
    expect(first.interfaces[0]).toEqual(entry);
    expect([first.interfaces.length, second.interfaces.length, second.meta]).toEqual([4, 2, {}]);
    expect(new Set([...first.interfaces, ...second.interfaces].map(({ id }) => id)).size).toBe(6);
    await expect(bob.client.listInterfaces({ nextToken: first.meta.nextToken })).rejects.toMatchObject({
      type: 'InvalidQuery',
    });
  });

  it('filters visible interfaces by name and version', async () => {
    const { client } = await api.newAccount();
    const [first, second] = [newName(), newName()];
    for (const version of ['1.0.0', '1.9.0', '1.10.0']) {
      await client.createInterface({ name: first, version, public: version !== '1.10.0' });
    }
    await client.createInterface({ name: first, version: '2.0.0-rc.1' });
    await client.createInterface({ name: second, version: '1.0.0', public: true });
    const found = async (query: { name?: string; version?: string }) =>
      (await client.listInterfaces(query)).interfaces.map(({ name, version }) => `${name}@${version}`).sort();
    const inHub = async (query: { name?: string; version?: string }) =>
      (await alice.client.listPublicInterfaces({ pageSize: 200, ...query })).interfaces
        .map(({ name, version }) => `${name}@${version}`)
        .filter((each) => each.startsWith(first) || each.startsWith(second))
        .sort();

    expect(await found({ name: second })).toEqual([`${second}@1.0.0`]);
    expect(await found({ version: '1.0.0' })).toEqual([`${first}@1.0.0`, `${second}@1.0.0`]);
    expect(await found({ version: 'latest' })).toEqual([`${first}@1.10.0`, `${second}@1.0.0`]);
    expect(await found({ name: first, version: '>=1.5.0' })).toEqual([`${first}@1.10.0`, `${first}@1.9.0`]);
    expect(await inHub({})).toEqual([`${first}@1.0.0`, `${first}@1.9.0`, `${second}@1.0.0`]);
    expect(await inHub({ version: 'latest' })).toEqual([`${first}@1.9.0`, `${second}@1.0.0`]);
    await expect(client.listInterfaces({ version: 'nonsense' })).rejects.toMatchObject({
      type: 'InvalidQuery',
      message: expect.stringMatching(/^version must be/),
    });
  });
});

describe('updating an interface', () => {
  it('replaces named entries of an interface, removes those that are null and keeps the others', async () => {
    const { id } = (await alice.client.createInterface({ name: newName(), version: '1.0.0', ...definition })).interface;

    const changed = await alice.client.updateInterface({
      id,
      description: 'New',
      icon: png,
      entities: { item: null, order: { schema } },
      events: { created: { schema, attributes: { a: null, c: 'd' } } },
      actions: { create: { input: { schema }, output: { schema } } },
      channels: { main: { messages: { text: null, image: { schema } } } },
      nameTemplate: null,
      attributes: { category: null },
    });
    const cleared = await alice.client.updateInterface({ id, icon: '', channels: { main: null } });

    expect(changed.interface).toMatchObject({ title: changed.interface.name, description: 'New', public: false });
    expect(changed.interface.entities).toEqual({ order: { schema } });
    expect(changed.interface.events).toEqual({ created: { schema, attributes: { c: 'd' } } });
    expect(changed.interface.actions).toEqual({ list: action, create: { input: { schema }, output: { schema } } });
    expect(changed.interface.channels).toEqual({ main: { title: 'Main', messages: { image: { schema } } } });
    expect(changed.interface).not.toHaveProperty('nameTemplate');
    expect(changed.interface).not.toHaveProperty('attributes');
    expect(cleared.interface).toMatchObject({ iconUrl: '', channels: {}, entities: { order: { schema } } });
    expect(await alice.client.getInterface({ id })).toEqual(cleared);
  });

  it('loses neither of two concurrent changes of an interface', async () => {
    const { id } = (await alice.client.createInterface({ name: newName(), version: '1.0.0' })).interface;
    const keys = Array.from({ length: 8 }, (_, index) => `e${index}`);

    await Promise.all(keys.map((name) => alice.client.updateInterface({ id, entities: { [name]: { schema } } })));

    expect(Object.keys((await alice.client.getInterface({ id })).interface.entities).sort()).toEqual(keys);
  });

  it('applies limits to the merged definition of an interface, and changes nothing when it is rejected', async () => {
    const events = entries(20, { schema });
    const { interface: made } = await alice.client.createInterface({ name: newName(), version: '1.0.0', events });

    await expect(
      alice.client.updateInterface({ id: made.id, title: 'x', events: { more: { schema } } }),
    ).rejects.toMatchObject({ type: 'InvalidPayload', message: expect.stringMatching(/^events must have at most 20/) });
    await expect(
      alice.client.updateInterface({ id: made.id, title: 'x', entities: { e: { schema: { type: 'no' } } } }),
    ).rejects.toMatchObject({ type: 'InvalidJsonSchema' });

    expect((await alice.client.getInterface({ id: made.id })).interface).toEqual(made);
    await expect(
      alice.client.updateInterface({ id: made.id, events: { more: { schema }, n0: null } }),
    ).resolves.toBeDefined();
  });
});

describe('deleting an interface', () => {
  it('deletes an interface, and lets the same version be created again', async () => {
    const { id, name } = (await alice.client.createInterface({ name: newName(), version: '1.0.0' })).interface;

    await alice.client.deleteInterface({ id });

    await expect(alice.client.getInterface({ id })).rejects.toMatchObject({ type: 'ResourceNotFound' });
    await expect(alice.client.deleteInterface({ id })).rejects.toMatchObject({ type: 'ResourceNotFound' });
    await expect(alice.client.createInterface({ name, version: '1.0.0' })).resolves.toBeDefined();
  });
});

describe('an interface that an integration implements', () => {
  it('refuses to delete an implemented interface, whichever workspace owns the integration', async () => {
    const { id, name } = (await bob.client.createInterface({ name: newName(), version: '1.0.0', public: true }))
      .interface;
    const implemented = { id, entities: {}, actions: {}, events: {}, channels: {} };

    const { integration } = await alice.client.createIntegration({
      name: newName(),
      version: '1.0.0',
      interfaces: { tea: implemented },
    });

    expect(integration.interfaces).toEqual({ tea: { ...implemented, name, version: '1.0.0' } });
    await expect(bob.client.deleteInterface({ id })).rejects.toMatchObject({
      type: 'ReferenceConstraint',
      message: expect.stringContaining(`Cannot delete interface "${name}" 1.0.0`),
    });
    await expect(bob.client.getInterface({ id })).resolves.toBeDefined();
  });

  it('rejects an integration that implements an interface hidden from its workspace', async () => {
    const { id } = (await bob.client.createInterface({ name: newName(), version: '1.0.0' })).interface;

    await expect(
      alice.client.createIntegration({
        name: newName(),
        version: '1.0.0',
        interfaces: { tea: { id, entities: {}, actions: {}, events: {}, channels: {} } },
      }),
    ).rejects.toMatchObject({ type: 'ReferenceNotFound', message: expect.stringMatching(/^interfaces\.tea\.id/) });
  });
});

describe('the built-in interfaces', () => {
  it('publishes built-in interfaces, finds them by name, and reserves their names', async () => {
    const expected = [
      ...['creatable', 'deletable', 'hitl', 'listable', 'llm', 'readable', 'speech-to-text', 'text-to-image'],
      ...['typing-indicator', 'updatable'],
    ];
    const ids = new Set(builtInInterfaces.map(({ id }) => id));

    const { interfaces: shown } = await alice.client.listPublicInterfaces({ pageSize: 200 });

    const own = shown.filter(({ id }) => ids.has(id));
    expect(own.map(({ name }) => name).sort()).toEqual(expected);
    for (const name of expected) {
      const { interface: found } = await alice.client.getPublicInterface({ name, version: 'latest' });
      expect(ids.has(found.id)).toBe(true);
      await expect(alice.client.getInterface({ id: found.id })).rejects.toMatchObject({ type: 'ResourceNotFound' });
      await expect(alice.client.createInterface({ name, version: '9.0.0', public: true })).rejects.toMatchObject({
        type: 'AlreadyExists',
      });
    }
  });

  it.each(builtInInterfaces)(
    'checks the built-in interface $name by the rules for publication',
    ({ version, title, description, definition }) => {
      const references = [...JSON.stringify(definition).matchAll(/"\$ref":"([^"]+)"/g)].map(([, name]) => name!);

      expect(() => checkDefinition(InterfaceDefinition, definition)).not.toThrow();
      expect(Object.keys(definition.entities)).toEqual(expect.arrayContaining(references));
      expect([version, title.length <= 64, description.length <= 256]).toEqual(['1.0.0', true, true]);
    },
  );

  it.each([
    ['hitl', '2.1.0'],
    ['llm', '11.0.0'],
  ])('returns the built-in interface %s for its version %s elsewhere', async (name, version) => {
    const { interface: found } = await alice.client.getPublicInterface({ name, version });

    expect(found).toMatchObject({ name, version: '1.0.0' });
  });

  it('lets integrations of any workspace implement built-in interfaces', async () => {
    const { interface: llm } = await alice.client.getPublicInterface({ name: 'llm', version: '^1.0.0' });
    const implemented = {
      id: llm.id,
      entities: { modelRef: { name: 'model' } },
      actions: {},
      events: {},
      channels: {},
    };

    const { integration } = await alice.client.createIntegration({
      name: newName(),
      version: '1.0.0',
      interfaces: { llm: implemented },
    });

    expect(integration.interfaces['llm']).toEqual({ ...implemented, name: 'llm', version: '1.0.0' });
  });
});

function entries<T>(count: number, entry: T): Record<string, T> {
  return Object.fromEntries(Array.from({ length: count }, (_, index) => [`n${index}`, entry]));
}
