import { Outbox } from '@parley/events/outbox';
import type { Database, Sql } from '@parley/persistence/database';
import { Keyset } from '@parley/persistence/keyset';
import { keptPlans, pagesOf, sentDuring, undone } from '@parley/testing/sent-statements';
import { createTestDatabase, type TestDatabase } from '@parley/testing/test-database';
import { chatDatabase } from '../chat.module';
import { ChatConfig } from '../config';
import { ConversationEntity } from '../conversations/conversation.entity';
import { ConversationsRepository } from '../conversations/conversations.repository';
import { ChatApiRepository } from '../chat-api/chat-api.repository';
import { ErasureRepository } from '../bots/erasure.repository';
import { EventsRepository } from '../events/events.repository';
import { MessagesRepository } from '../messages/messages.repository';
import { ScheduledMessagesRepository } from '../messages/scheduled-messages.repository';
import { taggedRows } from '../tags/tagged-rows';
import { type TagKind, TagsRepository } from '../tags/tags.repository';
import { PendingEventsRepository } from '../announcements/pending-events.repository';
import { UserEntity } from '../users/user.entity';
import { UsersRepository } from '../users/users.repository';
import { type WorkflowEntity } from '../workflows/workflow.entity';
import { WorkflowsRepository } from '../workflows/workflows.repository';
import { BoundedReadsService } from './bounded-reads.service';

// One suite: loading the modules takes as long as the tests. Each part has its own database, since it depends on the
// statistics that Postgres has.

describe('query plans with many other rows', () => {
  const manyCount = 20_000;
  /** Budget: some pages for each row that is read or changed. A scan would read hundreds. */
  const mostPages = 100;

  const bot = { botId: 'bot', alias: null };
  const fresh = { botId: 'bot', alias: 'fresh' };
  const chat = { botId: 'bot', alias: 'chat', workspaceId: 'w', integrationId: 'intver_1' };

  let test: TestDatabase;
  let users: UsersRepository;
  let conversations: ConversationsRepository;
  let workflows: WorkflowsRepository;
  let chatApi: ChatApiRepository;
  let scheduled: ScheduledMessagesRepository;

  beforeAll(async () => {
    test = await createTestDatabase(chatDatabase.migrations, chatDatabase.schema, chatDatabase.entities);
    const bounded = new BoundedReadsService(test.database, new ChatConfig());
    users = new UsersRepository(test.database, bounded, test.database.manager.getRepository(UserEntity));
    conversations = new ConversationsRepository(test.database, bounded);
    workflows = new WorkflowsRepository(test.database, bounded);
    chatApi = new ChatApiRepository(test.database, test.database.manager.getRepository(ConversationEntity));
    scheduled = new ScheduledMessagesRepository(test.database, new Outbox());

    for (const insert of [
      `"user" (bot_id, id, integration_alias, tags, properties, created_at, updated_at)
     SELECT 'bot', 'user_' || place, 'chat', '{}', '{}', at, at`,
      `conversation (bot_id, id, integration_alias, channel, integration_id, is_chat, tags, properties, created_at, updated_at)
     SELECT 'bot', 'conv_' || place, 'chat', 'channel', 'intver_1', true, '{}', '{}', at, at`,
      `participant (bot_id, conversation_id, user_id) SELECT 'bot', 'conv_' || place, 'user_' || place`,
      `participant (bot_id, conversation_id, user_id) SELECT 'bot', 'conv_crowd', 'user_' || place`,
      `message (bot_id, id, conversation_id, user_id, type, payload, tags, direction, created_at, updated_at)
     SELECT 'bot', 'msg_' || place, 'conv_' || place, 'user_' || place, 'text', '{}', '{}', 'incoming', at, at`,
      `event (bot_id, id, type, conversation_id, user_id, message_id, status, created_at)
     SELECT 'bot', 'evt_' || place, 'message_created', 'conv_' || place, 'user_' || place, 'msg_' || place, 'processed', at`,
      // Active workflows are a tenth of all, and nearly all of those have another name.
      `workflow (bot_id, id, name, conversation_id, status, input, output, tags, timeout_at, created_at, updated_at)
     SELECT 'bot', 'wrk_' || place, CASE WHEN i % 10 > 0 THEN 'usual' ELSE 'other' END,
       CASE WHEN i % 10 > 0 THEN 'conv_crowd' ELSE 'conv_' || place END,
       CASE WHEN i % 10 > 0 THEN 'completed' ELSE 'listening' END, '{}', '{}', '{}', at, at, at`,
    ])
      await insertMany(insert);
    await test.database.query(
      `INSERT INTO conversation SELECT (jsonb_populate_record(conversation, '{"id": "conv_crowd"}')).*
     FROM conversation WHERE id = 'conv_000001'`,
    );
    await test.database.query(
      `INSERT INTO message SELECT (jsonb_populate_record(message, '{"id": "msg_crowd", "conversation_id": "conv_crowd"}')).*
     FROM message WHERE id = 'msg_000001'`,
    );
    await test.database.query(
      `UPDATE workflow SET status = 'paused', name = 'unusual' WHERE id = 'wrk_000001';
     UPDATE workflow SET status = 'paused', conversation_id = NULL WHERE id = 'wrk_019999'`,
    );
    await test.database.query('VACUUM ANALYZE');
    // Inserted after ANALYZE: the statistics contain no such installation and no scheduled rows.
    await insertMany(
      `"user" (bot_id, id, integration_alias, tags, properties, created_at, updated_at)
     SELECT 'bot', 'fresh_' || place, 'fresh', '{}', '{}', at, at`,
    );
    await insertMany(
      `conversation (bot_id, id, integration_alias, channel, integration_id, is_chat, tags, properties, created_at, updated_at)
     SELECT 'bot', 'fresh_' || place, 'fresh', 'channel', 'intver_1', true, '{}', '{}', at, at`,
    );
    await insertMany(
      `event (bot_id, id, type, conversation_id, user_id, message_id, status, due_at, created_at)
     SELECT 'bot', 'evt_later_' || place, 'message_created', 'conv_' || place, 'user_' || place, 'later_' || place,
       'scheduled', at, at`,
    );
    await insertMany(
      `scheduled_message (bot_id, id, conversation_id, user_id, type, payload, tags, direction, due_at, created_at, updated_at)
     SELECT 'bot', 'later_' || place, 'conv_' || place, 'user_' || place, 'text', '{}', '{}', 'incoming', at, at, at`,
    );
  });

  afterAll(() => test?.drop());

  async function insertMany(insert: string) {
    await test.database.query(
      `INSERT INTO ${insert} FROM generate_series(1, $1::int) AS i,
       LATERAL (SELECT lpad(i::text, 6, '0') AS place, timestamptz '2025-01-01Z' + i * interval '1 second' AS at) AS made`,
      [manyCount],
    );
  }

  /** Returns the result and the number of pages read. Rolls back the changes. */
  async function readPages<T>(work: (tx: Sql) => Promise<T>): Promise<{ found: T; pages: number }> {
    let found: T;
    const statements = await sentDuring(async () => void (found = await undone(test.database, work)));
    return { found: found!, pages: await pagesOf(test.database, statements) };
  }

  describe('reads few pages', () => {
    it('reads few pages for a message of a conversation with many participants', async () => {
      const principal = { installation: chat, claim: 'user_019999' };

      const { found, pages } = await readPages(() => chatApi.findChatMessage(principal, 'msg_crowd'));

      expect([found.stored?.id, found.isParticipant]).toEqual(['msg_crowd', true]);
      expect(pages).toBeLessThan(mostPages);
    });

    it.each<[string, () => Promise<unknown>]>([
      ['user', () => users.findUserById(fresh, 'fresh_000007')],
      ['user, to lock it', () => users.lockUser(test.database, fresh, 'fresh_000007')],
      ['conversation', () => conversations.findConversationById(fresh, 'fresh_000007')],
    ])('reads few pages for a %s of an installation that is not in the statistics', async (_what, find) => {
      const { found, pages } = await readPages(find);

      expect(found).toMatchObject({ id: 'fresh_000007' });
      expect(pages).toBeLessThan(mostPages);
    });

    it('reads few pages for an active workflow among many that have ended', async () => {
      const filter = { name: 'usual', tags: {}, group: 'active' } as const;

      const { found, pages } = await readPages((tx) => workflows.findOldestWorkflow(tx, bot, filter));

      expect(found?.id).toBe('wrk_019999');
      expect(pages).toBeLessThan(mostPages);
    });

    it('reads few pages for the next current workflow of a conversation', async () => {
      const ended = { bot_id: 'bot', conversation_id: 'conv_crowd', id: 'wrk_000002' } as WorkflowEntity;

      const { found, pages } = await readPages(async (tx) => {
        await workflows.makeCurrent(tx, ended);
        await workflows.makeAnotherCurrent(tx, ended);
        return tx.query(`SELECT current_workflow_id FROM conversation WHERE bot_id = 'bot' AND id = 'conv_crowd'`);
      });

      expect(found).toEqual([{ current_workflow_id: 'wrk_000001' }]);
      expect(pages).toBeLessThan(mostPages);
    });

    it('reads few pages for scheduled messages that are due', async () => {
      const { found, pages } = await readPages((tx) => scheduled.claimDueMessages(tx, 3));

      expect(found.map(({ event_id }) => event_id)).toEqual([
        'evt_later_000001',
        'evt_later_000002',
        'evt_later_000003',
      ]);
      expect(pages).toBeLessThan(mostPages);
    });

    it('reads few pages to cancel a scheduled message', async () => {
      const { found, pages } = await readPages((tx) =>
        scheduled.cancelScheduledMessage(tx, { bot_id: 'bot', id: 'later_000007' }),
      );

      expect(found).toBe(true);
      expect(pages).toBeLessThan(mostPages);
    });
  });
});

describe('lists filtered by a value that most older rows have', () => {
  const formerCount = 30_000;
  const laterCount = 10_000;
  const pageSize = 3;
  /** Budget: the pages of the listed rows and of their authors. A scan of the later rows would read hundreds. */
  const mostPages = 120;

  const bot = { botId: 'bot', alias: null };
  const integration = { botId: 'bot', alias: 'former' };
  const chat = { botId: 'bot', alias: 'former', workspaceId: 'w', integrationId: 'intver_1' };
  const middle = new Date(Date.UTC(2025, 0, 1) + 1_000_000).toISOString();

  let test: TestDatabase;
  let events: EventsRepository;
  let messages: MessagesRepository;
  let users: UsersRepository;
  let conversations: ConversationsRepository;
  let workflows: WorkflowsRepository;
  let chatApi: ChatApiRepository;

  beforeAll(async () => {
    test = await createTestDatabase(chatDatabase.migrations, chatDatabase.schema, chatDatabase.entities);
    const bounded = new BoundedReadsService(test.database, new ChatConfig());
    events = new EventsRepository(test.database, bounded, new PendingEventsRepository(test.database, new Outbox()));
    messages = new MessagesRepository(test.database, bounded);
    users = new UsersRepository(test.database, bounded, test.database.manager.getRepository(UserEntity));
    conversations = new ConversationsRepository(test.database, bounded);
    workflows = new WorkflowsRepository(test.database, bounded);
    chatApi = new ChatApiRepository(test.database, test.database.manager.getRepository(ConversationEntity));

    await withoutAutovacuum(test.database);
    await fill('former', formerCount, '2025-01-01Z');
    await fill('later', laterCount, '2026-01-01Z');
    await test.database.query('ANALYZE');
  });

  afterAll(() => test?.drop());

  /**
   * Rows created one second apart, with ids in the same order. Beside each tenth row stands one with a value that
   * occurs throughout.
   */
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

  describe('reads only the pages of the listed rows', () => {
    it.each<[string, List]>([
      [
        'messages of a conversation',
        (page) => messages.listMessages(bot, { ...page, conversationId: 'former_000001' }),
      ],
      [
        "an integration's, too",
        (page) => messages.listMessages(integration, { ...page, conversationId: 'former_000001' }),
      ],
      ['events of an integration', (page) => events.listEvents(integration, page)],
      ['events of a type', (page) => events.listEvents(bot, { ...page, type: 'former' })],
      ['events of a conversation', (page) => events.listEvents(bot, { ...page, conversationId: 'former' })],
      ['events of a user', (page) => events.listEvents(bot, { ...page, userId: 'former' })],
      ['events of a message', (page) => events.listEvents(bot, { ...page, messageId: 'former' })],
      ['events of a workflow', (page) => events.listEvents(bot, { ...page, workflowId: 'former' })],
      ['events with a status', (page) => events.listEvents(bot, { ...page, status: 'failed' })],
      ['workflows of an integration', (page) => workflows.listWorkflows(integration, page)],
      ['workflows with a name', (page) => workflows.listWorkflows(bot, { ...page, name: 'former' })],
      ['workflows of a conversation', (page) => workflows.listWorkflows(bot, { ...page, conversationId: 'former' })],
      ['workflows of a user', (page) => workflows.listWorkflows(bot, { ...page, userId: 'former' })],
      ['workflows of another', (page) => workflows.listWorkflows(bot, { ...page, parentWorkflowId: 'former' })],
      ['workflows with a status', (page) => workflows.listWorkflows(bot, { ...page, statuses: ['failed'] })],
      ['users of an integration', (page) => users.listUsers(integration, page)],
      ['the same by their updates', (page) => users.listUsers(integration, { ...page, sortField: 'updatedAt' })],
      ['conversations of an integration', (page) => conversations.listConversations(integration, page)],
      [
        'the same by their updates',
        (page) => conversations.listConversations(integration, { ...page, sortField: 'updatedAt' }),
      ],
      ['conversations of a channel', (page) => conversations.listConversations(bot, { ...page, channel: 'former' })],
    ])('reads only the pages of the listed rows: %s', async (_what, list) => {
      const { numbers, pages } = await readTwoPages(list);

      expect(numbers).toEqual(newest);
      expect(pages).toBeLessThan(mostPages);
    });

    it.each<[string, List]>([
      ['messages', ({ nextToken }) => chatApi.listChatMessages('bot', 'former_000001', nextToken)],
      ['conversations', ({ nextToken }) => chatApi.listOwnedConversations(chat, 'former', nextToken)],
    ])('reads only the pages of the listed rows: %s, in the chat API', async (_what, list) => {
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
    ])('reads only the pages of the listed rows: messages %s', async (_what, span, expected) => {
      const { numbers, pages } = await readTwoPages((page) =>
        messages.listMessages(bot, { ...page, ...span, conversationId: 'former_000001' }),
      );

      expect(numbers).toEqual(expected);
      expect(pages).toBeLessThan(mostPages);
    });

    it.each([
      ['users', (query: object) => users.listUsers(integration, query)],
      ['conversations', (query: object) => conversations.listConversations(integration, query)],
      [
        'conversations of a channel',
        (query: object) => conversations.listConversations(bot, { ...query, channel: 'former' }),
      ],
    ])('reads only the pages of the listed rows: %s, in both directions and with a date range', async (_what, list) => {
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

  describe('erasing the last rows of a conversation that had most rows', () => {
    it.each([
      ['message', 'former_000001'],
      ['event', 'former'],
    ])('erases the last rows of a conversation without reading rows of others: %s', async (table, conversation_id) => {
      const ofIt = `FROM ${table} WHERE conversation_id = '${conversation_id}'`;
      // Statistics: nearly all rows belong to this conversation.
      await test.database.query(`DELETE FROM ${table} WHERE id LIKE '%some' OR id > 'later_003000'`);
      await test.database.query(`VACUUM ANALYZE ${table}`);
      await test.database.query(`DELETE ${ofIt} AND id > 'former_000003'`);
      await test.database.query(`VACUUM ${table}`);
      const erasure = new ErasureRepository(test.database, new TagsRepository(test.database));

      const statements = await sentDuring(async () => {
        for await (const _count of erasure.deleteRowsOfConversation('bot', conversation_id, 500));
      });

      await expect(test.database.query(`SELECT 1 ${ofIt}`)).resolves.toEqual([]);
      await expect(pagesOf(test.database, statements)).resolves.toBeLessThan(mostPages);
    });
  });
});

/** A snapshot of autovacuum's own ANALYZE would keep the VACUUM of a test from removing deleted rows. */
async function withoutAutovacuum(database: Database): Promise<void> {
  await database.query(`
    DO $$
    DECLARE part regclass;
    BEGIN
      FOR part IN SELECT oid FROM pg_class WHERE relkind = 'r' AND relnamespace = 'chat'::regnamespace LOOP
        EXECUTE format('ALTER TABLE %s SET (autovacuum_enabled = false)', part);
      END LOOP;
    END $$`);
}

describe('messages with tags', () => {
  const scope = { botId: 'bot', alias: null };
  const count = 20_000;

  let test: TestDatabase;
  let messages: MessagesRepository;

  /**
   * Fixture: many conversations with one message each that has the popular tag; a small conversation with three
   * messages without it; a large one where all messages have it, two have a rare tag and half have an even number. One
   * message is scheduled in the large conversation and one in its own. The large conversation is written after ANALYZE:
   * the statistics do not contain it.
   */
  beforeAll(async () => {
    test = await createTestDatabase(chatDatabase.migrations, chatDatabase.schema, chatDatabase.entities);
    messages = new MessagesRepository(test.database, new BoundedReadsService(test.database, new ChatConfig()));
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

  /** Writes messages; `conversationId` and `tags` are SQL expressions of the message number `i`. */
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

  async function find(...filters: [conversationId: string, tags: Tags][]) {
    let ids: (string | undefined)[] = [];
    const statements = await sentDuring(async () => {
      const rows = await test.database.transaction((tx) =>
        messages.findOldestMessagesByTags(
          tx,
          scope,
          filters.map(([conversation_id, tags]) => ({ conversation_id, tags })),
        ),
      );
      ids = rows.map((row) => row?.id);
    });
    return { ids, statements, pages: await pagesOf(test.database, statements) };
  }

  async function list(conversationId: string, tags: Tags) {
    let ids: string[] = [];
    const statements = await sentDuring(async () => {
      const { rows } = await messages.listMessages(scope, { conversationId, tags, pageSize: 2 });
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
    ])(
      'reads few pages for the oldest message of a conversation with tags that is %s',
      async (_case, conversationId, tags, expected, maxPages) => {
        const { ids, pages } = await find([conversationId, tags]);

        expect(ids).toEqual([expected]);
        expect(pages).toBeLessThan(maxPages);
      },
    );
  });

  it('finds a hundred oldest tagged messages in as many statements as one', async () => {
    const many = Array.from({ length: 100 }, (_, index): [string, Tags] => [`conv_${index + 1}`, { kind: 'welcome' }]);

    const one = await find(many[0]!);
    const all = await find(...many, ['small', { kind: 'welcome' }], many[0]!);

    expect(all.ids).toEqual([...many.map((_, index) => `conv_${index + 1}_${index + 1}`), undefined, 'conv_1_1']);
    expect(all.statements).toHaveLength(one.statements.length);
    expect(all.pages).toBeLessThan(4_000);
  });

  it('limits the time of a tag lookup, but not of other statements of the transaction', async () => {
    const config = Object.assign(new ChatConfig(), { listTimeoutMs: 1 });
    const impatient = new MessagesRepository(test.database, new BoundedReadsService(test.database, config));
    const timeout = (tags: Tags, repository: MessagesRepository) =>
      test.database.transaction(async (tx) => {
        await repository.findOldestMessagesByTags(tx, scope, [{ conversation_id: 'large', tags }]);
        return tx.query('SHOW statement_timeout');
      });

    expect(await timeout({ a: '1', kind: 'welcome' }, messages)).toEqual([{ statement_timeout: '30s' }]);
    // Half of the messages have one tag, half the other, none both.
    await expect(timeout({ a: '1', b: '1' }, impatient)).rejects.toMatchObject({
      type: 'OperationTimeout',
      message: expect.stringContaining('Filter by a tag that few messages of the conversation have.'),
    });
  });

  it('uses one plan for the latest messages of all conversations', async () => {
    for (const conversationId of [...Array<string>(6).fill('small'), 'large', 'conv_1']) {
      const { rows } = await messages.listMessages(scope, { conversationId });
      expect(new Set(rows.map((row) => row.conversation_id))).toEqual(new Set([conversationId]));
    }

    expect(await keptPlans(test.database, 'latest-messages-100')).toBe(3);
  });

  describe('the list of messages of a conversation with tags', () => {
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
    ])(
      'reads few pages for messages with tags that are %s',
      async (_case, conversationId, tags, expected, maxPages) => {
        const { ids, pages } = await list(conversationId, tags);

        expect(ids).toEqual(expected);
        expect(pages).toBeLessThan(maxPages);
      },
    );
  });
});

describe('rows with tags', () => {
  const tables: Record<TagKind, string> = {
    user: '"user" (bot_id, id, tags, created_at, updated_at, properties)',
    conversation: `conversation (bot_id, id, tags, created_at, updated_at, properties, integration_alias, integration_id,
    channel, is_chat)`,
    message: 'message (bot_id, id, tags, created_at, updated_at, payload, conversation_id, user_id, type, direction)',
    workflow: 'workflow (bot_id, id, tags, created_at, updated_at, input, output, name, status, timeout_at)',
  };
  const further: Record<TagKind, string> = {
    user: `'{}'`,
    conversation: `'{}', 'team', 'intver_1', 'channel', false`,
    message: `'{}', 'conv_1', 'user_1', 'text', 'incoming'`,
    workflow: `'{}', '{}', 'w', 'completed', now()`,
  };
  const kinds = Object.keys(tables) as TagKind[];
  const count = 20_000;

  let test: TestDatabase;

  beforeAll(async () => {
    test = await createTestDatabase(chatDatabase.migrations, chatDatabase.schema, chatDatabase.entities);
    for (const kind of kinds) {
      await test.database.query(
        `WITH made AS (
         INSERT INTO ${tables[kind]}
         SELECT 'bot', 'thing_' || lpad(i::text, 6, '0'), jsonb_strip_nulls(jsonb_build_object(
             'a popular', 'x', 'b rare', CASE WHEN i > $1 - 3 THEN 'y' END, 'c parity', (i % 2)::text)),
           timestamptz '2026-01-01Z' + i * interval '1 second', timestamptz '2026-02-01Z' - i * interval '1 second',
           ${further[kind]}
         FROM generate_series(1, $1) AS i RETURNING *)
       INSERT INTO tag (bot_id, kind, name, value, created_at, object_id)
       SELECT bot_id, '${kind}', key, value, created_at, id FROM made, jsonb_each_text(tags)`,
        [count],
      );
    }
    await test.database.query('ANALYZE');
  });

  afterAll(() => test?.drop());

  interface Row {
    id: string;
    created_at: Date;
    updated_at: Date;
  }

  async function find(
    kind: TagKind,
    tags: Record<string, string>,
    order: { by?: 'created_at' | 'updated_at'; direction?: 'asc' | 'desc' } = {},
    nextToken?: string,
  ) {
    const { by = 'created_at', direction = 'asc' } = order;
    const table = tables[kind].split(' ')[0];
    const values: unknown[] = ['bot'];
    const rows = `SELECT * FROM ${table} t WHERE t.bot_id = $1`;
    const { from, time, id } = await taggedRows(test.database, { kind, as: 't', rows, tags, orderBy: by }, values);
    const keyset = new Keyset<Row>(
      [
        { sql: time, type: 'timestamptz', of: (row) => row[by] },
        { sql: id, type: 'text', of: (row) => row.id },
      ],
      direction,
    );
    const found = await test.database.query<Row>(
      `SELECT t.* FROM ${from} WHERE ${keyset.after(nextToken, tags, values)} ORDER BY ${keyset.orderBy} LIMIT 3`,
      values,
    );
    const page = keyset.page(found, 2, tags);
    return { ids: page.rows.map((row) => Number(row.id.slice(-6))), nextToken: page.nextToken };
  }

  describe.each(kinds)('a %s with a popular tag and a rare tag', (kind) => {
    it.each(['created_at', 'updated_at'] as const)(
      'finds a row by its rare tag, even if the popular tag is given first, in the order of %s',
      async (by) => {
        const ids: number[] = [];
        const statements = await sentDuring(async () => {
          const first = await find(kind, { 'a popular': 'x', 'b rare': 'y' }, { by });
          const second = await find(kind, { 'a popular': 'x', 'b rare': 'y' }, { by }, first.nextToken);
          ids.push(...first.ids, ...second.ids);
        });

        const [oldest, middle, newest] = [count - 2, count - 1, count];
        expect(ids).toEqual(by === 'created_at' ? [oldest, middle, newest] : [newest, middle, oldest]);
        // The selection counts two times a thousand entries; rows with the popular tag fill some tens of thousands of
        // pages.
        expect(await pagesOf(test.database, statements)).toBeLessThan(5_000);
      },
    );

    it.each(['created_at', 'updated_at'] as const)(
      'finds a row by two popular tags without reading more rows than requested, in the order of %s',
      async (by) => {
        const tags = { 'a popular': 'x', 'c parity': '0' };
        const ids: number[] = [];

        const statements = await sentDuring(async () => {
          ids.push(...(await find(kind, tags, { by, direction: 'desc' })).ids);
        });

        expect(ids).toEqual(by === 'created_at' ? [count, count - 2] : [2, 4]);
        expect(await pagesOf(test.database, statements)).toBeLessThan(5_000);
      },
    );
  });

  it('finds nothing for an unused tag and for tags that no row has together', async () => {
    expect((await find('user', { 'a popular': 'x', none: 'z' })).ids).toEqual([]);
    expect((await find('user', { 'a popular': 'y', 'b rare': 'y' })).ids).toEqual([]);
  });
});
