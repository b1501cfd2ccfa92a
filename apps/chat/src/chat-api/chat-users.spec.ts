import { createHmac } from 'node:crypto';
import { Client } from '@botpress/chat';
import { waitFor } from '@parley/testing/wait-for';
import { type ChatService, startChat } from '../test/chat-service';
import { type ChatApi, configureChat, newChatApi } from '../test/chat-api';

let api: ChatService;
let endpoint: ChatApi;

beforeAll(async () => {
  api = await startChat({ chatEncryptionKey: 'shared by all' });
  endpoint = await newChatApi(api);
});

afterAll(() => api?.stop());

function keyOf(id: unknown, secret = 'shared by all', more: object = {}): string {
  const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const body = `${encode({ alg: 'HS256' })}.${encode({ id, ...more })}`;
  return `${body}.${createHmac('sha256', secret).update(body).digest('base64url')}`;
}

const userId = /^user_[0-9A-HJKMNP-TV-Z]{26}$/;
const isoTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

describe('the chat endpoint', () => {
  it.each(['hello', 'hello/'])('answers %s of the chat API without a user key', async (path) => {
    expect(await endpoint.send(`GET /${path}`)).toMatchObject({ status: 200, json: {} });
  });

  it.each(['GET hello', 'GET hello/', 'POST users', 'GET users/me', 'GET conversations', 'POST messages'])(
    'returns 404 for the unknown webhook id %s',
    async (line) => {
      const [method, path] = line.split(' ');
      const body = method === 'POST' ? { json: { payload: { type: 'text', text: 'a' }, conversationId: 'x' } } : {};

      const reply = await api.send(`${method} /chat/webhook_none/${path}`, {
        headers: { 'x-user-key': keyOf('ada') },
        ...body,
      });

      expect(reply).toMatchObject({ status: 404, json: { type: 'ResourceNotFound', code: 404 } });
      expect(Object.keys(reply.json as object).sort()).toEqual(['code', 'id', 'message', 'type']);
    },
  );

  it('returns 404 for the webhook of another integration', async () => {
    const { bot } = await api.alice.client.getBot({ id: endpoint.bot.id });
    const { webhookId } = Object.values(bot.integrations).find(({ name }) => name === 'slack')!;

    expect(await api.send(`GET /chat/${webhookId}/hello`)).toMatchObject({ status: 404 });
  });

  it('makes the public client report a wrong webhook id', async () => {
    const client = new Client({ apiUrl: `${endpoint.url}1234` });

    await expect(client.createUser({})).rejects.toThrow('Failed to connect');
  });

  it('returns 404 while the chat is disabled and 403 while the bot is blocked', async () => {
    const other = await newChatApi(api);

    await configureChat(api, other.bot.id, { enabled: false });
    const disabled = await waitFor(
      () => other.send('GET /hello'),
      ({ status }) => status !== 200,
    );
    await configureChat(api, other.bot.id, { enabled: true });
    const enabled = await waitFor(() => other.send('GET /hello'));
    await api.alice.client.updateBot({ id: other.bot.id, blocked: true });
    const blocked = await waitFor(
      () => other.send('GET /hello'),
      ({ status }) => status !== 200,
    );

    expect([disabled.status, enabled.status, blocked.status]).toEqual([404, 200, 403]);
  });

  it('allows CORS requests of any origin with the user key header', async () => {
    const { status, headers } = await api.send(`OPTIONS /chat/${endpoint.webhookId}/users/me`, {
      headers: {
        origin: 'https://shop.example',
        'access-control-request-method': 'GET',
        'access-control-request-headers': 'x-user-key',
      },
    });

    expect(status).toBeLessThan(300);
    expect(headers['access-control-allow-origin']).toBe('https://shop.example');
    expect(headers['access-control-allow-headers']).toContain('x-user-key');
  });
});

describe('a user', () => {
  it('creates a user with a key that works at once', async () => {
    const { user, key } = await endpoint.client.createUser({
      name: 'Ada',
      pictureUrl: 'https://example.com/ada.png',
      profile: '{"likes":"tea"}',
    });

    expect(user).toEqual({
      id: expect.stringMatching(userId) as string,
      name: 'Ada',
      pictureUrl: 'https://example.com/ada.png',
      profile: '{"likes":"tea"}',
      createdAt: expect.stringMatching(isoTime) as string,
      updatedAt: expect.stringMatching(isoTime) as string,
    });
    expect((await endpoint.client.getUser({ 'x-user-key': key })).user).toEqual(user);
    expect(JSON.parse(Buffer.from(key.split('.')[1]!, 'base64url').toString())).toMatchObject({
      id: user.id,
      bot: endpoint.bot.id,
    });
  });

  it('omits unset fields of a user in the reply', async () => {
    const { status, json } = await endpoint.send('POST /users', { json: { name: '' } });

    expect(status).toBe(201);
    expect(Object.keys((json as { user: object }).user).sort()).toEqual(['createdAt', 'id', 'updatedAt']);
  });

  it('returns the foreign id of a user in every reply, and finds it by both of its ids', async () => {
    const { user, key } = await endpoint.client.createUser({ id: 'a/b\\c_d-1' });
    const own = JSON.parse(Buffer.from(key.split('.')[1]!, 'base64url').toString()) as { id: string };

    for (const id of [user.id, own.id]) {
      const { user: found } = await endpoint.client.getUser({ 'x-user-key': keyOf(id) });
      expect(found).toEqual(user);
    }
    expect(user.id).toBe('a/b\\c_d-1');
    expect(own.id).toMatch(userId);
  });

  it('shows a user to the bot with its foreign id and profile as tags', async () => {
    const { key } = await endpoint.client.createUser({ id: 'tagged', profile: 'first' });
    await endpoint.client.updateUser({ 'x-user-key': key, profile: 'second' });

    const { users } = await endpoint.bot.client.listUsers({ tags: { 'chat:fid': 'tagged', 'chat:profile': 'second' } });

    expect(users.map(({ tags }) => tags)).toEqual([{ 'chat:fid': 'tagged', 'chat:profile': 'second' }]);
    expect((await endpoint.bot.client.listUsers({ tags: { 'chat:profile': 'first' } })).users).toEqual([]);
  });

  it.each([
    ['too long', 'a'.repeat(71)],
    ['empty', ''],
    ['with a plus', 'a+b'],
    ['with a space', 'a b'],
    ['with a letter of another alphabet', 'ädä'],
    ['with a line break at its end', 'ada\n'],
  ])('rejects a user with a foreign id that is %s', async (_name, id) => {
    const problem = {
      status: 400,
      json: { type: 'InvalidPayload', message: expect.stringContaining('1 to 70') as string },
    };

    expect(await endpoint.send('POST /users', { json: { id } })).toMatchObject(problem);
    if (id !== '')
      expect(await endpoint.send('POST /users/get-or-create', { key: keyOf(id), json: {} })).toMatchObject(problem);
  });

  it('accepts a profile of a user that is longer than a tag', async () => {
    const [short, long] = ['a'.repeat(500), 'a'.repeat(600)];
    const { key, user } = await endpoint.client.createUser({ profile: long });
    const [listed] = (await endpoint.bot.client.listUsers({})).users;
    const tagsOf = async () => (await endpoint.bot.client.getUser({ id: listed!.id })).user.tags;

    const hidden = await tagsOf();
    await endpoint.client.updateUser({ 'x-user-key': key, profile: short });
    const shown = await tagsOf();
    await endpoint.client.updateUser({ 'x-user-key': key, profile: long });

    expect([listed!.id, user.profile]).toEqual([user.id, long]);
    expect([hidden, shown, await tagsOf()]).toEqual([{}, { 'chat:profile': short }, {}]);
    expect((await endpoint.client.getUser({ 'x-user-key': key })).user.profile).toBe(long);
  });

  it('accepts a foreign id of a user with 70 characters, once', async () => {
    const id = 'x'.repeat(70);
    await endpoint.client.createUser({ id });

    await expect(endpoint.client.createUser({ id })).rejects.toMatchObject({ type: 'AlreadyExists' });
    const other = await newChatApi(api);
    await expect(other.client.createUser({ id })).resolves.toMatchObject({ user: { id } });
  });

  it('rejects the id of another user or of the bot as foreign id', async () => {
    const { user } = await endpoint.client.createUser({});
    const { user: ofBot } = await endpoint.bot.client.createUser({ tags: {} });

    for (const id of [user.id, ofBot.id, endpoint.bot.id]) {
      await expect(endpoint.client.createUser({ id })).rejects.toMatchObject({ type: 'AlreadyExists' });
    }
    await expect(endpoint.client.getOrCreateUser({ 'x-user-key': keyOf(endpoint.bot.id) })).rejects.toMatchObject({
      type: 'AlreadyExists',
    });
    await expect(endpoint.client.getUser({ 'x-user-key': keyOf(ofBot.id) })).rejects.toMatchObject({
      type: 'Unauthorized',
    });
  });

  it('finds or creates a user by the id in its key, and updates the given fields', async () => {
    const key = keyOf('grace');

    const first = (await endpoint.client.getOrCreateUser({ 'x-user-key': key, name: 'Grace' })).user;
    const second = (await endpoint.client.getOrCreateUser({ 'x-user-key': key, profile: 'navy' })).user;
    const third = (await endpoint.client.getOrCreateUser({ 'x-user-key': key })).user;

    expect(first).toMatchObject({ id: 'grace', name: 'Grace' });
    expect(second).toMatchObject({ id: 'grace', name: 'Grace', profile: 'navy', createdAt: first.createdAt });
    expect(third).toEqual(second);
  });

  it('creates a user once for concurrent getOrCreate requests', async () => {
    const names = Array.from({ length: 100 }, (_, index) => `name ${index}`);

    const replies = await Promise.all(
      names.map((name) => endpoint.client.getOrCreateUser({ 'x-user-key': keyOf('many'), name })),
    );

    expect(new Set(replies.map(({ user }) => user.createdAt)).size).toBe(1);
    const rows = await api.sql(`SELECT 1 FROM chat."user" WHERE bot_id = $1 AND foreign_id = 'many'`, [
      endpoint.bot.id,
    ]);
    expect(rows).toHaveLength(1);
  });

  it('keeps fields of a user that an update leaves out', async () => {
    const client = await endpoint.newUser();
    await client.updateUser({ name: 'Ada', pictureUrl: 'https://example.com/a.png', profile: 'p' });

    const { user } = await client.updateUser({ name: 'Ada L.' });

    expect(user).toMatchObject({ name: 'Ada L.', pictureUrl: 'https://example.com/a.png', profile: 'p' });
    expect(user.updatedAt > user.createdAt).toBe(true);
    expect((await client.getUser({})).user).toEqual(user);
  });

  it('deletes a user, whose old key gives no access to a new user with the same foreign id', async () => {
    const { key } = await endpoint.client.createUser({ id: 'leaving' });

    expect(await endpoint.client.deleteUser({ 'x-user-key': key })).toEqual({});

    await expect(endpoint.client.getUser({ 'x-user-key': key })).rejects.toMatchObject({ type: 'Unauthorized' });
    await expect(endpoint.client.deleteUser({ 'x-user-key': key })).rejects.toMatchObject({ type: 'Unauthorized' });
    const { user } = await endpoint.client.createUser({ id: 'leaving' });
    expect(user.id).toBe('leaving');
    await expect(endpoint.client.getUser({ 'x-user-key': key })).rejects.toMatchObject({ type: 'Unauthorized' });
  });

  it('removes a deleted user from all its conversations, and ends its streams', async () => {
    const client = await endpoint.newUser('parting');
    const own = endpoint.bot.client;
    const [mine, named] = await Promise.all([
      client.createConversation({}),
      client.createConversation({ id: 'left/behind' }),
    ]);
    const { conversations } = await own.listConversations({ tags: { 'chat:fid': 'left/behind' } });
    const streams = await Promise.all([mine.conversation.id, conversations[0]!.id].map((id) => endpoint.listen(id)));
    const [user] = (await own.listUsers({ tags: { 'chat:fid': 'parting' } })).users;

    await client.deleteUser({});

    for (const [index, { heard, frames }] of streams.entries()) {
      const conversationId = [mine, named][index]!.conversation.id;
      const data = { conversationId, participantId: 'parting' };
      expect(frames()).toEqual([{ type: 'participant_removed', data }]);
      expect(heard).toMatchObject([{ number: 1, closes: user!.id }]);
    }
  });
});

describe('a user key', () => {
  it('returns 401 without a user key', async () => {
    expect(await endpoint.send('GET /users/me')).toMatchObject({
      status: 401,
      json: { type: 'Unauthorized', message: expect.stringContaining('x-user-key') as string },
    });
  });

  it.each<[string, () => string]>([
    ['malformed', () => 'nonsense'],
    ['forged', () => keyOf('ada', 'a guess')],
    ['of the algorithm none', () => `${Buffer.from('{"alg":"none"}').toString('base64url')}.eyJpZCI6ImFkYSJ9.`],
    ['of another bot', () => keyOf('ada', undefined, { bot: '6b1c0ac4-3f0d-4d0e-9d36-1f4f0d5f5f5f' })],
    ['without an id', () => keyOf(undefined)],
    ['with a number as id', () => keyOf(1)],
  ])('rejects a user key in every operation when it is %s', async (_name, key) => {
    await endpoint.client.getOrCreateUser({ 'x-user-key': keyOf('ada') });
    const lines = [
      'POST /users/get-or-create',
      'GET /users/me',
      'PUT /users/me',
      'DELETE /users/me',
      'POST /conversations',
      'GET /conversations',
      'GET /conversations/x',
      'GET /conversations/x/messages',
      'GET /conversations/x/participants',
      'GET /messages/x',
      'DELETE /messages/x',
      'GET /events/x',
    ];

    for (const line of lines) {
      const reply = await endpoint.send(line, { key: key(), json: line.startsWith('GET') ? undefined : {} });
      expect({ line, status: reply.status }).toEqual({ line, status: 401 });
      expect(reply.json).toMatchObject({ type: 'Unauthorized', code: 401 });
    }
  });

  it('rejects the user key of another bot', async () => {
    const other = await newChatApi(api);
    const { key } = await other.client.createUser({ id: 'both' });
    await endpoint.client.createUser({ id: 'both' });

    await expect(endpoint.client.getUser({ 'x-user-key': key })).rejects.toMatchObject({ type: 'Unauthorized' });
  });

  it('rejects a key without a user in all operations but getOrCreateUser, even with an unusual id', async () => {
    for (const id of ['nobody', '%', "'; DROP TABLE", 'x'.repeat(5_000)]) {
      expect(await endpoint.send('GET /users/me', { key: keyOf(id) })).toMatchObject({
        status: 401,
        json: { message: expect.stringContaining('getOrCreateUser') as string },
      });
    }
  });

  it('rejects a user key with an id that is not allowed', async () => {
    expect(await endpoint.send('GET /users/me', { key: keyOf('no\u0000body') })).toMatchObject({
      status: 401,
      json: { message: expect.stringContaining('The user key is not valid for this bot') as string },
    });
  });
});

describe('a bot that gets and loses an encryption key', () => {
  it('applies the newest encryption key of a bot at once, in spite of the cache', async () => {
    const encryptionKey = 'a key that is new';
    const shop = await newChatApi(api);
    await Client.connect({ apiUrl: shop.url });

    await configureChat(api, shop.bot.id, { configuration: { encryptionKey } });
    const named = await Client.connect({ apiUrl: shop.url, encryptionKey, userId: 'ann' });
    await configureChat(api, shop.bot.id, { configuration: {} });
    const created = await Client.connect({ apiUrl: shop.url, userId: 'bob' });

    expect([named.user.id, created.user.id]).toEqual(['ann', 'bob']);
  });
});

describe('a bot with an encryption key of its own', () => {
  const encryptionKey = 'only the shop knows';
  let shop: ChatApi;

  beforeAll(async () => {
    shop = await newChatApi(api, encryptionKey);
    await waitFor(async () => (await shop.send('POST /users', { json: {} })).status === 401);
  });

  it("accepts user keys signed with the bot's own encryption key", async () => {
    const client = await Client.connect({ apiUrl: shop.url, userId: 'customer-1', encryptionKey });

    expect(client.user.id).toBe('customer-1');
    expect((await client.getUser({})).user.id).toBe('customer-1');
    const again = await Client.connect({ apiUrl: shop.url, userKey: client.user.key });
    expect(again.user).toEqual(client.user);
  });

  it('refuses createUser for a bot with its own encryption key', async () => {
    await expect(shop.client.createUser({})).rejects.toMatchObject({
      type: 'Unauthorized',
      message: expect.stringContaining('encryption key') as string,
    });
  });

  it('rejects user keys signed with the shared key for a bot with its own', async () => {
    await Client.connect({ apiUrl: shop.url, userId: 'customer-2', encryptionKey });

    await expect(shop.client.getUser({ 'x-user-key': keyOf('customer-2') })).rejects.toMatchObject({
      type: 'Unauthorized',
    });
  });
});
