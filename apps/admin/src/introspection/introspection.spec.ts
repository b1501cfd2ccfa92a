import { type Account, type FrontDoor, startFrontDoor } from '@parley/testing/front-door';
import { GatewayModule } from '../../../gateway/src/gateway.module';
import { AdminModule } from '../admin.module';

let door: FrontDoor;
let alice: Account;
let botId: string;
let key: string;

beforeAll(async () => {
  door = await startFrontDoor(GatewayModule, AdminModule);
  alice = await door.newAccount();
  botId = (await alice.client.createBot({})).bot.id;
  key = (await alice.client.createBotApiKey({ botId })).value;
});

afterAll(() => door?.stop());

describe('introspection', () => {
  it('returns the workspace of a bot and the account of the caller, without any header but the token', async () => {
    const carol = await door.newAccount();
    await door.addMember(alice.workspaceId, carol.accountId, 'viewer');

    const { status, json } = await door.send('POST /v1/admin/introspect', {
      headers: { authorization: `Bearer ${carol.token}` },
      json: { botId },
    });

    expect({ status, json }).toEqual({
      status: 200,
      json: { workspaceId: alice.workspaceId, botId, userId: carol.accountId },
    });
  });

  it('with a bot key returns the account that created the bot, until that is deleted', async () => {
    const [carol, client] = [await door.newAccount(), door.client(key)];
    await door.addMember(alice.workspaceId, carol.accountId, 'developer');
    const { bot } = await door.client(carol.token, alice.workspaceId).createBot({});
    const { value } = await alice.client.createBotApiKey({ botId: bot.id });

    const before = await door.client(value).introspect({ botId: bot.id });
    await carol.client.deleteAccount({});

    expect(await client.introspect({ botId })).toEqual({
      workspaceId: alice.workspaceId,
      botId,
      userId: alice.accountId,
    });
    expect(before.userId).toBe(carol.accountId);
    expect((await door.client(value).introspect({ botId: bot.id })).userId).toBe('');
  });

  it('returns the same error for a bot that the token may not read as for a missing bot', async () => {
    const [bob, carol] = await Promise.all([door.newAccount(), door.newAccount()]);
    await door.addMember(alice.workspaceId, carol.accountId, 'billing');
    const dave = await door.newAccount();
    await door.addMember(alice.workspaceId, dave.accountId, 'developer');
    const forOthers = (await alice.client.createBot({})).bot.id;
    await alice.client.updateBotAllowlist({ botId: forOthers, setting: 'SELECTED_USERS' });
    const other = (await alice.client.createBot({})).bot.id;

    for (const [client, id] of [
      [bob.client, botId],
      [carol.client, botId],
      [dave.client, forOthers],
      [alice.client, 'none'],
      [door.client(key), other],
    ] as const) {
      await expect(client.introspect({ botId: id })).rejects.toMatchObject({
        type: 'ResourceNotFound',
        message: `The bot "${id}" was not found.`,
      });
    }
  });

  it('requires a token and the id of a bot', async () => {
    const headers = { authorization: `Bearer ${alice.token}` };

    expect(await door.send('POST /v1/admin/introspect', { json: { botId } })).toMatchObject({
      status: 401,
      json: { type: 'Unauthorized' },
    });
    expect(await door.send('POST /v1/admin/introspect', { headers, json: { botId: 5 } })).toMatchObject({
      status: 400,
      json: { type: 'InvalidPayload', message: 'botId must be a string.' },
    });
    expect(
      await door.send('POST /v1/admin/introspect', {
        headers: { authorization: `Bearer ${door.operatorToken}` },
        json: { botId },
      }),
    ).toMatchObject({ status: 403, json: { type: 'Forbidden' } });
  });
});
