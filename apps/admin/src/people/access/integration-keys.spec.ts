import { type Account, type PublicApi, startPublicApi } from '@parley/testing/public-api';
import { hashToken } from '@parley/secrets/token';
import { waitFor } from '@parley/testing/wait-for';
import { hubEntryChanged } from '@parley/contracts/hub/resolution';
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
async function newIntegration({ client }: Account): Promise<string> {
  names += 1;
  return (await client.createIntegration({ name: `integration-${names}`, version: '1.0.0' })).integration.id;
}

describe('integration API keys', () => {
  it('shows an integration API key once, lists keys newest first, and stores a hash', async () => {
    const integrationId = await newIntegration(alice);

    const first = await alice.client.createIntegrationApiKey({ integrationId, note: 'server' });
    const second = await alice.client.createIntegrationApiKey({ integrationId });

    const { value, ...entry } = first;
    const { iaks } = await alice.client.listIntegrationApiKeys({ integrationId });
    const [row] = await api.sql('SELECT * FROM admin.token WHERE id = $1', [first.id]);
    expect(value).toMatch(/^bp_iak_[0-9A-Za-z]{36}$/);
    expect(entry).toEqual({ id: expect.stringMatching(/^iak_/), note: 'server', createdAt: expect.any(String) });
    expect(iaks).toEqual([{ id: second.id, note: '', createdAt: second.createdAt }, entry]);
    expect(row).toMatchObject({
      hash: hashToken(value),
      integration_id: integrationId,
      account_id: null,
      bot_id: null,
    });
  });

  it('lets an integration API key read its own integration without a workspace header, and no other', async () => {
    const [own, other] = await Promise.all([newIntegration(alice), newIntegration(alice)]);
    const { value } = await alice.client.createIntegrationApiKey({ integrationId: own });
    const client = api.client(value);

    expect((await client.getIntegration({ id: own })).integration.id).toBe(own);
    await expect(client.getIntegration({ id: other })).rejects.toMatchObject({
      type: 'ResourceNotFound',
      message: `The integration "${other}" was not found.`,
    });
    await expect(api.client(value, bob.workspaceId).getIntegration({ id: own })).rejects.toMatchObject({
      type: 'Forbidden',
      message: expect.stringMatching(/^x-workspace-id/),
    });
    for (const call of [
      () => api.client(value, alice.workspaceId).listBots({}),
      () => api.client(value, alice.workspaceId).createIntegrationApiKey({ integrationId: own }),
      () => client.listWorkspaces({}),
    ]) {
      await expect(call()).rejects.toMatchObject({
        type: 'Forbidden',
        message: 'An integration API key may not call this operation.',
      });
    }
  });

  it("returns the same error for keys of another workspace's integration as of a missing one", async () => {
    const foreign = await newIntegration(bob);

    for (const integrationId of [foreign, 'none']) {
      const message = `integrationId: this workspace has no integration "${integrationId}".`;
      const refused = { type: 'ReferenceNotFound', message };
      await expect(alice.client.createIntegrationApiKey({ integrationId })).rejects.toMatchObject(refused);
      await expect(alice.client.listIntegrationApiKeys({ integrationId })).rejects.toMatchObject(refused);
    }
  });

  it('deletes an integration API key once, and only for its workspace', async () => {
    const integrationId = await newIntegration(alice);
    const { id, value } = await alice.client.createIntegrationApiKey({ integrationId });
    await api.client(value).getIntegration({ id: integrationId });

    await expect(bob.client.deleteIntegrationApiKey({ id })).rejects.toMatchObject({
      type: 'ResourceNotFound',
      message: `The integration API key "${id}" was not found.`,
    });
    await expect(alice.client.deleteBotApiKey({ id })).rejects.toMatchObject({ type: 'ResourceNotFound' });
    await alice.client.deleteIntegrationApiKey({ id });

    await expect(alice.client.deleteIntegrationApiKey({ id })).rejects.toMatchObject({ type: 'ResourceNotFound' });
    await waitFor(() =>
      api
        .client(value)
        .getIntegration({ id: integrationId })
        .then(
          () => false,
          ({ type }) => type === 'Unauthorized',
        ),
    );
  });

  it('deletes integration API keys with their integration', async () => {
    const [gone, stays] = await Promise.all([newIntegration(alice), newIntegration(alice)]);
    await Promise.all([gone, stays].map((integrationId) => alice.client.createIntegrationApiKey({ integrationId })));

    const { workspaceId } = alice;
    await api.publish(hubEntryChanged, { kind: 'integration', id: gone, isDeleted: true, workspaceId });

    const keysOf = async (integrationId: string) =>
      (await alice.client.listIntegrationApiKeys({ integrationId })).iaks.length;
    await waitFor(async () => (await keysOf(gone)) === 0);
    expect(await keysOf(stays)).toBe(1);
  });

  it.each([['viewer'], ['billing'], ['developer']] as const)(
    'requires a higher role than %s for integration API keys',
    async (role) => {
      const [integrationId, carol] = await Promise.all([newIntegration(alice), api.newAccount()]);
      await api.addMember(alice.workspaceId, carol.accountId, role);
      const client = api.client(carol.token, alice.workspaceId);

      await expect(client.createIntegrationApiKey({ integrationId })).rejects.toMatchObject({ type: 'Forbidden' });
      await expect(client.listIntegrationApiKeys({ integrationId })).rejects.toMatchObject({ type: 'Forbidden' });
      await expect(client.deleteIntegrationApiKey({ id: 'x' })).rejects.toMatchObject({ type: 'Forbidden' });
    },
  );

  it('audits creation and deletion of integration API keys as of bot API keys', async () => {
    const integrationId = await newIntegration(alice);
    const { bot } = await alice.client.createBot({});
    const key = await alice.client.createIntegrationApiKey({ integrationId });
    const botKey = await alice.client.createBotApiKey({ botId: bot.id });
    await alice.client.deleteIntegrationApiKey({ id: key.id });
    await alice.client.deleteBotApiKey({ id: botKey.id });

    const records = await api.sql(
      'SELECT operation, value FROM admin.audit_record WHERE resource_id = ANY($1) ORDER BY id',
      [[key.id, botKey.id]],
    );

    expect(records).toEqual([
      { operation: 'admin.integrationApiKeys.create', value: integrationId },
      { operation: 'admin.botApiKeys.create', value: bot.id },
      { operation: 'admin.integrationApiKeys.delete', value: integrationId },
      { operation: 'admin.botApiKeys.delete', value: bot.id },
    ]);
  });
});
