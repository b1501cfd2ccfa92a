import type { Outbox } from '@parley/events/outbox';
import { newId } from '@parley/persistence/ids';
import { keptPlans, rowsByKeptPlan, sentDuring, undone } from '@parley/testing/sent-statements';
import { createTestDatabase, type TestDatabase } from '@parley/testing/test-database';
import { chatDatabase } from '../chat.module';
import { type NewDraft, NewMessagesRepository } from './new-messages.repository';

const smallBots = 3_000;
const conversationsOfLargeBot = 10_000;

let test: TestDatabase;
let messages: NewMessagesRepository;

/** Thousands of bots with five conversations and users each: a plan for any bot expects few rows. */
beforeAll(async () => {
  test = await createTestDatabase(chatDatabase.migrations, chatDatabase.schema);
  messages = new NewMessagesRepository(test.database, { wake: () => undefined } as Outbox);
  const owners = `(SELECT 'small_' || n % ${smallBots} AS bot_id, n FROM generate_series(1, ${5 * smallBots}) n
    UNION ALL SELECT 'large', n FROM generate_series(1, ${conversationsOfLargeBot}) n) owner`;
  for (const insert of [
    `conversation (bot_id, id, integration_alias, integration_id, channel, is_chat, tags, properties, created_at, updated_at)
     SELECT bot_id, 'conv_' || n, 'chat', 'intver_1', 'channel', true, '{}', '{}', now(), now() FROM ${owners}`,
    `conversation_clock (bot_id, conversation_id) SELECT bot_id, 'conv_' || n FROM ${owners}`,
    `"user" (bot_id, id, tags, properties, created_at, updated_at)
     SELECT bot_id, 'user_' || n, '{}', '{}', now(), now() FROM ${owners}`,
    `participant (bot_id, conversation_id, user_id) SELECT bot_id, 'conv_' || n, 'user_' || n FROM ${owners}`,
  ])
    await test.database.query(`INSERT INTO ${insert}`);
});

afterAll(() => test?.drop());

/** Draft in a conversation of the large bot. */
function draft(conversation: number, userId: string): NewDraft {
  return {
    id: newId('msg'),
    conversation_id: `conv_${conversation}`,
    user_id: userId,
    type: 'text',
    payload: { text: 'hello' },
    tags: { kind: 'greeting' },
    event_id: newId('evt'),
  };
}

const cases: [string, () => NewDraft[]][] = [
  ['a message of the bot', () => [draft(1, 'large')]],
  ['a message of a participant', () => [draft(2, 'user_2')]],
  ['a message of a new participant', () => [draft(3, 'user_4')]],
  ['a hundred messages', () => Array.from({ length: 100 }, (_, n) => draft(n + 1, `user_${n + 1 + (n % 2)}`))],
];

async function expectFewRows(drafts: NewDraft[]): Promise<void> {
  const statements = await sentDuring(() =>
    undone(test.database, (tx) => messages.insertInTransaction(tx, 'large', drafts)),
  );

  const rows = await rowsByKeptPlan(test.database, statements);
  expect(rows).toBeLessThan(50 * drafts.length);
}

it.each(cases)('reads few rows to write %s, also before Postgres has statistics', (_name, drafts) =>
  expectFewRows(drafts()),
);

describe('with statistics', () => {
  beforeAll(() => test.database.query('ANALYZE'));

  it.each(cases)('reads few rows to write %s with statistics', (_name, drafts) => expectFewRows(drafts()));

  it('keeps the plan to write messages for any bot', async () => {
    for (let round = 0; round < 10; round++) await messages.insertInOneCommit('large', [draft(5, 'user_5')]);

    expect(await keptPlans(test.database, 'insertMessages')).toBeGreaterThan(0);
  });
});
