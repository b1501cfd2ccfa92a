import { randomUUID } from 'node:crypto';
import type { Client } from '@botpress/client';
import { sentDuring } from '@parley/testing/sent-statements';
import { waitFor } from '@parley/testing/wait-for';
import { type ChatBot, type ChatService, failure, startChat } from '../test/chat-service';

type Entry = Parameters<Client['importMessages']>[0]['messages'][number];

let api: ChatService;
let bot: ChatBot;
let client: Client;

beforeAll(async () => {
  api = await startChat();
  bot = await api.newBot();
  ({ client } = bot);
});

afterAll(() => api?.stop());

async function newSender(of = client) {
  const { conversation } = await of.createConversation({ channel: 'channel', tags: {} });
  const { user } = await of.createUser({ tags: {} });
  return { conversationId: conversation.id, userId: user.id };
}

type Sender = Awaited<ReturnType<typeof newSender>>;

function entry(sender: Sender, changes: Partial<Entry> = {}): Entry {
  const content = { type: 'text', payload: { text: 'hello' }, tags: {}, discriminateByTags: [] };
  return { ...sender, ...content, createdAt: '2026-01-31T12:00:00.000Z', ...changes };
}

async function countOf({ conversationId }: Sender): Promise<number> {
  return (await client.getConversation({ id: conversationId })).conversation.messageCount;
}

describe('importing messages', () => {
  it('imports messages with the given times, in several conversations, without signals or events', async () => {
    const [here, there] = [await newSender(), await newSender()];

    const { messages } = await client.importMessages({
      messages: [
        entry(here, { createdAt: '2026-01-02T00:00:00.000Z', tags: { a: 'b' } }),
        entry({ ...there, userId: bot.id }, { createdAt: '2026-01-01T01:00:00+01:00' }),
        entry(here, { createdAt: '2026-01-01T00:00:00.000Z' }),
      ],
    });

    expect(messages[0]).toMatchObject({
      createdAt: '2026-01-02T00:00:00.000Z',
      updatedAt: '2026-01-02T00:00:00.000Z',
      tags: { a: 'b' },
      direction: 'incoming',
    });
    expect(messages[1]).toMatchObject({ createdAt: '2026-01-01T00:00:00.000Z', direction: 'outgoing' });
    const { conversationId } = here;
    expect((await client.listMessages({ conversationId })).messages).toEqual([messages[0], messages[2]]);
    expect([await countOf(here), await countOf(there)]).toEqual([2, 1]);
    const [counts] = await api.sql(
      `SELECT (SELECT count(*)::int FROM chat.event WHERE message_id = ANY($1)) AS events,
         (SELECT count(*)::int FROM chat.signal WHERE message_id = ANY($1)) AS signals`,
      [messages.map(({ id }) => id)],
    );
    expect(counts).toEqual({ events: 0, signals: 0 });
    expect((await client.listParticipants({ id: conversationId })).participants.map(({ id }) => id)).toEqual([
      here.userId,
    ]);
  });

  it('writes the next message after the imported ones', async () => {
    const sender = await newSender();
    const createdAt = new Date().toISOString();
    await client.importMessages({ messages: [entry(sender, { createdAt })] });

    const { message } = await client.createMessage({ ...sender, type: 'text', payload: { text: 'x' }, tags: {} });

    expect(message.createdAt > createdAt).toBe(true);
  });

  it('returns an existing message with the same tags instead of importing a new one', async () => {
    const sender = await newSender();
    const external = randomUUID();
    const same = { tags: { external, a: '1' }, discriminateByTags: ['external'] };
    const first = await client.importMessages({ messages: [entry(sender, same)] });

    const second = await client.importMessages({
      messages: [
        entry(sender),
        entry(sender, same),
        entry(await newSender(), same),
        entry(sender, { tags: { external } }),
      ],
    });

    expect(second.messages[1]).toEqual(first.messages[0]);
    expect(new Set(second.messages.map(({ id }) => id)).size).toBe(4);
    expect(await countOf(sender)).toBe(3);
  });

  it('imports one message for equal tags, also from concurrent requests', async () => {
    const sender = await newSender();
    const twins = ['x', 'y', 'z'].map((external) =>
      entry(sender, { tags: { external }, discriminateByTags: ['external'] }),
    );

    const replies = await Promise.all(
      Array.from({ length: 10 }, (_, index) =>
        client.importMessages({ messages: index % 2 === 0 ? [...twins, ...twins] : [...twins].reverse() }),
      ),
    );

    expect(new Set(replies.flatMap(({ messages }) => messages.map(({ id }) => id))).size).toBe(3);
    expect(await countOf(sender)).toBe(3);
  });

  it('sends as many statements for the import of a hundred messages as of one', async () => {
    const sender = await newSender();
    const entries = Array.from({ length: 100 }, (_, index) =>
      entry(sender, { tags: { external: `${index}`, of: 'many' }, discriminateByTags: ['external', 'of'] }),
    );
    const statements = async (messages: Entry[]) => {
      const sent = await sentDuring(() => client.importMessages({ messages }));
      return sent.filter(({ values }) => JSON.stringify(values).includes(sender.conversationId)).length;
    };

    // Fills the cache of conversations.
    await client.importMessages({ messages: [entry(sender)] });
    const forOne = await statements(entries.slice(0, 1));

    expect(forOne).toBeGreaterThan(0);
    expect(await statements(entries)).toBe(forOne);
    expect(await countOf(sender)).toBe(101);
  });

  it('imports no scheduled message with the same tags again, even if it becomes due meanwhile', async () => {
    const sender = await newSender();
    const tags = { external: randomUUID() };
    const content = { type: 'text', payload: { text: 'x' }, tags, schedule: { delay: 3_600_000 } };
    const { id } = (await client.createMessage({ ...sender, ...content })).message;
    const again = entry(sender, { tags, discriminateByTags: ['external'] });
    const waiting = await client.importMessages({ messages: [again] });
    await api.sql('BEGIN');
    await api.sql('LOCK TABLE chat.scheduled_message IN ACCESS EXCLUSIVE MODE');

    const meanwhile = client.importMessages({ messages: [again] });
    await waitFor(async () => {
      await api.sql('SELECT pg_stat_clear_snapshot()');
      const looking = await api.sql(
        `SELECT 1 FROM pg_stat_activity
         WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%JOIN%conversation c%'`,
      );
      return looking.length > 0;
    });
    await api.sql(
      `WITH due AS (DELETE FROM chat.scheduled_message WHERE id = $1 RETURNING *),
         tagged AS (
           INSERT INTO chat.tag (bot_id, kind, name, value, created_at, object_id, conversation_id)
           SELECT bot_id, 'message', key, value, created_at, id, conversation_id FROM due, jsonb_each_text(tags))
       INSERT INTO chat.message
       SELECT bot_id, id, conversation_id, user_id, type, payload, tags, direction, origin, created_at, updated_at FROM due`,
      [id],
    );
    await api.sql('COMMIT');

    expect(waiting.messages.map((message) => message.id)).toEqual([id]);
    expect((await meanwhile).messages.map((message) => message.id)).toEqual([id]);
  });

  it('imports a hundred messages at once', async () => {
    const sender = await newSender();

    const { messages } = await client.importMessages({ messages: Array.from({ length: 100 }, () => entry(sender)) });

    expect(messages).toHaveLength(100);
    expect(await countOf(sender)).toBe(100);
  });

  const nobody = `user_${'0'.repeat(26)}`;
  it.each<[string, object, string, RegExp]>([
    [
      'a createdAt in the future',
      { createdAt: '2999-01-01T00:00:00Z' },
      'InvalidPayload',
      /messages\[1\]\.createdAt must not be in the future/,
    ],
    [
      'a tag that is named and not given',
      { discriminateByTags: ['b'] },
      'InvalidPayload',
      /messages\[1\]\.discriminateByTags names "b"/,
    ],
    [
      'a user who is not there',
      { userId: nobody },
      'ReferenceNotFound',
      /^messages\[1\]\.userId "user_0+" not found\.$/,
    ],
    [
      'a conversation that is not there',
      { conversationId: nobody },
      'ReferenceNotFound',
      /^messages\[1\]\.conversationId "user_0+" not found\.$/,
    ],
  ])('imports no message with %s', async (_case, changes, type, message) => {
    const sender = await newSender();

    const work = client.importMessages({ messages: [entry(sender), entry(sender, changes)] });

    expect(await failure(work)).toEqual({ type, message: expect.stringMatching(message) });
    expect(await countOf(sender)).toBe(0);
  });

  it('imports no more than 100 messages, and none for conversations of another bot or integration', async () => {
    const sender = await newSender();
    const theirs = await newSender((await api.newBot()).client);

    const tooMany = client.importMessages({ messages: Array.from({ length: 101 }, () => entry(sender)) });
    const foreign = client.importMessages({ messages: [entry(sender), entry(theirs)] });
    const ofTheChat = bot.asTeam.importMessages({ messages: [entry(sender)] });

    expect(await failure(tooMany)).toEqual({
      type: 'InvalidPayload',
      message: expect.stringContaining('messages must have at most 100'),
    });
    expect(await failure(foreign)).toEqual({
      type: 'ReferenceNotFound',
      message: expect.stringMatching(/^messages\[1\]\.conversationId/),
    });
    expect(await failure(ofTheChat)).toEqual({
      type: 'ReferenceNotFound',
      message: expect.stringMatching(/^messages\[0\]\.conversationId/),
    });
    expect(await countOf(sender)).toBe(0);
  });
});
