import { systemCaller } from '@parley/contracts/caller';
import { hub } from '@parley/contracts/hub/hub';
import { type Account, type PublicApi, startPublicApi } from '@parley/testing/public-api';
import { waitFor } from '@parley/testing/wait-for';
import { AdminModule } from '../../../admin/src/admin.module';
import { GatewayModule } from '../../../gateway/src/gateway.module';
import { HubModule } from '../hub.module';

let api: PublicApi;
let alice: Account;

beforeAll(async () => {
  api = await startPublicApi(GatewayModule, AdminModule, HubModule);
  alice = await api.newAccount();
});

afterAll(() => api?.stop());

async function workspaceWith(visibility: 'public' | 'private', name: string) {
  const { id } = await alice.client.createWorkspace({ name });
  const client = api.client(alice.token, id);
  const { integration } = await client.createIntegration({ name, version: '1.0.0', visibility });
  await client.createInterface({ name, version: '1.0.0', public: visibility === 'public' });
  await client.createPlugin({
    name,
    version: '1.0.0',
    visibility,
    code: { node: `module.exports = '${name}'`, browser: '' },
    dependencies: { integrations: { own: { id: integration.id } } },
  });
  return id;
}

async function countsOf(workspaceId: string) {
  const [row] = await api.sql<Record<string, number>>(
    `SELECT (SELECT count(*)::int FROM hub.integration WHERE workspace_id = $1) AS integrations,
       (SELECT count(*)::int FROM hub.interface WHERE workspace_id = $1) AS interfaces,
       (SELECT count(*)::int FROM hub.plugin WHERE workspace_id = $1) AS plugins,
       (SELECT count(*)::int FROM hub.workspace WHERE id = $1) AS labels`,
    [workspaceId],
  );
  return row!;
}

describe('a deleted workspace', () => {
  it('deletes the private entries of a deleted workspace and their code', async () => {
    const id = await workspaceWith('private', 'hidden');
    expect(await countsOf(id)).toEqual({ integrations: 1, interfaces: 1, plugins: 1, labels: 1 });

    await alice.client.deleteWorkspace({ id });

    await waitFor(
      async () => countsOf(id),
      ({ labels }) => labels === 0,
    );
    expect(await countsOf(id)).toEqual({ integrations: 0, interfaces: 0, plugins: 0, labels: 0 });
    expect(await api.sql(`SELECT 1 FROM hub.plugin_code WHERE content LIKE '%hidden%'`)).toEqual([]);
  });

  it('keeps the published entries of a deleted workspace and its name', async () => {
    const id = await workspaceWith('public', 'shared');
    const hidden = await workspaceWith('private', 'hidden-later');

    await alice.client.deleteWorkspace({ id });
    await alice.client.deleteWorkspace({ id: hidden });

    await waitFor(
      async () => countsOf(hidden),
      ({ labels }) => labels === 0,
    );
    expect(await countsOf(id)).toEqual({ integrations: 1, interfaces: 1, plugins: 1, labels: 1 });
    const { integration } = await alice.client.getPublicIntegration({ name: 'shared', version: 'latest' });
    expect(integration.ownerWorkspace).toEqual({ id, handle: null, name: 'shared' });
  });
});

describe('the handle of the workspace', () => {
  it('asks admin for the handle of the workspace for a gateway of 0.2.0', async () => {
    const { id } = await alice.client.createWorkspace({ name: 'old gateway' });
    await api.client(alice.token, id).updateWorkspace({ id, handle: 'old-gateway' });
    const account = { id: alice.accountId, email: alice.email };
    const caller = { ...systemCaller('test'), credential: 'pat', account, workspace: { id } } as const;
    const create = (name: string) => api.call(hub.interfaces.create, caller, { name, version: '1.0.0' });

    await expect(create('old-gateway/tea')).resolves.toBeDefined();
    await expect(create('other/tea')).rejects.toMatchObject({ type: 'Forbidden' });
  });
});

describe('a handle that the workspace no longer has', () => {
  it('refuses to publish under a former handle, also entries that were created under it', async () => {
    const { id } = await alice.client.createWorkspace({ name: 'moving' });
    const client = api.client(alice.token, id);
    await client.updateWorkspace({ id, handle: 'before-moving' });
    const given = { name: 'before-moving/tea', version: '1.0.0' };
    const { integration } = await client.createIntegration(given);
    const { plugin } = await client.createPlugin({ ...given, code: { node: '', browser: '' } });
    const made = await client.createInterface(given);
    await client.updateWorkspace({ id, handle: 'after-moving' });

    for (const publish of [
      () => client.updateIntegration({ id: integration.id, visibility: 'unlisted' }),
      () => client.validateIntegrationUpdate({ id: integration.id, public: true }),
      () => client.updatePlugin({ id: plugin.id, visibility: 'public' }),
      () => client.updateInterface({ id: made.interface.id, public: true }),
    ]) {
      await expect(publish()).rejects.toMatchObject({ type: 'Forbidden' });
    }
    await expect(client.updateIntegration({ id: integration.id, title: 'Tea' })).resolves.toBeDefined();
    await client.updateWorkspace({ id, handle: 'before-moving' });
    await expect(client.updateIntegration({ id: integration.id, visibility: 'public' })).resolves.toBeDefined();
  });
});
