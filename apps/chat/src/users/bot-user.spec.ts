import { waitFor } from '@parley/testing/wait-for';
import { type ChatBot, type ChatService, failure, startChat } from '../test/chat-service';

let api: ChatService;
let bot: ChatBot;

beforeAll(async () => {
  api = await startChat();
});

afterAll(() => api?.stop());

beforeEach(async () => {
  bot = await api.newBot({ states: { note: { type: 'user', schema: { type: 'object', properties: {} } } } });
});

const rows = () => api.sql('SELECT id FROM chat."user" WHERE bot_id = $1', [bot.id]);

describe("the bot's own user", () => {
  it("creates the bot's own user once for the bot and its installations, under concurrency", async () => {
    const { id, client, asTeam } = bot;

    const replies = await Promise.all(
      Array.from({ length: 20 }, (_, n) => [
        (n % 2 ? client : asTeam).getUser({ id }),
        (n % 2 ? asTeam : client).updateUser({ id, properties: { [`p${n}`]: 'x' } }),
      ]).flat(),
    );

    expect(new Set(replies.map(({ user }) => user.createdAt)).size).toBe(1);
    expect(replies[0]!.user).toMatchObject({ id, tags: {} });
    expect(Object.keys((await client.getUser({ id })).user.properties ?? {})).toHaveLength(20);
    expect(await rows()).toHaveLength(1);
  });

  it("updates and tags the bot's own user before it was first read", async () => {
    const { id, client, asTeam } = bot;

    await asTeam.updateUser({ id, name: 'Helper', pictureUrl: 'https://a.b/c.png', tags: { id: 'U0' } });
    await client.updateUser({ id, tags: { own: 'yes' } });

    expect((await client.getUser({ id })).user).toMatchObject({
      name: 'Helper',
      pictureUrl: 'https://a.b/c.png',
      tags: { 'team:id': 'U0', own: 'yes' },
    });
    expect((await asTeam.getUser({ id })).user.tags).toEqual({ id: 'U0' });
  });

  it("finds the bot's own user by its tags before other users with the same tags", async () => {
    const { id, client, asTeam } = bot;
    await asTeam.createUser({ tags: { id: 'U0' } });
    await asTeam.updateUser({ id, tags: { id: 'U0', team: 'T' } });

    for (const tags of [{ id: 'U0' }, { id: 'U0', team: 'T' }] as Record<string, string>[]) {
      expect(await asTeam.getOrCreateUser({ tags })).toMatchObject({ user: { id }, meta: { created: false } });
    }
    expect((await client.getOrCreateUser({ tags: { 'team:id': 'U0' } })).user.id).toBe(id);
    expect((await asTeam.getOrCreateUser({ tags: { id: 'U0', team: 'X' } })).meta.created).toBe(true);
    expect((await asTeam.getOrCreateUser({ tags: { id: 'x', team: 'T' }, discriminateByTags: ['team'] })).user.id).toBe(
      id,
    );
    await asTeam.updateUser({ id, tags: { id: '' } });
    expect((await asTeam.getOrCreateUser({ tags: { id: 'U0' } })).user.id).not.toBe(id);
  });

  it("omits the bot's own user from lists of users", async () => {
    const { id, client, asTeam } = bot;
    const { user } = await asTeam.createUser({ tags: { a: '1' } });
    await asTeam.updateUser({ id, tags: { a: '1' } });
    const { conversation } = await asTeam.createConversation({ channel: 'group', tags: {} });
    const content = { conversationId: conversation.id, type: 'text', payload: { text: 'x' }, tags: {} };
    await asTeam.createMessage({ ...content, userId: user.id });
    await asTeam.createMessage({ ...content, userId: id });

    for (const list of [
      client.listUsers({}),
      client.listUsers({ sortField: 'updatedAt' }),
      client.listUsers({ tags: { 'team:a': '1' } }),
      client.listUsers({ conversationId: conversation.id }),
      asTeam.listUsers({}),
      asTeam.listUsers({ tags: { a: '1' }, sortField: 'updatedAt' }),
    ]) {
      expect((await list).users.map((found) => found.id)).toEqual([user.id]);
    }
    const { participants } = await client.listParticipants({ id: conversation.id });
    expect(participants.map((found) => found.id)).toEqual([user.id]);
  });

  it("writes outgoing messages of the bot's own user without an event, for bot and integrations", async () => {
    const { id, client, asTeam } = bot;
    await asTeam.updateUser({ id, name: 'Helper' });
    const { conversation } = await asTeam.createConversation({ channel: 'group', tags: {} });
    const content = { userId: id, conversationId: conversation.id, type: 'text', payload: { text: 'x' }, tags: {} };

    const written = [
      (await client.createMessage(content)).message,
      (await asTeam.createMessage(content)).message,
      (await asTeam.getOrCreateMessage({ ...content, tags: { id: 'M1' } })).message,
      ...(
        await asTeam.importMessages({
          messages: [{ ...content, createdAt: '2026-01-01T00:00:00.000Z', discriminateByTags: [] }],
        })
      ).messages,
    ];

    expect(written.map(({ direction, userId }) => [direction, userId])).toEqual(Array(4).fill(['outgoing', id]));
    expect((await client.listEvents({ conversationId: conversation.id })).events).toEqual([]);
  });

  it("accepts the bot's own user as owner and as acting user before it was first read", async () => {
    const { id, client, asTeam } = bot;
    const headers = { ...api.headersOf(id), 'x-user-id': id };

    expect((await client.setState({ type: 'user', id, name: 'note', payload: { a: 1 } })).state.payload).toEqual({
      a: 1,
    });
    expect((await client.getState({ type: 'user', id, name: 'note' })).state.payload).toEqual({ a: 1 });
    expect((await client.createEvent({ type: 'made', payload: {}, userId: id })).event.userId).toBe(id);
    expect((await asTeam.createEvent({ type: 'made', payload: {}, userId: id })).event.userId).toBe(id);
    expect((await api.send('GET /v1/chat/users', { headers })).status).toBe(200);
    expect(await rows()).toEqual([]);
    const { workflow } = await client.createWorkflow({ name: 'w', status: 'pending', userId: id });
    expect(workflow.userId).toBe(id);
  });

  it("refuses to delete the bot's own user, or to add it as a participant", async () => {
    const { id, client, asTeam } = bot;
    const { conversation } = await asTeam.createConversation({ channel: 'group', tags: {} });

    for (const client of [bot.client, asTeam]) {
      expect(await failure(client.deleteUser({ id }))).toEqual({
        type: 'ReferenceConstraint',
        message: `Cannot delete user "${id}": it is the bot itself and is deleted with the bot.`,
      });
      expect((await failure(client.addParticipant({ id: conversation.id, userId: id }))).type).toBe('InvalidPayload');
    }
    expect((await client.getUser({ id })).user.id).toBe(id);
  });

  it('returns the 404 of an unknown user for the user of another bot', async () => {
    const other = await api.newBot();
    await bot.client.updateUser({ id: bot.id, tags: { a: '1' } });

    for (const client of [other.client, other.asTeam]) {
      const missing = { type: 'ResourceNotFound', message: `The user "${bot.id}" was not found.` };
      expect(await failure(client.getUser({ id: bot.id }))).toEqual(missing);
      expect(await failure(client.updateUser({ id: bot.id, name: 'x' }))).toEqual(missing);
      expect(await failure(client.deleteUser({ id: bot.id }))).toEqual(missing);
      expect((await client.getOrCreateUser({ tags: { a: '1' } })).meta.created).toBe(true);
    }
    expect((await failure(other.client.createEvent({ type: 'x', payload: {}, userId: bot.id }))).type).toBe(
      'ReferenceNotFound',
    );
    expect((await failure(other.client.getState({ type: 'user', id: bot.id, name: 'note' }))).type).toBe(
      'ResourceNotFound',
    );
    expect(await api.sql('SELECT id FROM chat."user" WHERE bot_id = $1 AND id = $2', [other.id, bot.id])).toEqual([]);
  });

  it("deletes the bot's own user with the bot", async () => {
    await bot.client.updateUser({ id: bot.id, tags: { a: '1' } });

    await api.alice.client.deleteBot({ id: bot.id });

    const left = () =>
      api.sql('SELECT id FROM chat."user" WHERE bot_id = $1 UNION ALL SELECT name FROM chat.tag WHERE bot_id = $1', [
        bot.id,
      ]);
    await waitFor(left, (found) => found.length === 0);
  });
});
