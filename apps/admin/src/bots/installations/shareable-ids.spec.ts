import { type Account, type PublicApi, startPublicApi } from '@parley/testing/public-api';
import { GatewayModule } from '../../../../gateway/src/gateway.module';
import { AdminModule } from '../../admin.module';
import { builtInChat } from './built-in-chat';
import { FakeHub, FakeHubModule } from '../../test/fake-hub.module';

const hub = new FakeHub();
const slack = hub.addIntegration('intver_slack', { name: 'slack' });
const integrationId = builtInChat.id;

let api: PublicApi;
let alice: Account;
let bob: Account;

beforeAll(async () => {
  api = await startPublicApi(GatewayModule, AdminModule, FakeHubModule.of(hub));
  [alice, bob] = await Promise.all([api.newAccount(), api.newAccount()]);
});

afterAll(() => api?.stop());

async function newBot(): Promise<string> {
  return (await alice.client.createBot({})).bot.id;
}

describe('a shareable id of an installation', () => {
  it('creates and shows a shareable id of an installation, and replaces it by a new one', async () => {
    const botId = await newBot();

    const { shareableId } = await alice.client.createIntegrationShareableId({ botId, integrationId });
    const shown = await alice.client.getIntegrationShareableId({ botId, integrationId });
    const next = await alice.client.createIntegrationShareableId({ botId, integrationId });

    expect(shareableId).toMatch(/^shareable_[0-9A-Z]{26}$/);
    expect(shown).toEqual({ shareableId, isExpired: false });
    expect(next.shareableId).not.toBe(shareableId);
    expect(await alice.client.getIntegrationShareableId({ botId, integrationId })).toMatchObject(next);
  });

  it('accepts a shareable id for 24 hours', async () => {
    const botId = await newBot();
    await alice.client.createIntegrationShareableId({ botId, integrationId });
    const pass = (time: string) =>
      api.sql('UPDATE admin.shareable_id SET expires_at = expires_at - $2::interval WHERE bot_id = $1', [botId, time]);
    const isExpired = async () => (await alice.client.getIntegrationShareableId({ botId, integrationId })).isExpired;

    await pass('23 hours 59 minutes');
    expect(await isExpired()).toBe(false);
    await pass('1 minute');
    expect(await isExpired()).toBe(true);
  });

  it('deletes a shareable id once, and together with its installation', async () => {
    const botId = await newBot();
    await alice.client.createIntegrationShareableId({ botId, integrationId });

    await alice.client.deleteIntegrationShareableId({ botId, integrationId });

    const missing = {
      type: 'ResourceNotFound',
      message: 'The installation "chat" has no shareable id. Create one first.',
    };
    await expect(alice.client.getIntegrationShareableId({ botId, integrationId })).rejects.toMatchObject(missing);
    await expect(alice.client.deleteIntegrationShareableId({ botId, integrationId })).rejects.toMatchObject(missing);
    await alice.client.createIntegrationShareableId({ botId, integrationId });
    await alice.client.updateBot({ id: botId, integrations: { [integrationId]: null } });
    expect(await api.sql('SELECT 1 FROM admin.shareable_id WHERE bot_id = $1', [botId])).toEqual([]);
  });

  it('requires an alias for a shareable id when there are several installations', async () => {
    const botId = await newBot();
    const response = await api.send(`PUT /v1/admin/bots/${botId}`, {
      headers: {
        authorization: `Bearer ${alice.token}`,
        'x-workspace-id': alice.workspaceId,
        'x-multiple-integrations': 'true',
      },
      json: { integrations: { a: { integrationId: slack }, b: { integrationId: slack } } },
    });
    expect(response.status).toBe(200);
    const create = (integrationInstanceAlias?: string) =>
      alice.client.createIntegrationShareableId({ botId, integrationId: slack, integrationInstanceAlias });

    await expect(create()).rejects.toMatchObject({
      type: 'InvalidQuery',
      message: 'integrationInstanceAlias is missing: the bot has "intver_slack" installed as a, b. Name one of them.',
    });
    await expect(create('chat')).rejects.toMatchObject({ type: 'ResourceNotFound' });
    const { shareableId } = await create('b');

    expect(
      await alice.client.getIntegrationShareableId({ botId, integrationId: slack, integrationInstanceAlias: 'b' }),
    ).toMatchObject({ shareableId });
  });

  it("returns the same 404 for a shareable id of another workspace's bot as of a missing one", async () => {
    const botId = await newBot();

    for (const call of [
      () => bob.client.createIntegrationShareableId({ botId, integrationId }),
      () => bob.client.getIntegrationShareableId({ botId, integrationId }),
      () => bob.client.deleteIntegrationShareableId({ botId, integrationId }),
    ]) {
      await expect(call()).rejects.toMatchObject({
        type: 'ResourceNotFound',
        message: `The bot "${botId}" was not found.`,
      });
    }
    await expect(alice.client.createIntegrationShareableId({ botId: 'none', integrationId })).rejects.toMatchObject({
      type: 'ResourceNotFound',
      message: 'The bot "none" was not found.',
    });
    await expect(alice.client.createIntegrationShareableId({ botId, integrationId: slack })).rejects.toMatchObject({
      type: 'ResourceNotFound',
    });
  });

  it('lets developers create and delete a shareable id, and viewers read it', async () => {
    const botId = await newBot();
    const [developer, viewer] = await Promise.all([api.newAccount(), api.newAccount()]);
    await api.addMember(alice.workspaceId, developer.accountId, 'developer');
    await api.addMember(alice.workspaceId, viewer.accountId, 'viewer');
    const asDeveloper = api.client(developer.token, alice.workspaceId);
    const asViewer = api.client(viewer.token, alice.workspaceId);

    await expect(asViewer.createIntegrationShareableId({ botId, integrationId })).rejects.toMatchObject({
      type: 'Forbidden',
    });
    await asDeveloper.createIntegrationShareableId({ botId, integrationId });
    await expect(asViewer.getIntegrationShareableId({ botId, integrationId })).resolves.toBeDefined();
    await expect(asViewer.deleteIntegrationShareableId({ botId, integrationId })).rejects.toMatchObject({
      type: 'Forbidden',
    });
  });
});
