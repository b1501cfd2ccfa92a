import { pagesOf, sentDuring } from '@parley/testing/sent-statements';
import { createTestDatabase, type TestDatabase } from '@parley/testing/test-database';
import { chatDatabase } from '../chat.module';
import { ChatConfig } from '../config';
import { ConversationsRepository } from '../conversations/conversations.repository';
import { EndpointRepository } from '../endpoint/endpoint.repository';
import { ErasureRepository } from '../erasure/erasure.repository';
import { EventsRepository } from '../events/events.repository';
import { MessagesRepository } from '../messages/messages.repository';
import { TagsRepository } from '../tags/tags.repository';
import { UsersRepository } from '../users/users.repository';
import { WorkflowsRepository } from '../workflows/workflows.repository';
import { BoundedReads } from './bounded-reads';

const formerCount = 30_000;
const laterCount = 10_000;
const pageSize = 3;
/** Their rows, and the author of each; all that came later are on hundreds. */
const mostPages = 120;

const bot = { botId: 'bot', alias: null };
const integration = { botId: 'bot', alias: 'former' };
const chat = { botId: 'bot', alias: 'former', workspaceId: 'w', integrationId: 'intver_1' };
/** Of the thousandth of the former ones. */
const middle = new Date(Date.UTC(2025, 0, 1) + 1_000_000).toISOString();

let test: TestDatabase;
let events: EventsRepository;
let messages: MessagesRepository;
let users: UsersRepository;
let conversations: ConversationsRepository;
let workflows: WorkflowsRepository;
let endpoint: EndpointRepository;

/** In each table most rows have one value, and none of the latest has it. */
beforeAll(async () => {
  test = await createTestDatabase(chatDatabase.migrations, 'chat');
  const bounded = new BoundedReads(test.database, new ChatConfig());
  events = new EventsRepository(test.database, bounded);
  messages = new MessagesRepository(test.database, bounded);
  users = new UsersRepository(test.database, bounded);
  conversations = new ConversationsRepository(test.database, bounded);
  workflows = new WorkflowsRepository(test.database, bounded);
  endpoint = new EndpointRepository(test.database);

  await fill('former', formerCount, '2025-01-01Z');
  await fill('later', laterCount, '2026-01-01Z');
  await test.database.query('ANALYZE');
});

afterAll(() => test?.drop());

/** One a second, whose ids are in the order of their numbers, and beside each tenth one with a value that some have always. */
async function fill(value: string, count: number, start: string) {
  for (const insert of [
    `"user" (bot_id, id, integration_alias, tags, properties, created_at, updated_at)
     SELECT 'bot', id, value, '{}', '{}', at, at`,
    `conversation (bot_id, id, integration_alias, channel, owner_id, integration_id, is_chat, tags, properties, created_at,
       updated_at)
     SELECT 'bot', id, value, value, value, 'intver_1', true, '{}', '{}', at, at`,
    `message (bot_id, id, conversation_id, user_id, type, payload, tags, direction, created_at, updated_at)
     SELECT 'bot', id, value || '_000001', 'user', 'text', '{}', '{}', 'incoming', at, at`,
    `event (bot_id, id, type, payload, integration_alias, conversation_id, user_id, message_id, workflow_id, status, created_at)
     SELECT 'bot', id, value, '{}', value, value, value, value, value,
       CASE value WHEN 'former' THEN 'failed' ELSE 'processed' END, at`,
    `workflow (bot_id, id, name, status, input, output, integration_alias, parent_workflow_id, conversation_id, user_id, tags,
       timeout_at, created_at, updated_at)
     SELECT 'bot', id, value, CASE value WHEN 'former' THEN 'failed' ELSE 'completed' END, '{}', '{}', value, value, value,
       value, '{}', at, at, at`,
  ]) {
    await test.database.query(
      `INSERT INTO ${insert} FROM (
         SELECT value, concat(value, '_', lpad(i::text, 6, '0'), part) AS id, at
         FROM generate_series(1, $1::int) AS i,
           LATERAL (SELECT timestamptz '${start}' + i * interval '1 second' AS at) AS times,
           LATERAL (VALUES ($2::text, '', 1), ('some', $2, 10)) AS them (value, part, each)
         WHERE i % each = 0 ORDER BY i) AS made`,
      [count, value],
    );
  }
}

type List = (query: {
  nextToken?: string;
  pageSize: number;
}) => Promise<{ rows: { id: string }[]; nextToken?: string }>;

/** The numbers in the ids of the first two pages, or of the only one. */
async function readTwoPages(list: List) {
  const numbers: number[][] = [];
  const read = async (nextToken?: string) => {
    const found = await list({ nextToken, pageSize });
    numbers.push(found.rows.map(({ id }) => Number(/^former_(\d+)$/.exec(id)?.[1])));
    return found.nextToken;
  };
  const statements = await sentDuring(async () => {
    const nextToken = await read();
    if (nextToken !== undefined) await read(nextToken);
  });
  return { numbers, pages: await pagesOf(test.database, statements) };
}

const newest = [
  [formerCount, formerCount - 1, formerCount - 2],
  [formerCount - 3, formerCount - 4, formerCount - 5],
];
const oldest = [
  [1, 2, 3],
  [4, 5, 6],
];
const untilMiddle = [
  [1_000, 999, 998],
  [997, 996, 995],
];
const fromMiddle = [
  [1_000, 1_001, 1_002],
  [1_003, 1_004, 1_005],
];

describe('A list by what most have, but nothing of late, looks at nothing but its pages', () => {
  it.each<[string, List]>([
    ['messages of a conversation', (page) => messages.list(bot, { ...page, conversationId: 'former_000001' })],
    ["an integration's, too", (page) => messages.list(integration, { ...page, conversationId: 'former_000001' })],
    ['events of an integration', (page) => events.list(integration, page)],
    ['events of a type', (page) => events.list(bot, { ...page, type: 'former' })],
    ['events of a conversation', (page) => events.list(bot, { ...page, conversationId: 'former' })],
    ['events of a user', (page) => events.list(bot, { ...page, userId: 'former' })],
    ['events of a message', (page) => events.list(bot, { ...page, messageId: 'former' })],
    ['events of a workflow', (page) => events.list(bot, { ...page, workflowId: 'former' })],
    ['events with a status', (page) => events.list(bot, { ...page, status: 'failed' })],
    ['workflows of an integration', (page) => workflows.list(integration, page)],
    ['workflows with a name', (page) => workflows.list(bot, { ...page, name: 'former' })],
    ['workflows of a conversation', (page) => workflows.list(bot, { ...page, conversationId: 'former' })],
    ['workflows of a user', (page) => workflows.list(bot, { ...page, userId: 'former' })],
    ['workflows of another', (page) => workflows.list(bot, { ...page, parentWorkflowId: 'former' })],
    ['workflows with a status', (page) => workflows.list(bot, { ...page, statuses: ['failed'] })],
    ['users of an integration', (page) => users.list(integration, page)],
    ['the same by their updates', (page) => users.list(integration, { ...page, sortField: 'updatedAt' })],
    ['conversations of an integration', (page) => conversations.list(integration, page)],
    ['the same by their updates', (page) => conversations.list(integration, { ...page, sortField: 'updatedAt' })],
    ['conversations of a channel', (page) => conversations.list(bot, { ...page, channel: 'former' })],
  ])('%s', async (_what, list) => {
    const { numbers, pages } = await readTwoPages(list);

    expect(numbers).toEqual(newest);
    expect(pages).toBeLessThan(mostPages);
  });

  it.each<[string, List]>([
    ['messages', ({ nextToken }) => endpoint.listMessages('bot', 'former_000001', nextToken)],
    ['conversations', ({ nextToken }) => endpoint.listOwned(chat, 'former', nextToken)],
  ])('%s at the chat endpoint', async (_what, list) => {
    const { numbers, pages } = await readTwoPages(list);

    expect(numbers).toHaveLength(2);
    expect(numbers.flat()).toEqual(Array.from({ length: 2 * numbers[0]!.length }, (_, index) => formerCount - index));
    expect(pages).toBeLessThan(mostPages);
  });

  it.each([
    ['until then', { beforeDate: middle }, untilMiddle],
    ['from then on', { afterDate: middle }, newest],
    ['of one moment', { afterDate: middle, beforeDate: middle }, [[1_000]]],
    ['of none', { afterDate: '2026-01-01T00:00:00.000Z' }, [[]]],
  ])('messages %s', async (_what, span, expected) => {
    const { numbers, pages } = await readTwoPages((page) =>
      messages.list(bot, { ...page, ...span, conversationId: 'former_000001' }),
    );

    expect(numbers).toEqual(expected);
    expect(pages).toBeLessThan(mostPages);
  });

  it.each([
    ['users', (query: object) => users.list(integration, query)],
    ['conversations', (query: object) => conversations.list(integration, query)],
    ['conversations of a channel', (query: object) => conversations.list(bot, { ...query, channel: 'former' })],
  ])('%s in either order and any span', async (_what, list) => {
    const expected = [
      [{ sortDirection: 'asc' }, oldest],
      [{ sortDirection: 'asc', afterDate: middle }, fromMiddle],
      [{ sortDirection: 'asc', beforeDate: middle }, oldest],
      [{ sortDirection: 'desc', afterDate: middle }, newest],
      [{ sortDirection: 'desc', beforeDate: middle }, untilMiddle],
    ] as const;
    for (const [query, numbers] of expected) {
      const found = await readTwoPages((page) => list({ ...page, ...query }));

      expect([query, found.numbers]).toEqual([query, numbers]);
      expect(found.pages).toBeLessThan(mostPages);
    }
  });
});

describe('The last of what a conversation with most has left behind', () => {
  it.each([
    ['message', 'former_000001'],
    ['event', 'former'],
  ])('is erased without a look at others: %s', async (table, conversation_id) => {
    const ofIt = `FROM ${table} WHERE conversation_id = '${conversation_id}'`;
    // Postgres knows of these as nearly all.
    await test.database.query(`DELETE FROM ${table} WHERE id LIKE '%some' OR id > 'later_003000'`);
    await test.database.query(`VACUUM ANALYZE ${table}`);
    await test.database.query(`DELETE ${ofIt} AND id > 'former_000003'`);
    await test.database.query(`VACUUM ${table}`);
    const erasure = new ErasureRepository(test.database, new TagsRepository());

    const statements = await sentDuring(async () => {
      for await (const _count of erasure.deleteOfConversation({ bot_id: 'bot', conversation_id }, 500));
    });

    await expect(test.database.query(`SELECT 1 ${ofIt}`)).resolves.toEqual([]);
    await expect(pagesOf(test.database, statements)).resolves.toBeLessThan(mostPages);
  });
});
