import type { Client } from '@botpress/client';
import { type ChatBot, type ChatService, failure, startChat } from '../test/chat-service';

let api: ChatService;
let bot: ChatBot;
let client: Client;
let asTeam: Client;

beforeAll(async () => {
  api = await startChat();
  bot = await api.newBot();
  ({ client, asTeam } = bot);
});

afterAll(() => api?.stop());

async function valuesOf(key: string, type: 'user' | 'conversation' | 'message' = 'user', of = client) {
  return (await of.listTagValues({ key, type })).tags.map(({ value }) => value);
}

describe('listTagValues', () => {
  it('lists each value of a tag once, in order', async () => {
    for (const plan of ['pro', 'free', 'pro', 'Éclair', 'free']) await client.createUser({ tags: { plan } });

    expect(await valuesOf('plan')).toEqual(['free', 'pro', 'Éclair']);
  });

  it('lists values of a tag for one type of object', async () => {
    await client.createUser({ tags: { place: 'user' } });
    await client.createConversation({ channel: 'channel', tags: { place: 'conversation' } });

    expect(await valuesOf('place', 'user')).toEqual(['user']);
    expect(await valuesOf('place', 'conversation')).toEqual(['conversation']);
    expect(await valuesOf('place', 'message')).toEqual([]);
  });

  it('lists values of a tag after updates and deletions of objects', async () => {
    const { user } = await client.createUser({ tags: { mood: 'good' } });

    await client.updateUser({ id: user.id, tags: { mood: 'better' } });

    expect(await valuesOf('mood')).toEqual(['better']);
    await client.deleteUser({ id: user.id });
    expect(await valuesOf('mood')).toEqual([]);
  });

  it('lists tags of an integration as alias:name for the bot and by name for the integration', async () => {
    await asTeam.createUser({ tags: { handle: 'ann' } });
    await client.createUser({ tags: { handle: 'bob' } });

    expect(await valuesOf('handle', 'user', asTeam)).toEqual(['ann']);
    expect(await valuesOf('handle')).toEqual(['bob']);
    expect(await valuesOf('team:handle')).toEqual(['ann']);
    expect(await valuesOf('team:handle', 'user', asTeam)).toEqual([]);
  });

  it('lists no values of a tag to another bot', async () => {
    await client.createUser({ tags: { secret: 'x' } });
    const other = await api.newBot();

    expect(await valuesOf('secret', 'user', other.client)).toEqual([]);
  });

  it('lists long values of a tag in full, page by page', async () => {
    const values = ['a', 'b', 'ü'.repeat(499) + 'a', 'ü'.repeat(499) + 'b', 'ü'.repeat(500)];
    for (const long of [...values, ...values]) await client.createUser({ tags: { long } });

    const seen: string[] = [];
    let nextToken: string | undefined;
    do {
      const page = await client.listTagValues({ key: 'long', type: 'user', pageSize: 2, nextToken });
      seen.push(...page.tags.map(({ value }) => value));
      nextToken = page.meta.nextToken;
    } while (nextToken);

    expect(seen.slice(0, 2)).toEqual(['a', 'b']);
    expect(seen.toSorted()).toEqual(values.toSorted());
  });

  it('accepts a key of a tag with characters that are special in a path', async () => {
    await client.createUser({ tags: { 'a/b c%?': 'x' } });

    expect(await valuesOf('a/b c%?')).toEqual(['x']);
  });

  it('rejects a list of tag values without a type, or with a type that has no tags', async () => {
    const ask = async (query: string) =>
      (await api.send(`GET /v1/chat/tags/a/values${query}`, { headers: api.headersOf(bot.id) })).json;

    expect(await ask('')).toMatchObject({ type: 'InvalidQuery', message: expect.stringContaining('type') });
    expect(await ask('?type=event')).toMatchObject({ type: 'InvalidQuery', message: expect.stringContaining('type') });
  });

  it('rejects a nextToken of another list of tag values', async () => {
    for (const a of ['1', '2']) await client.createUser({ tags: { a, b: a } });
    const { meta } = await client.listTagValues({ key: 'a', type: 'user', pageSize: 1 });

    const of = (key: string, type: 'user' | 'message') =>
      failure(client.listTagValues({ key, type, pageSize: 1, nextToken: meta.nextToken }));

    expect((await of('b', 'user')).type).toBe('InvalidQuery');
    expect((await of('a', 'message')).type).toBe('InvalidQuery');
    expect((await of('a', 'user')).type).toBe('none');
  });
});
