import { randomUUID } from 'node:crypto';
import type { Client } from '@botpress/client';
import { type ChatBot, type ChatService, failure, startChat } from '../test/chat-service';

type Text = Parameters<Client['createMessage']>[0];

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

async function newSender(of = client, channel = 'channel') {
  const { conversation } = await of.createConversation({ channel, tags: {} });
  const { user } = await of.createUser({ tags: {} });
  return { conversationId: conversation.id, userId: user.id };
}

function text(sender: Pick<Text, 'conversationId' | 'userId'>, changes: Partial<Text> = {}): Text {
  return { ...sender, type: 'text', payload: { text: 'hello' }, tags: {}, ...changes };
}

async function write(...input: Parameters<typeof text>) {
  return (await client.createMessage(text(...input))).message;
}

async function countOf(conversationId: string): Promise<number> {
  return (await client.getConversation({ id: conversationId })).conversation.messageCount;
}

async function idsOf(query: Parameters<Client['listMessages']>[0], of = client): Promise<string[]> {
  return (await of.listMessages(query)).messages.map(({ id }) => id);
}

function eventsOf(messageId: string) {
  return api.sql('SELECT type, status, payload, conversation_id, user_id FROM chat.event WHERE message_id = $1', [
    messageId,
  ]);
}

describe('a message', () => {
  it('returns the fields with which a message was created', async () => {
    const sender = await newSender();

    const message = await write(sender, { payload: { text: 'hi', deep: [{ a: null }] }, tags: { a: 'b', none: '' } });

    expect(message).toEqual({
      id: expect.stringMatching(/^msg_.{26}$/),
      createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      updatedAt: message.createdAt,
      type: 'text',
      payload: { text: 'hi', deep: [{ a: null }] },
      direction: 'incoming',
      ...sender,
      tags: { a: 'b' },
    });
    expect((await client.getMessage({ id: message.id })).message).toEqual(message);
    expect((await client.listMessages({ conversationId: sender.conversationId })).messages).toEqual([message]);
    expect(await countOf(sender.conversationId)).toBe(1);
  });

  it('creates a pending event for the bot for a message of a user', async () => {
    const { conversationId, userId } = await newSender();

    const { id } = await write({ conversationId, userId });

    expect(await eventsOf(id)).toEqual([
      { type: 'message_created', status: 'pending', payload: null, conversation_id: conversationId, user_id: userId },
    ]);
  });

  it('makes the author of a message a participant', async () => {
    const { conversationId, userId } = await newSender();

    await write({ conversationId, userId });
    await write({ conversationId, userId });

    const { participants } = await client.listParticipants({ id: conversationId });
    expect(participants.map(({ id }) => id)).toEqual([userId]);
  });

  it('writes a message of the bot as outgoing, without event and without participant', async () => {
    const { conversationId } = await newSender();

    const message = await write({ conversationId, userId: bot.id });

    expect(message.direction).toBe('outgoing');
    expect(await eventsOf(message.id)).toEqual([]);
    expect((await client.listParticipants({ id: conversationId })).participants).toEqual([]);
  });

  it('accepts a synthetic message', async () => {
    const message = await write(await newSender(), { origin: 'synthetic' });

    expect(message.origin).toBe('synthetic');
    expect((await client.getMessage({ id: message.id })).message).toEqual(message);
  });

  const someId = `user_${'0'.repeat(26)}`;
  it.each<[string, object, string, RegExp]>([
    ['a user who is not there', { userId: someId }, 'ReferenceNotFound', /^userId "user_0+" not found\.$/],
    [
      'a conversation that is not there',
      { conversationId: someId },
      'ReferenceNotFound',
      /^conversationId "user_0+" not found\.$/,
    ],
  ])('rejects a message with %s', async (_case, changes, type, message) => {
    const sender = await newSender();

    const refused = await failure(client.createMessage(text(sender, changes)));

    expect(refused).toEqual({ type, message: expect.stringMatching(message) });
    expect(await countOf(sender.conversationId)).toBe(0);
  });

  it('rejects a message to a conversation of another bot, or by its users', async () => {
    const mine = await newSender();
    const theirs = await newSender((await api.newBot()).client);

    const senders = [
      { ...mine, conversationId: theirs.conversationId },
      { ...mine, userId: theirs.userId },
    ];
    const refusals = await Promise.all(senders.map((sender) => failure(client.createMessage(text(sender)))));

    expect(refusals.map(({ type, message }) => [type, message.split(' ')[0]])).toEqual([
      ['ReferenceNotFound', 'conversationId'],
      ['ReferenceNotFound', 'userId'],
    ]);
  });

  it('returns 404 for a message of another bot', async () => {
    const { id } = await write(await newSender());
    const { client: other } = await api.newBot();

    const refusals = [other.getMessage({ id }), other.updateMessage({ id, tags: {} }), other.deleteMessage({ id })];

    for (const refused of refusals) expect((await failure(refused)).type).toBe('ResourceNotFound');
    expect(await idsOf({}, other)).toEqual([]);
    expect((await client.getMessage({ id })).message.id).toBe(id);
  });

  it('deletes a message with its conversation', async () => {
    const { id, conversationId } = await write(await newSender(), { tags: { going: 'yes' } });

    await client.deleteConversation({ id: conversationId });

    expect((await failure(client.getMessage({ id }))).type).toBe('ResourceNotFound');
    expect(await idsOf({ tags: { going: 'yes' } })).toEqual([]);
  });
});

describe('an integration', () => {
  it('shows tag names of messages without its alias to an integration, in its own conversations', async () => {
    const sender = await newSender(asTeam, 'direct');

    const { message } = await asTeam.createMessage(text(sender, { tags: { ts: '1' } }));

    expect(message.tags).toEqual({ ts: '1' });
    expect((await client.getMessage({ id: message.id })).message.tags).toEqual({ 'team:ts': '1' });
    await client.updateMessage({ id: message.id, tags: { own: 'x' } });
    expect((await asTeam.getMessage({ id: message.id })).message.tags).toEqual({ ts: '1' });
    expect(await idsOf({ tags: { ts: '1' } }, asTeam)).toEqual([message.id]);
    expect(await idsOf({ tags: { 'team:ts': '1' } })).toEqual([message.id]);
    expect(await idsOf({ tags: { ts: '1' } })).toEqual([]);
  });

  it('refuses an integration access to conversations of others', async () => {
    const sender = await newSender();
    const { id } = await write(sender);

    expect(await failure(asTeam.createMessage(text(sender)))).toMatchObject({
      type: 'ReferenceNotFound',
      message: expect.stringMatching(/^conversationId/),
    });
    for (const refused of [
      asTeam.getMessage({ id }),
      asTeam.updateMessage({ id, payload: {} }),
      asTeam.deleteMessage({ id }),
    ])
      expect((await failure(refused)).type).toBe('ResourceNotFound');
    expect(await idsOf({ conversationId: sender.conversationId }, asTeam)).toEqual([]);
  });

  it('lets an integration write for its own users, and for others only if they are participants', async () => {
    const { conversationId } = await newSender(asTeam, 'direct');
    const { id: userId } = (await client.createUser({ tags: {} })).user;
    const input = text({ conversationId, userId });
    const unknown = { type: 'ReferenceNotFound', message: `userId "${userId}" not found.` };

    expect(await failure(asTeam.createMessage(input))).toEqual(unknown);
    expect(await failure(asTeam.createMessage({ ...input, schedule: { delay: 60_000 } }))).toEqual(unknown);
    expect(await failure(asTeam.getOrCreateMessage({ ...input, tags: { a: 'b' } }))).toEqual(unknown);
    expect(await failure(asTeam.createMessage({ ...input, userId: 'user_00000000000000000000000000' }))).toEqual({
      ...unknown,
      message: 'userId "user_00000000000000000000000000" not found.',
    });
    await client.addParticipant({ id: conversationId, userId });
    const { message } = await asTeam.createMessage(input);

    expect(message).toMatchObject({ conversationId, userId, direction: 'incoming' });
  });
});

describe('updating a message', () => {
  it('merges tags of a message, removes empty and null tags, and replaces the payload', async () => {
    const { id } = await write(await newSender(), { tags: { a: '1', b: '2', c: '3' } });

    const { message } = await client.updateMessage({
      id,
      tags: { a: null, b: '', d: '4' },
      payload: { text: 'other' },
    });

    expect(message).toMatchObject({ tags: { c: '3', d: '4' }, payload: { text: 'other' } });
    expect((await client.getMessage({ id })).message).toEqual(message);
  });

  it('keeps omitted fields of a message, increases updatedAt and sends no signal or event', async () => {
    const before = await write(await newSender(), { tags: { a: '1' } });

    const first = (await client.updateMessage({ id: before.id })).message;
    const second = (await client.updateMessage({ id: before.id })).message;

    expect(first).toEqual({ ...before, updatedAt: first.updatedAt });
    expect(first.updatedAt > before.updatedAt && second.updatedAt > first.updatedAt).toBe(true);
    expect(await eventsOf(before.id)).toHaveLength(1);
    const [{ signals }] = (await api.sql<{ signals: number }>(
      'SELECT count(*)::int AS signals FROM chat.signal WHERE message_id = $1',
      [before.id],
    )) as [{ signals: number }];
    expect(signals).toBe(1);
  });

  it('moves an updated message in lists by tags', async () => {
    const value = randomUUID();
    const { id, conversationId } = await write(await newSender(), { tags: { was: value } });

    await client.updateMessage({ id, tags: { was: null, is: value } });

    expect(await idsOf({ tags: { was: value } })).toEqual([]);
    for (const filter of [{}, { conversationId }])
      expect(await idsOf({ ...filter, tags: { is: value } })).toEqual([id]);
  });

  it('keeps all tags of concurrent updates of a message', async () => {
    const { id } = await write(await newSender());
    const names = Array.from({ length: 20 }, (_, index) => `t${index}`);

    await Promise.all(names.map((name) => client.updateMessage({ id, tags: { [name]: 'x' } })));

    expect(Object.keys((await client.getMessage({ id })).message.tags).sort()).toEqual(names.sort());
  });

  it.each<[string, object, RegExp]>([
    [
      'more tags than 50 with those that are there',
      { tags: Object.fromEntries(Array.from({ length: 50 }, (_, index) => [`t${index}`, 'x'])) },
      /^tags must have at most 50/,
    ],
  ])('rejects an update of a message with %s', async (_case, changes, message) => {
    const { id } = await write(await newSender(), { tags: { a: '1' } });

    expect(await failure(client.updateMessage({ id, ...changes }))).toEqual({
      type: 'InvalidPayload',
      message: expect.stringMatching(message),
    });
  });
});

describe('deleting a message', () => {
  it('removes a deleted message from lists and counts, and keeps its events', async () => {
    const sender = await newSender();
    const stays = await write(sender);
    const { id } = await write(sender, { tags: { going: 'now' } });

    await client.deleteMessage({ id });

    expect((await failure(client.getMessage({ id }))).type).toBe('ResourceNotFound');
    expect((await failure(client.deleteMessage({ id }))).type).toBe('ResourceNotFound');
    expect(await idsOf({ conversationId: sender.conversationId })).toEqual([stays.id]);
    expect(await idsOf({ tags: { going: 'now' } })).toEqual([]);
    expect(await countOf(sender.conversationId)).toBe(1);
    expect(await eventsOf(id)).toHaveLength(1);
  });

  it('deletes a message once for concurrent requests', async () => {
    const sender = await newSender();
    const { id } = await write(sender);

    const types = await Promise.all(
      Array.from({ length: 8 }, async () => (await failure(client.deleteMessage({ id }))).type),
    );

    expect(types.filter((type) => type !== 'ResourceNotFound')).toEqual(['none']);
    expect(await countOf(sender.conversationId)).toBe(0);
  });
});

describe('listMessages', () => {
  it('lists messages newest first, page by page', async () => {
    const sender = await newSender();
    const ids: string[] = [];
    for (let index = 0; index < 7; index++) ids.unshift((await write(sender)).id);
    const { conversationId } = sender;

    const found: string[] = [];
    for (let nextToken: string | undefined, pages = 0; pages === 0 || nextToken; pages++) {
      const page = await client.listMessages({ conversationId, pageSize: 3, nextToken });
      found.push(...page.messages.map(({ id }) => id));
      nextToken = page.meta.nextToken;
    }

    expect(found).toEqual(ids);
  });

  it('pages through messages with equal creation times', async () => {
    const sender = await newSender();
    const { messages } = await client.importMessages({
      messages: Array.from({ length: 5 }, () => ({
        ...text(sender),
        createdAt: '2026-01-01T00:00:00.000Z',
        discriminateByTags: [],
      })),
    });

    const found: string[] = [];
    for (let nextToken: string | undefined, pages = 0; pages === 0 || nextToken; pages++) {
      const page = await client.listMessages({ conversationId: sender.conversationId, pageSize: 2, nextToken });
      found.push(...page.messages.map(({ id }) => id));
      nextToken = page.meta.nextToken;
    }

    expect(found).toEqual(
      messages
        .map(({ id }) => id)
        .sort()
        .reverse(),
    );
  });

  it('filters messages by an inclusive date range', async () => {
    const sender = await newSender();
    const first = await write(sender);
    const second = await write(sender);
    const third = await write(sender);
    const { conversationId } = sender;

    expect(await idsOf({ conversationId, afterDate: second.createdAt })).toEqual([third.id, second.id]);
    expect(await idsOf({ conversationId, beforeDate: second.createdAt })).toEqual([second.id, first.id]);
    expect(await idsOf({ conversationId, afterDate: second.createdAt, beforeDate: second.createdAt })).toEqual([
      second.id,
    ]);
  });

  it('filters messages by all of the given tags', async () => {
    const value = randomUUID();
    const sender = await newSender();
    const other = await newSender();
    const both = await write(sender, { tags: { a: value, b: value } });
    const elsewhere = await write(other, { tags: { a: value, b: value } });
    const one = await write(sender, { tags: { a: value } });

    expect(await idsOf({ tags: { a: value } })).toEqual([one.id, elsewhere.id, both.id]);
    expect(await idsOf({ tags: { a: value, b: value } })).toEqual([elsewhere.id, both.id]);
    expect(await idsOf({ tags: { a: value }, conversationId: sender.conversationId })).toEqual([one.id, both.id]);
    expect(await idsOf({ tags: { a: 'x' } })).toEqual([]);
  });

  it('lists messages of all conversations if none is given', async () => {
    const own = await api.newBot();
    const first = await own.client.createMessage(text(await newSender(own.client)));
    const second = await own.client.createMessage(text(await newSender(own.client)));

    expect(await idsOf({}, own.client)).toEqual([second.message.id, first.message.id]);
  });

  it('rejects a nextToken of another query of messages', async () => {
    const sender = await newSender();
    await write(sender);
    await write(sender);
    const { nextToken } = (await client.listMessages({ conversationId: sender.conversationId, pageSize: 1 })).meta;

    for (const query of [{}, { conversationId: sender.conversationId, tags: { a: 'b' } }])
      expect((await failure(client.listMessages({ ...query, nextToken }))).type).toBe('InvalidQuery');
    expect((await failure(client.listMessages({ nextToken: 'x' }))).type).toBe('InvalidQuery');
  });
});

describe('getOrCreateMessage', () => {
  it('writes one message per tags and conversation for getOrCreateMessage', async () => {
    const sender = await newSender();
    const tags = { external: randomUUID(), none: null };

    const first = await client.getOrCreateMessage({ ...text(sender), tags });
    const second = await client.getOrCreateMessage({ ...text(sender), type: 'other', tags });
    const elsewhere = await client.getOrCreateMessage({ ...text(await newSender()), tags });

    expect(first.meta.created).toBe(true);
    expect(second).toEqual({ message: first.message, meta: { created: false } });
    expect(elsewhere.meta.created).toBe(true);
    expect(await countOf(sender.conversationId)).toBe(1);
  });

  it('compares only the tags in discriminateByTags for getOrCreateMessage', async () => {
    const sender = await newSender();
    const external = randomUUID();
    const first = await client.getOrCreateMessage({ ...text(sender), tags: { external, a: '1' } });

    const second = await client.getOrCreateMessage({
      ...text(sender),
      tags: { external, a: '2' },
      discriminateByTags: ['external'],
    });
    const third = await client.getOrCreateMessage({ ...text(sender), tags: { external, a: '2' } });

    expect(second).toEqual({ message: first.message, meta: { created: false } });
    expect(third.meta.created).toBe(true);
  });

  it('writes one message for concurrent getOrCreateMessage requests', async () => {
    const sender = await newSender();
    const tags = { external: randomUUID() };

    const replies = await Promise.all(
      Array.from({ length: 50 }, () => client.getOrCreateMessage({ ...text(sender), tags })),
    );

    expect(new Set(replies.map(({ message }) => message.id)).size).toBe(1);
    expect(replies.filter(({ meta }) => meta.created)).toHaveLength(1);
    expect(await countOf(sender.conversationId)).toBe(1);
  });

  it('writes a message without tags for each getOrCreateMessage, by default with an empty payload', async () => {
    const { conversation } = await asTeam.createConversation({ channel: 'group', tags: {} });
    const sender = { ...(await newSender()), conversationId: conversation.id };

    const first = await client.getOrCreateMessage({ ...text(sender), payload: undefined });
    const second = await client.getOrCreateMessage({ ...text(sender), discriminateByTags: [] });

    expect([first.meta.created, second.meta.created]).toEqual([true, true]);
    expect(first.message.payload).toEqual({});
  });

  it.each<[string, object, string, RegExp]>([
    [
      'a tag that is named and not given',
      { discriminateByTags: ['b'] },
      'InvalidPayload',
      /^discriminateByTags names "b"/,
    ],
    ['a user who is not there', { userId: `user_${'0'.repeat(26)}` }, 'ReferenceNotFound', /^userId/],
  ])('rejects getOrCreateMessage with %s', async (_case, changes, type, message) => {
    const sender = await newSender();

    const refused = client.getOrCreateMessage({ ...text(sender), tags: { a: '1' }, ...changes });

    expect(await failure(refused)).toEqual({ type, message: expect.stringMatching(message) });
  });
});
