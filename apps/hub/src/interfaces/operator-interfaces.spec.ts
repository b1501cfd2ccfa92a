import { configured, type Account, type PublicApi, startPublicApi } from '@parley/testing/public-api';
import type { Client } from '@botpress/client';
import { AdminModule } from '../../../admin/src/admin.module';
import { GatewayModule } from '../../../gateway/src/gateway.module';
import { HubConfig } from '../config';
import { HubModule } from '../hub.module';
import { builtInInterfaces } from './built-in-interfaces';

const schema = { type: 'object', properties: {} };
const hitlDefinition = {
  entities: { hitlSession: { schema } },
  actions: { startHitl: { input: { schema }, output: { schema } } },
};

let api: PublicApi;
let operator: Client;
let alice: Account;
let bob: Account;

async function open(config: Partial<HubConfig> = {}) {
  const opened = await startPublicApi(GatewayModule, AdminModule, configured(HubModule, HubConfig, config));
  const { bootstrapToken } = opened.settings;
  const { workspaces } = await opened.client(bootstrapToken).listWorkspaces({});
  return { opened, first: opened.client(bootstrapToken, workspaces[0]!.id) };
}

async function publish(client: Client, name: string, version: string): Promise<string> {
  return (await client.createInterface({ name, version, public: true })).interface.id;
}

function builtIn(name: string): string {
  return builtInInterfaces.find((each) => each.name === name)!.id;
}

async function found({ client }: Account, name: string, version: string): Promise<string> {
  return (await client.getPublicInterface({ name, version })).interface.id;
}

async function listed({ client }: Account, query: { name?: string; version?: string }): Promise<string[]> {
  const { interfaces } = await client.listPublicInterfaces({ pageSize: 200, ...query });
  return interfaces.map(({ name, version }) => `${name}@${version}`).sort();
}

describe("the operator's workspace", () => {
  beforeAll(async () => {
    ({ opened: api, first: operator } = await open());
    [alice, bob] = await Promise.all([api.newAccount(), api.newAccount()]);
  });

  afterAll(() => api?.stop());

  it('publishes interfaces of the operator under built-in names, which other workspaces implement', async () => {
    const { interface: hitl } = await operator.createInterface({
      ...hitlDefinition,
      name: 'hitl',
      version: '2.1.0',
      public: true,
    });

    const { interface: read } = await alice.client.getPublicInterface({ name: 'hitl', version: '2.1.0' });
    const implemented = {
      id: read.id,
      entities: {},
      actions: { startHitl: { name: 'start' } },
      events: {},
      channels: {},
    };
    const { integration } = await alice.client.createIntegration({
      name: 'desk',
      version: '1.0.0',
      actions: { start: hitlDefinition.actions.startHitl },
      interfaces: { hitl: implemented },
    });
    const { plugin } = await bob.client.createPlugin({
      name: 'handover',
      version: '1.0.0',
      code: { node: '1', browser: '1' },
      dependencies: { interfaces: { latest: { name: 'hitl' }, former: { name: 'hitl', version: '1.0.0' } } },
    });

    expect(read).toEqual(hitl);
    expect(integration.interfaces).toEqual({ hitl: { ...implemented, name: 'hitl', version: '2.1.0' } });
    expect(plugin.dependencies.interfaces).toEqual({
      latest: { id: hitl.id, name: 'hitl', version: '2.1.0' },
      former: { id: builtIn('hitl'), name: 'hitl', version: '1.0.0' },
    });
    expect(await found(bob, 'hitl', 'latest')).toBe(hitl.id);
    expect(await found(bob, 'hitl', '>=1.0.0')).toBe(hitl.id);
    expect(await found(bob, 'hitl', '^1.0.0')).toBe(builtIn('hitl'));
    expect(await listed(bob, { name: 'hitl' })).toEqual(['hitl@2.1.0']);
  });

  it('prefers an interface of the operator to a built-in one of a lower or equal version', async () => {
    const lower = await publish(operator, 'listable', '0.0.3');
    const equal = await publish(operator, 'llm', '1.0.0');

    expect(await found(alice, 'listable', 'latest')).toBe(lower);
    expect(await found(alice, 'listable', '*')).toBe(lower);
    expect(await found(alice, 'llm', '1.0.0')).toBe(equal);
    expect(await listed(alice, { name: 'llm' })).toEqual(['llm@1.0.0']);
    expect(await listed(alice, { version: 'latest' })).toEqual(
      expect.arrayContaining(['listable@0.0.3', 'llm@1.0.0', 'creatable@1.0.0']),
    );
    expect(await listed(alice, { version: 'latest' })).toHaveLength(builtInInterfaces.length);
    await expect(alice.client.getPublicInterfaceById({ id: builtIn('llm') })).resolves.toBeDefined();

    await operator.deleteInterface({ id: lower });
    await operator.updateInterface({ id: equal, public: false });
    expect(await found(alice, 'listable', 'latest')).toBe(builtIn('listable'));
    expect(await found(alice, 'llm', '1.0.0')).toBe(builtIn('llm'));
    expect(await listed(alice, { name: 'llm' })).toEqual(['llm@1.0.0']);
  });

  it('keeps the built-in interface the latest while those of the operator are private or pre-releases', async () => {
    await operator.createInterface({ name: 'readable', version: '2.0.0' });
    const beta = await publish(operator, 'readable', '2.0.0-beta.1');

    expect(await found(alice, 'readable', 'latest')).toBe(builtIn('readable'));
    expect(await found(alice, 'readable', '2.0.0-beta.1')).toBe(beta);
    expect(await listed(alice, { name: 'readable' })).toEqual(['readable@1.0.0', 'readable@2.0.0-beta.1']);
    expect(await listed(alice, { name: 'readable', version: 'latest' })).toEqual(['readable@1.0.0']);
  });

  it("reserves built-in names to the operator's workspace, also for a later change of visibility", async () => {
    const refused = {
      type: 'AlreadyExists',
      message:
        'name: "updatable" belongs to a built-in interface, and only the operator\'s workspace may publish it. Choose another name.',
    };

    const draft = (await alice.client.createInterface({ name: 'updatable', version: '2.0.0' })).interface;
    await expect(publish(alice.client, 'updatable', '3.0.0')).rejects.toMatchObject(refused);
    await expect(alice.client.updateInterface({ id: draft.id, public: true })).rejects.toMatchObject(refused);
    const ours = (await operator.createInterface({ name: 'updatable', version: '2.0.0' })).interface;
    await operator.updateInterface({ id: ours.id, public: true });

    expect(await found(bob, 'updatable', 'latest')).toBe(ours.id);
    await expect(publish(alice.client, 'updatable', '3.0.0')).rejects.toMatchObject({ type: 'AlreadyExists' });
  });

  it("refuses the operator's workspace the name of the chat, and names published by others", async () => {
    await publish(bob.client, 'tea', '1.0.0');

    await expect(publish(operator, 'tea', '2.0.0')).rejects.toMatchObject({
      type: 'AlreadyExists',
      message: expect.stringContaining('another workspace has published') as string,
    });
    await expect(
      operator.createIntegration({ name: 'chat', version: '2.0.0', visibility: 'public' }),
    ).rejects.toMatchObject({ type: 'AlreadyExists' });
  });
});

it("uses the configured operator's workspace instead of the first one", async () => {
  const operatorWorkspaceId = 'wkspace_00000000000000000000000002';
  const { opened, first } = await open({ operatorWorkspaceId });
  const { accountId, token } = await opened.newAccount();
  await opened.sql("INSERT INTO admin.workspace (id, name, owner_id) VALUES ($1, 'Operations', $2)", [
    operatorWorkspaceId,
    accountId,
  ]);
  await opened.addMember(operatorWorkspaceId, accountId, 'owner');

  const outcomes = await Promise.allSettled([
    publish(opened.client(token, operatorWorkspaceId), 'hitl', '2.1.0'),
    publish(first, 'llm', '2.1.0'),
  ]);
  await opened.stop();

  expect(outcomes).toMatchObject([{ status: 'fulfilled' }, { reason: { type: 'AlreadyExists' } }]);
});
