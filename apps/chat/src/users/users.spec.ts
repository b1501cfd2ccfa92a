import type { Client } from '@botpress/client';
import { type ChatService, failure, startChat } from '../test/chat-service';

let api: ChatService;
let botId: string;
let client: Client;
let asTeam: Client;

beforeAll(async () => {
  api = await startChat();
  ({ id: botId, client, asTeam } = await api.newBot());
});

afterAll(() => api?.stop());

describe('a user', () => {
  it('returns the fields with which a user was created, and merges attributes into properties', async () => {
    const { user } = await client.createUser({
      name: 'Ann',
      pictureUrl: 'https://example.com/ann.png',
      tags: { plan: 'gold', none: '' },
      properties: { city: 'Rome' },
      attributes: { city: 'Oslo', street: 'High' },
    });

    const got = (await client.getUser({ id: user.id })).user;

    expect(got).toEqual(user);
    expect(user).toMatchObject({
      id: expect.stringMatching(/^user_/),
      name: 'Ann',
      pictureUrl: 'https://example.com/ann.png',
      tags: { plan: 'gold' },
      properties: { city: 'Rome', street: 'High' },
      attributes: { city: 'Rome', street: 'High' },
    });
    expect(user.createdAt).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  });

  it('merges tags and properties of a user on update; null removes, and the empty string removes tags', async () => {
    const { user } = await client.createUser({ name: 'Ann', tags: { a: '1', b: '2' }, properties: { x: '1', y: '2' } });

    const { user: updated } = await client.updateUser({
      id: user.id,
      name: null,
      tags: { a: null, b: '', c: '3' },
      properties: { x: null, z: '' },
    });

    expect(updated).toMatchObject({ tags: { c: '3' }, properties: { y: '2', z: '' } });
    expect(updated.name).toBeUndefined();
    expect(updated.updatedAt > user.updatedAt).toBe(true);
    expect((await client.listUsers({ tags: { c: '3' } })).users).toEqual([updated]);
    expect((await client.listUsers({ tags: { b: '2' } })).users).toEqual([]);
  });

  it('limits properties of a user to 32 KB in total', async () => {
    const { user } = await client.createUser({ tags: {}, properties: { a: 'é'.repeat(8_000), b: 'b'.repeat(10_000) } });
    const tooLarge = {
      type: 'InvalidPayload',
      message: 'properties must be at most 32768 bytes of JSON in total, including stored ones.',
    };

    const { user: fits } = await client.updateUser({ id: user.id, properties: { c: 'c'.repeat(6_000) } });

    expect(await failure(client.updateUser({ id: user.id, properties: { d: 'd'.repeat(1_000) } }))).toEqual(tooLarge);
    expect(
      await failure(client.createUser({ tags: {}, properties: { ...fits.properties, d: 'd'.repeat(1_000) } })),
    ).toEqual(tooLarge);
    expect((await client.getUser({ id: user.id })).user).toEqual(fits);
  });

  it('keeps all tags of concurrent updates of a user', async () => {
    const { user } = await client.createUser({ tags: {} });
    const names = Array.from({ length: 12 }, (_, index) => `tag${index}`);

    await Promise.all(names.map((name) => client.updateUser({ id: user.id, tags: { [name]: name } })));

    expect((await client.getUser({ id: user.id })).user.tags).toEqual(
      Object.fromEntries(names.map((name) => [name, name])),
    );
  });

  it('returns 404 for a deleted user, and removes it from conversations', async () => {
    const { user } = await client.createUser({ tags: { kind: 'deleted' } });
    const { conversation } = await client.createConversation({ channel: 'channel', tags: {} });
    await client.addParticipant({ id: conversation.id, userId: user.id });

    await client.deleteUser({ id: user.id });

    expect((await failure(client.getUser({ id: user.id }))).type).toBe('ResourceNotFound');
    expect((await client.listParticipants({ id: conversation.id })).participants).toEqual([]);
    expect((await client.listUsers({ tags: { kind: 'deleted' } })).users).toEqual([]);
    expect((await failure(client.deleteUser({ id: user.id }))).type).toBe('ResourceNotFound');
  });

  it('removes a deleted user from all conversations, even with concurrent joins and messages', async () => {
    const headers = api.headersOf(botId);
    const newConversations = (channel: string) =>
      Promise.all(
        Array.from({ length: 3 }, async () => (await client.createConversation({ channel, tags: {} })).conversation.id),
      );
    const conversationIds = [...(await newConversations('channel')), ...(await newConversations('group'))];
    const join = (id: string, userId: string) =>
      api.send(`POST /v1/chat/conversations/${id}/participants`, { headers, json: { userId } });
    const write = (conversationId: string, userId: string) =>
      api.send('POST /v1/chat/messages', {
        headers,
        json: { conversationId, userId, type: 'text', payload: { text: 'x' }, tags: {} },
      });
    const deleted: string[] = [];
    const statuses = new Set<number>();

    for (let round = 0; round < 20; round++) {
      const userId = (await client.createUser({ tags: {} })).user.id;
      const [other, ...rest] = conversationIds;
      await Promise.all([join(other!, userId), join(conversationIds.at(-1)!, userId)]);
      const replies = await Promise.all([
        ...rest.map((id) => write(id, userId)),
        api.send(`DELETE /v1/chat/users/${userId}`, { headers }),
        ...rest.flatMap((id) => [join(id, userId), write(id, userId), write(other!, userId)]),
      ]);
      replies.forEach(({ status }) => statuses.add(status));
      deleted.push(userId);
    }

    expect([...statuses].filter((status) => status >= 500)).toEqual([]);
    expect(
      await api.sql('SELECT user_id, conversation_id FROM chat.participant WHERE user_id = ANY ($1)', [deleted]),
    ).toEqual([]);
    for (const { id, count, last } of await api.sql<{ id: string; count: number; last: string }>(
      `SELECT conversation_id AS id, message_count AS count, signal_count::int AS last FROM chat.conversation_clock
       WHERE conversation_id = ANY ($1)`,
      [conversationIds],
    )) {
      const [found] = await api.sql(
        `SELECT (SELECT count(*)::int FROM chat.message WHERE conversation_id = $1) AS count,
           (SELECT count(*)::int FROM chat.signal WHERE conversation_id = $1) AS last`,
        [id],
      );
      expect(found).toEqual({ count, last });
    }
  });

  it('returns 404 for a user of another bot', async () => {
    const other = await api.newBot();
    const { user } = await client.createUser({ tags: {} });

    const foreign = await failure(other.client.getUser({ id: user.id }));
    const absent = await failure(other.client.getUser({ id: 'user_none' }));

    expect(foreign).toEqual({ type: 'ResourceNotFound', message: `The user "${user.id}" was not found.` });
    expect(absent).toEqual({ type: 'ResourceNotFound', message: 'The user "user_none" was not found.' });
    expect((await failure(other.client.updateUser({ id: user.id, name: 'x' }))).type).toBe('ResourceNotFound');
    expect((await failure(other.client.deleteUser({ id: user.id }))).type).toBe('ResourceNotFound');
    expect((await other.client.listUsers({})).users).toEqual([]);
  });

  it('rejects a user for an integration that is not installed', async () => {
    expect(await failure(client.createUser({ tags: {}, integrationName: 'telegram' }))).toEqual({
      type: 'ReferenceNotFound',
      message: 'integrationName "telegram" not found: no such integration is installed in this bot.',
    });
  });
});

describe('getOrCreateUser', () => {
  it('creates one user for concurrent getOrCreateUser requests', async () => {
    const replies = await Promise.all(
      Array.from({ length: 200 }, () => client.getOrCreateUser({ tags: { phone: '123' }, name: 'Bob' })),
    );

    expect(new Set(replies.map(({ user }) => user.id)).size).toBe(1);
    expect(replies.filter(({ meta }) => meta.created)).toHaveLength(1);
  });

  it('compares only the tags in discriminateByTags of getOrCreateUser, and updates no existing user', async () => {
    const first = await client.getOrCreateUser({ tags: { mail: 'a', lang: 'en' }, discriminateByTags: ['mail'] });
    const second = await client.getOrCreateUser({ tags: { mail: 'a', lang: 'de' }, discriminateByTags: ['mail'] });
    const other = await client.getOrCreateUser({ tags: { mail: 'a', lang: 'de' } });

    expect(second).toEqual({ user: first.user, meta: { created: false } });
    expect(other.meta.created).toBe(true);
  });

  it('creates a user each time for getOrCreateUser without discriminating tags', async () => {
    const replies = await Promise.all([
      client.getOrCreateUser({ tags: {} }),
      client.getOrCreateUser({ tags: { a: null } }),
      client.getOrCreateUser({ tags: { mail: 'b' }, discriminateByTags: [] }),
      client.getOrCreateUser({ tags: { mail: 'b' }, discriminateByTags: [] }),
    ]);

    expect(replies.map(({ meta }) => meta.created)).toEqual([true, true, true, true]);
  });

  it('rejects a discriminating tag of getOrCreateUser without a value', async () => {
    const reply = await failure(client.getOrCreateUser({ tags: { a: '1' }, discriminateByTags: ['b'] }));

    expect(reply).toEqual({ type: 'InvalidPayload', message: expect.stringContaining('"b"') });
  });
});

describe('an integration', () => {
  it('shows tag names of users without its alias to an integration, and with it to the bot', async () => {
    const { user } = await asTeam.createUser({ tags: { id: 'U1' } });

    await client.updateUser({ id: user.id, tags: { vip: 'yes' } });

    expect(user.tags).toEqual({ id: 'U1' });
    expect((await client.getUser({ id: user.id })).user.tags).toEqual({ 'team:id': 'U1', vip: 'yes' });
    expect((await asTeam.getUser({ id: user.id })).user.tags).toEqual({ id: 'U1' });
    expect((await asTeam.listUsers({ tags: { id: 'U1' } })).users.map(({ id }) => id)).toEqual([user.id]);
    expect((await client.listUsers({ tags: { 'team:id': 'U1' } })).users.map(({ id }) => id)).toEqual([user.id]);
  });

  it('finds a user of an integration by its own tag names, and for the bot by the prefixed names', async () => {
    const made = await asTeam.getOrCreateUser({ tags: { id: 'U2' } });

    expect(await asTeam.getOrCreateUser({ tags: { id: 'U2' } })).toEqual({ user: made.user, meta: { created: false } });
    expect((await client.getOrCreateUser({ tags: { 'team:id': 'U2' } })).user.id).toBe(made.user.id);
  });

  it('refuses an integration access to users of others', async () => {
    const { user } = await client.createUser({ tags: {} });

    expect((await failure(asTeam.getUser({ id: user.id }))).type).toBe('ResourceNotFound');
    expect((await failure(asTeam.updateUser({ id: user.id, name: 'x' }))).type).toBe('ResourceNotFound');
    expect((await asTeam.listUsers({})).users.map(({ id }) => id)).not.toContain(user.id);
  });

  it('accepts an integration named by alias or by integration, even if it is installed twice', async () => {
    const own = await api.newBot();
    await api.send(`PUT /v1/admin/bots/${own.id}`, {
      headers: { ...api.headersOf(), 'x-multiple-integrations': 'true' },
      json: { integrations: { more: { integrationId: api.integrationId } } },
    });

    const users = await Promise.all(
      ['team', 'slack'].map((integrationName) => own.asTeam.createUser({ tags: {}, integrationName })),
    );
    const { conversation } = await own.asTeam.createConversation({
      channel: 'group',
      tags: {},
      integrationName: 'slack',
    });

    for (const { user } of users) expect((await own.asTeam.getUser({ id: user.id })).user.id).toBe(user.id);
    expect(conversation.integration).toBe('team');
    expect((await own.asTeam.listConversations({ integrationName: 'slack' })).conversations).toHaveLength(1);
    expect((await failure(own.asTeam.createUser({ tags: {}, integrationName: 'more' }))).type).toBe(
      'ReferenceNotFound',
    );
    expect((await failure(own.client.createUser({ tags: {}, integrationName: 'slack' }))).type).toBe(
      'ReferenceNotFound',
    );
  });

  it('gives an integration a tag quota of its own beside that of the bot', async () => {
    const many = (prefix: string, count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, n) => [`${prefix}${n}`, 'x']));
    const { id } = (await asTeam.createUser({ tags: many('t', 50) })).user;

    const { user } = await client.updateUser({ id, tags: many('b', 50) });
    const refused = [
      await failure(asTeam.updateUser({ id, tags: { one: 'more' } })),
      await failure(client.updateUser({ id, tags: { one: 'more' } })),
      await failure(client.updateUser({ id, tags: { 'team:one': 'more' } })),
    ];
    for (const prefix of ['x:', 'y:']) await client.updateUser({ id, tags: many(prefix, 50) });
    refused.push(await failure(client.updateUser({ id, tags: { 'z:one': 'more' } })));

    expect(Object.keys(user.tags)).toHaveLength(100);
    expect(Object.keys((await asTeam.getUser({ id })).user.tags)).toHaveLength(50);
    expect(refused).toEqual(
      Array(4).fill({ type: 'InvalidPayload', message: expect.stringMatching(/^tags must have at most 50 entries/) }),
    );
  });

  it('assigns users that the bot creates with its integrationName to an integration', async () => {
    const { user } = await client.createUser({ tags: {}, integrationName: 'slack' });

    expect((await asTeam.getUser({ id: user.id })).user.id).toBe(user.id);
  });
});

describe('listUsers', () => {
  it('lists each user once, page by page, in every order, even with equal times', async () => {
    const { client: own, id } = await api.newBot();
    const made: string[] = [];
    for (let n = 0; n < 25; n++) made.push((await own.createUser({ tags: { n: String(n % 2) } })).user.id);
    await api.sql(`UPDATE chat."user" SET created_at = date_trunc('minute', created_at) WHERE bot_id = $1`, [id]);
    await api.sql(
      `UPDATE chat.tag SET created_at = date_trunc('minute', created_at) WHERE bot_id = $1 AND kind = 'user'`,
      [id],
    );

    for (const query of [
      {},
      { sortField: 'updatedAt' as const },
      { sortDirection: 'asc' as const },
      { tags: { n: '1' } },
      { tags: { n: '0' }, sortField: 'updatedAt' as const, sortDirection: 'asc' as const },
    ]) {
      const seen: string[] = [];
      for (let nextToken: string | undefined, more = true; more; more = nextToken !== undefined) {
        const page = await own.listUsers({ ...query, nextToken, pageSize: 4 });
        seen.push(...page.users.map((user) => user.id));
        nextToken = page.meta.nextToken;
      }
      const expected = made.filter((_, n) => !('tags' in query) || String(n % 2) === query.tags!.n);
      expect(new Set(seen).size).toBe(seen.length);
      expect([...seen].sort()).toEqual([...expected].sort());
    }
  });

  it('filters users by an inclusive date range', async () => {
    const { client: own } = await api.newBot();
    const { user } = await own.createUser({ tags: {} });

    const at = (time: string) => own.listUsers({ afterDate: time, beforeDate: time });

    expect((await at(user.createdAt)).users).toHaveLength(1);
    expect((await own.listUsers({ afterDate: '2090-01-01T00:00:00.000Z' })).users).toEqual([]);
    expect((await own.listUsers({ beforeDate: '2020-01-01T00:00:00.000Z', rangeField: 'updatedAt' })).users).toEqual(
      [],
    );
  });

  it('rejects an invalid nextToken of users', async () => {
    expect(await failure(client.listUsers({ nextToken: 'abc' }))).toEqual({
      type: 'InvalidQuery',
      message: expect.stringMatching(/^nextToken/),
    });
  });
});
