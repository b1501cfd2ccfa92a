import { pagesOf, sentDuring } from '@parley/testing/sent-statements';
import { createTestDatabase, type TestDatabase } from '@parley/testing/test-database';
import { chatDatabase } from '../chat.module';
import { ChatConfig } from '../config';
import { BoundedReads } from '../lists/bounded-reads';
import { MessagesRepository } from './messages.repository';

const scope = { botId: 'bot', alias: null };
const count = 20_000;

let test: TestDatabase;
let messages: MessagesRepository;

/**
 * Of each of many conversations one message that has the popular tag, three without it in a small one, and many in a large
 * one: all of these are popular, two are rare, and half are even. One is scheduled in the large one and in one of its own.
 * Postgres has seen none of the large one yet: it takes it to be like the others.
 */
beforeAll(async () => {
  test = await createTestDatabase(chatDatabase.migrations, 'chat');
  messages = new MessagesRepository(test.database, new BoundedReads(test.database, new ChatConfig()));
  await test.database.query(
    `INSERT INTO conversation (bot_id, id, integration_alias, integration_id, channel, is_chat, tags, properties, created_at,
       updated_at)
     SELECT 'bot', id, 'team', 'intver_1', 'channel', false, '{}', '{}', now(), now()
     FROM (SELECT 'conv_' || i AS id FROM generate_series(1, $1) AS i UNION ALL VALUES ('small'), ('large'), ('later')) made`,
    [count],
  );
  await write("'conv_' || i", `'{"kind": "welcome"}'::jsonb`, count);
  await write("'small'", "jsonb_build_object('own', i::text)", 3);
  await test.database.query(
    `INSERT INTO scheduled_message (bot_id, id, conversation_id, user_id, type, payload, tags, direction, due_at, created_at,
       updated_at)
     SELECT 'bot', id || '_later', id, 'user', 'text', '{}', '{"kind": "welcome", "later": "x"}', 'incoming', now(),
       timestamptz '2025-01-01Z', now()
     FROM unnest(ARRAY['later', 'large']) AS id`,
  );
  await test.database.query('ANALYZE');
  await write(
    "'large'",
    `jsonb_strip_nulls(jsonb_build_object('kind', 'welcome', 'a', (i % 2)::text, 'b', ((i + 1) % 2)::text,
       'rare', CASE WHEN i > ${count - 2} THEN 'y' END))`,
    count,
  );
});

/** Messages whose conversations and tags are SQL about their number `i`. */
async function write(conversationId: string, tags: string, number: number) {
  await test.database.query(
    `WITH made AS (
       INSERT INTO message (bot_id, id, conversation_id, user_id, type, payload, tags, direction, created_at, updated_at)
       SELECT 'bot', ${conversationId} || '_' || i, ${conversationId}, 'user', 'text', '{}', ${tags}, 'incoming',
         timestamptz '2026-01-01Z' + i * interval '1 second', now()
       FROM generate_series(1, $1::int) AS i RETURNING *)
     INSERT INTO tag (bot_id, kind, name, value, created_at, object_id, conversation_id)
     SELECT bot_id, 'message', key, value, created_at, id, conversation_id FROM made, jsonb_each_text(tags)`,
    [number],
  );
}

afterAll(() => test?.drop());

type Tags = Record<string, string>;

async function find(...wanted: [conversationId: string, tags: Tags][]) {
  let ids: (string | undefined)[] = [];
  const statements = await sentDuring(async () => {
    const rows = await test.database.transaction((tx) =>
      messages.findTagged(
        tx,
        scope,
        wanted.map(([conversation_id, tags]) => ({ conversation_id, tags })),
      ),
    );
    ids = rows.map((row) => row?.id);
  });
  return { ids, statements, pages: await pagesOf(test.database, statements) };
}

async function list(conversationId: string, tags: Tags) {
  let ids: string[] = [];
  const statements = await sentDuring(async () => {
    const { rows } = await messages.list(scope, { conversationId, tags, pageSize: 2 });
    ids = rows.map(({ id }) => id);
  });
  return { ids, pages: await pagesOf(test.database, statements) };
}

describe('the oldest message of a conversation with tags', () => {
  it.each<[string, string, Tags, string | undefined, number]>([
    ['one of many that have it there', 'large', { kind: 'welcome' }, 'large_1', 50],
    ['the only one of its conversation', 'conv_777', { kind: 'welcome' }, 'conv_777_777', 50],
    ['a rare one of a large conversation', 'large', { rare: 'y' }, `large_${count - 1}`, 50],
    ['a rare and popular one', 'large', { kind: 'welcome', rare: 'y' }, `large_${count - 1}`, 2_000],
    ['popular in two ways', 'large', { kind: 'welcome', a: '0' }, 'large_2', 3_000],
    ['one that is scheduled', 'later', { kind: 'welcome' }, 'later_later', 50],
    ['one that is scheduled in a large conversation', 'large', { later: 'x' }, 'large_later', 50],
    ['none of a small conversation, where the tag is popular elsewhere', 'small', { kind: 'welcome' }, undefined, 50],
    ['none with both tags in a small conversation', 'small', { kind: 'welcome', own: '1' }, undefined, 50],
    ['none of a large conversation', 'large', { own: '1' }, undefined, 50],
    ['none of a conversation that is not there', 'nowhere', { kind: 'welcome' }, undefined, 50],
  ])('is %s', async (_case, conversationId, tags, expected, maxPages) => {
    const { ids, pages } = await find([conversationId, tags]);

    expect(ids).toEqual([expected]);
    expect(pages).toBeLessThan(maxPages);
  });
});

it('are found for many at once, in as many statements as for one', async () => {
  const many = Array.from({ length: 100 }, (_, index): [string, Tags] => [`conv_${index + 1}`, { kind: 'welcome' }]);

  const one = await find(many[0]!);
  const all = await find(...many, ['small', { kind: 'welcome' }], many[0]!);

  expect(all.ids).toEqual([...many.map((_, index) => `conv_${index + 1}_${index + 1}`), undefined, 'conv_1_1']);
  expect(all.statements).toHaveLength(one.statements.length);
  expect(all.pages).toBeLessThan(4_000);
});

it('is not looked for any longer than a list, and other statements of the transaction may take longer', async () => {
  const config = Object.assign(new ChatConfig(), { listTimeoutMs: 1 });
  const impatient = new MessagesRepository(test.database, new BoundedReads(test.database, config));
  const timeout = (tags: Tags, repository: MessagesRepository) =>
    test.database.transaction(async (tx) => {
      await repository.findTagged(tx, scope, [{ conversation_id: 'large', tags }]);
      return tx.query('SHOW statement_timeout');
    });

  expect(await timeout({ a: '1', kind: 'welcome' }, messages)).toEqual([{ statement_timeout: '30s' }]);
  // Half have the one, half the other, and none has both.
  await expect(timeout({ a: '1', b: '1' }, impatient)).rejects.toMatchObject({
    type: 'OperationTimeout',
    message: expect.stringContaining('Name a tag that few messages of the conversation have.'),
  });
});

describe('the messages of a conversation with tags', () => {
  it.each<[string, string, Tags, string[], number]>([
    ['the newest of many', 'large', { kind: 'welcome' }, [`large_${count}`, `large_${count - 1}`], 100],
    [
      'the few that are rare there',
      'large',
      { kind: 'welcome', rare: 'y' },
      [`large_${count}`, `large_${count - 1}`],
      2_000,
    ],
    ['the only one', 'conv_777', { kind: 'welcome' }, ['conv_777_777'], 50],
    ['none, where the tag is popular elsewhere', 'small', { kind: 'welcome' }, [], 50],
    ['none with both tags', 'small', { kind: 'welcome', own: '1' }, [], 50],
  ])('are %s', async (_case, conversationId, tags, expected, maxPages) => {
    const { ids, pages } = await list(conversationId, tags);

    expect(ids).toEqual(expected);
    expect(pages).toBeLessThan(maxPages);
  });
});
