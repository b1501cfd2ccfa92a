import type { Sql } from '@parley/database/database';
import { pagesOf, sentDuring, undone } from '@parley/testing/sent-statements';
import { createTestDatabase, type TestDatabase } from '@parley/testing/test-database';
import { chatDatabase } from '../chat.module';
import { ChatConfig } from '../config';
import { ConversationsRepository } from '../conversations/conversations.repository';
import { EndpointRepository } from '../endpoint/endpoint.repository';
import { ScheduledMessagesRepository } from '../messages/scheduled-messages.repository';
import { UsersRepository } from '../users/users.repository';
import type { WorkflowRow } from '../workflows/workflow.entity';
import { WorkflowsRepository } from '../workflows/workflows.repository';
import { BoundedReads } from './bounded-reads';

const manyCount = 20_000;
/** Some for each row that is looked for or changed; those that it is not about are on hundreds. */
const mostPages = 100;

const bot = { botId: 'bot', alias: null };
const fresh = { botId: 'bot', alias: 'fresh' };
const chat = { botId: 'bot', alias: 'chat', workspaceId: 'w', integrationId: 'intver_1' };

let test: TestDatabase;
let users: UsersRepository;
let conversations: ConversationsRepository;
let workflows: WorkflowsRepository;
let endpoint: EndpointRepository;
let scheduled: ScheduledMessagesRepository;

beforeAll(async () => {
  test = await createTestDatabase(chatDatabase.migrations, 'chat');
  const bounded = new BoundedReads(test.database, new ChatConfig());
  users = new UsersRepository(test.database, bounded);
  conversations = new ConversationsRepository(test.database, bounded);
  workflows = new WorkflowsRepository(test.database, bounded);
  endpoint = new EndpointRepository(test.database);
  scheduled = new ScheduledMessagesRepository(test.database);

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
    // Those that have not ended are a tenth, and nearly all of another name.
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
  // Postgres knows of no such installation, and of none that is scheduled.
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

/** One a second, numbered from 1 in their order. */
async function insertMany(insert: string) {
  await test.database.query(
    `INSERT INTO ${insert} FROM generate_series(1, $1::int) AS i,
       LATERAL (SELECT lpad(i::text, 6, '0') AS place, timestamptz '2025-01-01Z' + i * interval '1 second' AS at) AS made`,
    [manyCount],
  );
}

/** What it gives, and the pages that it looks at; what it changes is undone. */
async function readPages<T>(work: (tx: Sql) => Promise<T>): Promise<{ found: T; pages: number }> {
  let found: T;
  const statements = await sentDuring(async () => void (found = await undone(test.database, work)));
  return { found: found!, pages: await pagesOf(test.database, statements) };
}

describe('Where there are many others, few pages are looked at', () => {
  it('for a message of a conversation with many participants', async () => {
    const asker = { installation: chat, claim: 'user_019999' };

    const { found, pages } = await readPages(() => endpoint.findMessage(asker, 'msg_crowd'));

    expect([found.said?.id, found.isParticipant]).toEqual(['msg_crowd', true]);
    expect(pages).toBeLessThan(mostPages);
  });

  it.each<[string, () => Promise<unknown>]>([
    ['user', () => users.find(fresh, 'fresh_000007')],
    ['user, to lock it', () => users.lock(test.database, fresh, 'fresh_000007')],
    ['conversation', () => conversations.find(fresh, 'fresh_000007')],
  ])('for a %s of an installation that is new', async (_what, find) => {
    const { found, pages } = await readPages(find);

    expect(found).toMatchObject({ id: 'fresh_000007' });
    expect(pages).toBeLessThan(mostPages);
  });

  it('for a workflow that has not ended', async () => {
    const wanted = { name: 'usual', tags: {}, group: 'active' } as const;

    const { found, pages } = await readPages((tx) => workflows.findWanted(tx, bot, wanted));

    expect(found?.id).toBe('wrk_019999');
    expect(pages).toBeLessThan(mostPages);
  });

  it('for the one that becomes the current one of a conversation', async () => {
    const ended = { bot_id: 'bot', conversation_id: 'conv_crowd', id: 'wrk_000002' } as WorkflowRow;

    const { found, pages } = await readPages(async (tx) => {
      await workflows.makeCurrent(tx, ended);
      await workflows.makeAnotherCurrent(tx, ended);
      return tx.query(`SELECT current_workflow_id FROM conversation WHERE bot_id = 'bot' AND id = 'conv_crowd'`);
    });

    expect(found).toEqual([{ current_workflow_id: 'wrk_000001' }]);
    expect(pages).toBeLessThan(mostPages);
  });

  it('for scheduled messages that are due', async () => {
    const { found, pages } = await readPages((tx) => scheduled.takeDue(tx, 3));

    expect(found.map(({ event_id }) => event_id)).toEqual(['evt_later_000001', 'evt_later_000002', 'evt_later_000003']);
    expect(pages).toBeLessThan(mostPages);
  });

  it('for a scheduled message that is cancelled', async () => {
    const { found, pages } = await readPages((tx) => scheduled.cancel(tx, { bot_id: 'bot', id: 'later_000007' }));

    expect(found).toBe(true);
    expect(pages).toBeLessThan(mostPages);
  });
});
