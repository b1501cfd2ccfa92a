import { admin } from '@parley/contracts/admin/admin';
import { systemCaller } from '@parley/contracts/caller';
import { hashToken } from '@parley/secrets/token';
import { type Account, configured, type PublicApi, startPublicApi } from '@parley/testing/public-api';
import { AdminModule } from '../../../admin/src/admin.module';
import { GatewayModule } from '../../../gateway/src/gateway.module';
import { ChatModule } from '../chat.module';
import { ChatConfig } from '../config';

let api: PublicApi;
let alice: Account;
let botId: string;
let userId: string;

beforeAll(async () => {
  api = await startPublicApi(GatewayModule, AdminModule, configured(ChatModule, ChatConfig));
  alice = await api.newAccount();
  botId = await newBot();
  userId = await newUser(botId);
});

afterAll(() => api?.stop());

async function newBot() {
  return (await alice.client.createBot({})).bot.id;
}

async function newUser(bot: string) {
  return (await api.client(alice.token, alice.workspaceId, bot).createUser({ tags: {} })).user.id;
}

function send(line: string, headers: Record<string, string>, token = alice.token) {
  return api.send(line, { headers: { authorization: `Bearer ${token}`, 'x-bot-id': botId, ...headers } });
}

async function identify(token: string, user: string) {
  const kind = token.startsWith('bp_bak_') ? 'bak' : 'pat';
  const question = { tokenHash: hashToken(token), kind, botId, userId: user } as const;
  return (await api.call(admin.identity.identify, systemCaller('test'), question)).caller;
}

const refusal = (message: string) => ({
  status: 403,
  json: { id: expect.any(String), code: 403, type: 'Forbidden', message },
});

describe('the acting user of a request', () => {
  it('reads the acting user from the header x-user-id, with a personal token or a bot API key', async () => {
    const { value } = await alice.client.createBotApiKey({ botId });

    expect(await identify(alice.token, userId)).toMatchObject({
      credential: 'pat',
      bot: { id: botId },
      user: { id: userId },
    });
    expect(await identify(value, userId)).toMatchObject({ credential: 'bak', user: { id: userId } });
    expect((await send(`GET /v1/chat/users/${userId}`, { 'x-user-id': userId }, value)).status).toBe(200);
  });

  it('sets no acting user if the header is absent or empty', async () => {
    expect((await send('GET /v1/chat/users', {})).status).toBe(200);
    expect((await send('GET /v1/chat/users', { 'x-user-id': '' })).status).toBe(200);
  });

  it('rejects an acting user with the same 403 if it is unknown and if it belongs to another bot', async () => {
    const foreign = await newUser(await newBot());

    for (const id of ['user_none', foreign, 'x'.repeat(2000), '\x80\xff', '__proto__']) {
      expect(await send('GET /v1/chat/users', { 'x-user-id': id })).toMatchObject(
        refusal(`x-user-id "${id}" is not a user of this bot.`),
      );
    }
  });

  it('rejects an acting user with 403 after its deletion', async () => {
    const gone = await newUser(botId);
    expect(await identify(alice.token, gone)).toMatchObject({ user: { id: gone } });

    await api.client(alice.token, alice.workspaceId, botId).deleteUser({ id: gone });

    await expect(identify(alice.token, gone)).rejects.toMatchObject({ type: 'Forbidden' });
  });

  it('gives no access to a bot by the acting user that the token may not use, nor reveals its users', async () => {
    const mallory = await api.newAccount();

    for (const id of [userId, 'user_none']) {
      expect(await send('GET /v1/chat/users', { 'x-user-id': id }, mallory.token)).toMatchObject(
        refusal(`x-bot-id "${botId}" was not found, or this token has no access to it.`),
      );
    }
  });

  it.each(['GET /v1/tables', 'GET /v1/files', 'DELETE /v1/files/file_x'])(
    'checks the acting user for %s',
    async (line) => {
      // 503: the check passed, and no service handles tables and files here.
      expect((await send(line, { 'x-user-id': userId })).status).toBe(503);
      expect((await send(line, { 'x-user-id': 'user_none' })).status).toBe(403);
      expect((await send(line, { 'x-user-id': userId }, 'bp_pat_none')).status).toBe(401);
    },
  );
});

it('returns 503 with retry-after for x-user-id while the chat service is not available', async () => {
  const alone = await startPublicApi(GatewayModule, AdminModule);
  const { client, token } = await alone.newAccount();
  const { bot } = await client.createBot({});
  const headers = { authorization: `Bearer ${token}`, 'x-bot-id': bot.id };

  try {
    const reply = await alone.send('GET /v1/tables', { headers: { ...headers, 'x-user-id': 'user_x' } });

    expect(reply).toMatchObject({ status: 503, headers: { 'retry-after': expect.any(String) } });
  } finally {
    await alone.stop();
  }
});
