import { admin } from '@parley/contracts/admin/admin';
import { systemCaller } from '@parley/contracts/caller';
import { hashToken } from '@parley/secrets/token';
import { type Account, type PublicApi, startPublicApi } from '@parley/testing/public-api';
import { GatewayModule } from '../../../../gateway/src/gateway.module';
import { AdminModule } from '../../admin.module';
import { FakeHub, FakeHubModule } from '../../test/fake-hub.module';

const hub = new FakeHub();
const slack = hub.addIntegration('intver_slack', { name: 'slack' });
const twice = hub.addIntegration('intver_twice', { name: 'twice' });

let api: PublicApi;
let alice: Account;
let botId: string;
let integrationKey: string;

beforeAll(async () => {
  api = await startPublicApi(GatewayModule, AdminModule, FakeHubModule.of(hub));
  alice = await api.newAccount();
  hub.owners.set(slack, alice.workspaceId);
  botId = (await alice.client.createBot({})).bot.id;
  const response = await api.send(`PUT /v1/admin/bots/${botId}`, {
    headers: {
      authorization: `Bearer ${alice.token}`,
      'x-workspace-id': alice.workspaceId,
      'x-multiple-integrations': 'true',
    },
    json: {
      integrations: {
        team: { integrationId: slack },
        off: { integrationId: slack, enabled: false },
        a: { integrationId: twice },
        b: { integrationId: twice },
      },
    },
  });
  expect(response.status).toBe(200);
  integrationKey = (await alice.client.createIntegrationApiKey({ integrationId: slack })).value;
});

afterAll(() => api?.stop());

async function identify(token: string, named: { integrationAlias?: string; integrationId?: string }, bot = botId) {
  const kind = token.startsWith('bp_iak_') ? 'iak' : token.startsWith('bp_bak_') ? 'bak' : 'pat';
  const input = { tokenHash: hashToken(token), kind, botId: bot, ...named } as const;
  return (await api.call(admin.identity.identify, systemCaller('test'), input)).caller;
}

describe('an installation that a caller acts as', () => {
  it.each([
    ['its alias', { integrationAlias: 'team' }],
    ['the integration, which is installed and enabled once', { integrationId: slack }],
    ['both', { integrationAlias: 'team', integrationId: slack }],
  ])('resolves the installation that a caller acts as by %s', async (_how, named) => {
    const caller = await identify(alice.token, named);

    expect(caller).toMatchObject({
      credential: 'pat',
      bot: { id: botId },
      integration: { id: slack, alias: 'team' },
    });
  });

  it('resolves the installation that a bot API key acts as', async () => {
    const { value } = await alice.client.createBotApiKey({ botId });

    expect(await identify(value, { integrationAlias: 'b' })).toMatchObject({ integration: { id: twice, alias: 'b' } });
  });

  it('defaults to its own integration for an integration API key, in the workspace of the bot', async () => {
    const caller = await identify(integrationKey, {});

    expect(caller).toMatchObject({
      credential: 'iak',
      workspace: { id: alice.workspaceId },
      bot: { id: botId, workspaceId: alice.workspaceId },
      integration: { id: slack, alias: 'team' },
    });
  });

  it('resolves no installation when the headers name none', async () => {
    expect((await identify(alice.token, {})).integration).toBeUndefined();
  });

  it('requires an alias when an integration is installed more than once', async () => {
    await expect(identify(alice.token, { integrationId: twice })).rejects.toMatchObject({
      type: 'InvalidPayload',
      message: expect.stringMatching(/^x-integration-alias is missing: .* installed 2 times\. Name one of: a, b\./),
    });
  });

  it.each([
    [
      'an alias that is not installed',
      { integrationAlias: 'none' },
      /^x-integration-alias "none": no such integration/,
    ],
    [
      'an integration that is not installed',
      { integrationId: 'intver_none' },
      /^x-integration-id "intver_none": no such integration/,
    ],
    ['one that is disabled', { integrationAlias: 'off' }, /^x-integration-alias "off": no such integration/],
    [
      'an alias of another integration',
      { integrationAlias: 'a', integrationId: slack },
      /^x-integration-alias "a": no such integration/,
    ],
  ])('forbids headers that name %s', async (_case, named, message) => {
    await expect(identify(alice.token, named)).rejects.toMatchObject({
      type: 'Forbidden',
      message: expect.stringMatching(message),
    });
  });

  it('forbids an integration API key to act as another integration', async () => {
    for (const named of [{ integrationId: twice }, { integrationAlias: 'a' }]) {
      await expect(identify(integrationKey, named)).rejects.toMatchObject({ type: 'Forbidden' });
    }
  });

  it('forbids an integration API key to act in a bot without the integration, as in a missing bot', async () => {
    const other = (await alice.client.createBot({})).bot.id;

    for (const bot of [other, 'none']) {
      await expect(identify(integrationKey, {}, bot)).rejects.toMatchObject({
        type: 'Forbidden',
        message: `x-bot-id "${bot}" was not found, or this token has no access to it.`,
      });
    }
  });

  it('requires the role developer to act as an installation', async () => {
    const carol = await api.newAccount();
    await api.addMember(alice.workspaceId, carol.accountId, 'viewer');

    await expect(identify(carol.token, { integrationAlias: 'team' })).rejects.toMatchObject({ type: 'Forbidden' });
  });

  it('accepts a named installation for files from each permitted caller, implied by an integration key', async () => {
    const list = (token: string, headers: Record<string, string> = {}) =>
      api.send('GET /v1/files', { headers: { authorization: `Bearer ${token}`, 'x-bot-id': botId, ...headers } });

    const answers = await Promise.all([
      list(alice.token, { 'x-integration-alias': 'team' }),
      list(alice.token, { 'x-integration-name': 'team' }),
      list(alice.token, { 'x-integration-id': slack }),
      list(integrationKey),
      list(alice.token),
    ]);

    // Authorisation succeeded: 503, since the files service does not run here.
    expect(answers.map(({ status }) => status)).toEqual([503, 503, 503, 503, 503]);
    expect((await list(alice.token, { 'x-integration-alias': 'none' })).status).toBe(403);
  });

  it('stops to resolve an installation when the integration is uninstalled', async () => {
    const gone = hub.addIntegration('intver_gone', { name: 'gone' });
    await alice.client.updateBot({ id: botId, integrations: { [gone]: {} } });
    await identify(alice.token, { integrationAlias: 'gone' });

    await alice.client.updateBot({ id: botId, integrations: { [gone]: null } });

    await expect(identify(alice.token, { integrationAlias: 'gone' })).rejects.toMatchObject({ type: 'Forbidden' });
  });
});
