import { admin } from '@parley/contracts/admin/admin';
import { type Role, systemCaller } from '@parley/contracts/caller';
import { hashToken, tokenKind } from '@parley/secrets/token';
import { type Account, type PublicApi, startPublicApi } from '@parley/testing/public-api';
import { GatewayModule } from '../../../../gateway/src/gateway.module';
import { AdminModule } from '../../admin.module';
import { FakeHub, FakeHubModule } from '../../test/fake-hub.module';

const hub = new FakeHub();
const slack = hub.addIntegration('intver_slack', { name: 'slack' });

let api: PublicApi;
let alice: Account;
let bob: Account;
let botOfAlice: string;
let botOfBob: string;

beforeAll(async () => {
  api = await startPublicApi(GatewayModule, AdminModule, FakeHubModule.of(hub));
  [alice, bob] = await Promise.all([api.newAccount(), api.newAccount()]);
  hub.owners.set(slack, alice.workspaceId);
  botOfAlice = await newBot(alice);
  botOfBob = await newBot(bob);
});

afterAll(() => api?.stop());

async function newBot({ client }: Account) {
  return (await client.createBot({})).bot.id;
}

type Named = { botId?: string; workspaceId?: string; otherBotId?: string; isWorkspaceLabelled?: boolean };

async function identify(token: string, named: Named) {
  const input = { tokenHash: hashToken(token), kind: tokenKind(token)!, ...named };
  return (await api.call(admin.identity.identify, systemCaller('test'), input)).caller;
}

describe('the other bot of an identity', () => {
  it('answers role, workspace and quotas of another bot beside the bot of the request', async () => {
    const caller = await identify(bob.token, { botId: botOfBob, otherBotId: botOfBob });

    expect(caller).toMatchObject({
      bot: { id: botOfBob },
      otherBot: { id: botOfBob, role: 'owner', workspaceId: bob.workspaceId, quotas: caller.quotas },
    });
    expect(caller.quotas).toBeDefined();
  });

  it.each<[Role]>([['developer'], ['viewer'], ['billing']])(
    'answers the role %s in another bot to a member of its workspace',
    async (role) => {
      const member = await api.newAccount();
      await api.addMember(bob.workspaceId, member.accountId, role);

      const { otherBot } = await identify(member.token, { otherBotId: botOfBob });

      expect(otherBot).toMatchObject({ id: botOfBob, role, workspaceId: bob.workspaceId });
    },
  );

  it('answers no role in a bot of another account, as in a missing and a hidden one', async () => {
    const member = await api.newAccount();
    await api.addMember(bob.workspaceId, member.accountId, 'developer');
    const hidden = await newBot(bob);
    await api.send(`PUT /v1/admin/bots/${hidden}/allowlist`, {
      headers: { authorization: `Bearer ${bob.token}`, 'x-workspace-id': bob.workspaceId },
      json: { setting: 'SELECTED_USERS' },
    });

    for (const [token, otherBotId] of [
      [alice.token, botOfBob],
      [bob.token, 'none'],
      [bob.token, ''],
      [member.token, hidden],
    ] as const)
      expect((await identify(token, { otherBotId })).otherBot).toEqual({ id: otherBotId, role: null });
  });

  it('answers no role in another bot to keys of bots and integrations, not even in their own bot', async () => {
    const { value: botKey } = await alice.client.createBotApiKey({ botId: botOfAlice });
    await alice.client.updateBot({ id: botOfAlice, integrations: { [slack]: {} } });
    const { value: integrationKey } = await alice.client.createIntegrationApiKey({ integrationId: slack });

    for (const token of [botKey, integrationKey])
      for (const otherBotId of [botOfAlice, botOfBob])
        expect((await identify(token, { botId: botOfAlice, otherBotId })).otherBot).toEqual({
          id: otherBotId,
          role: null,
        });
  });

  it('answers the same role as roleInBot to a service of 0.2.0', async () => {
    const input = { accountId: bob.accountId, botId: botOfBob };

    const answer = await api.call(admin.identity.roleInBot, systemCaller('test'), input);

    const { otherBot } = await identify(bob.token, { otherBotId: botOfBob });
    expect(otherBot).toEqual({ id: botOfBob, ...answer });
  });

  it('answers no other bot to a request that names none', async () => {
    expect(await identify(bob.token, { botId: botOfBob })).not.toHaveProperty('otherBot');
  });
});

describe('the label of the workspace in an identity', () => {
  it('answers the same label as workspaces.label to a service of 0.2.0', async () => {
    const { workspaceId } = alice;
    const answer = await api.call(admin.workspaces.label, systemCaller('test'), { id: workspaceId });

    const caller = await identify(alice.token, { workspaceId, isWorkspaceLabelled: true });

    expect(caller.workspace).toEqual({ id: workspaceId, label: answer });
  });

  it('answers a label only when it is requested, and only with a workspace', async () => {
    const { workspaceId } = alice;

    expect((await identify(alice.token, { workspaceId })).workspace).toEqual({ id: workspaceId });
    expect(await identify(alice.token, { isWorkspaceLabelled: true })).not.toHaveProperty('workspace');
  });

  it('refuses the label of a workspace to an account that is not a member', async () => {
    const { workspaceId } = bob;

    await expect(identify(alice.token, { workspaceId, isWorkspaceLabelled: true })).rejects.toMatchObject({
      type: 'Forbidden',
    });
  });
});
