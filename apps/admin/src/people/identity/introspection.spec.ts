import { type Account, type PublicApi, startPublicApi } from '@parley/testing/public-api';
import { GatewayModule } from '../../../../gateway/src/gateway.module';
import { AdminModule } from '../../admin.module';

let api: PublicApi;
let alice: Account;
let botId: string;
let key: string;

beforeAll(async () => {
  api = await startPublicApi(GatewayModule, AdminModule);
  alice = await api.newAccount();
  botId = (await alice.client.createBot({})).bot.id;
  key = (await alice.client.createBotApiKey({ botId })).value;
});

afterAll(() => api?.stop());

describe('introspection', () => {
  it('introspects the workspace of a bot and the account of the caller, with only the token', async () => {
    const carol = await api.newAccount();
    await api.addMember(alice.workspaceId, carol.accountId, 'viewer');

    const { status, json } = await api.send('POST /v1/admin/introspect', {
      headers: { authorization: `Bearer ${carol.token}` },
      json: { botId },
    });

    expect({ status, json }).toEqual({
      status: 200,
      json: { workspaceId: alice.workspaceId, botId, userId: carol.accountId },
    });
  });

  it('returns the account that created the bot of a key, until that account is deleted', async () => {
    const [carol, client] = [await api.newAccount(), api.client(key)];
    await api.addMember(alice.workspaceId, carol.accountId, 'developer');
    const { bot } = await api.client(carol.token, alice.workspaceId).createBot({});
    const { value } = await alice.client.createBotApiKey({ botId: bot.id });

    const before = await api.client(value).introspect({ botId: bot.id });
    await carol.client.deleteAccount({});

    expect(await client.introspect({ botId })).toEqual({
      workspaceId: alice.workspaceId,
      botId,
      userId: alice.accountId,
    });
    expect(before.userId).toBe(carol.accountId);
    expect((await api.client(value).introspect({ botId: bot.id })).userId).toBe('');
  });

  it('returns the same error for introspection of a bot that the token may not read as of a missing bot', async () => {
    const [bob, carol] = await Promise.all([api.newAccount(), api.newAccount()]);
    await api.addMember(alice.workspaceId, carol.accountId, 'billing');
    const dave = await api.newAccount();
    await api.addMember(alice.workspaceId, dave.accountId, 'developer');
    const forOthers = (await alice.client.createBot({})).bot.id;
    await alice.client.updateBotAllowlist({ botId: forOthers, setting: 'SELECTED_USERS' });
    const other = (await alice.client.createBot({})).bot.id;

    for (const [client, id] of [
      [bob.client, botId],
      [carol.client, botId],
      [dave.client, forOthers],
      [alice.client, 'none'],
      [api.client(key), other],
    ] as const) {
      await expect(client.introspect({ botId: id })).rejects.toMatchObject({
        type: 'ResourceNotFound',
        message: `The bot "${id}" was not found.`,
      });
    }
  });

  it('requires a token and the id of a bot for introspection', async () => {
    const headers = { authorization: `Bearer ${alice.token}` };

    expect(await api.send('POST /v1/admin/introspect', { json: { botId } })).toMatchObject({
      status: 401,
      json: { type: 'Unauthorized' },
    });
    expect(await api.send('POST /v1/admin/introspect', { headers, json: { botId: 5 } })).toMatchObject({
      status: 400,
      json: { type: 'InvalidPayload', message: 'botId must be a string.' },
    });
    expect(
      await api.send('POST /v1/admin/introspect', {
        headers: { authorization: `Bearer ${api.operatorToken}` },
        json: { botId },
      }),
    ).toMatchObject({ status: 403, json: { type: 'Forbidden' } });
  });
});
