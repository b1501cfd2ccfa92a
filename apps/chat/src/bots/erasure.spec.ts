import { botDeleted } from '@parley/contracts/admin/bots';
import { chat } from '@parley/contracts/chat/chat';
import { systemCaller } from '@parley/contracts/caller';
import { waitFor } from '@parley/testing/wait-for';
import { type ChatService, failure, startChat } from '../test/chat-service';

let api: ChatService;

beforeAll(async () => {
  api = await startChat();
});

afterAll(() => api?.stop());

const none = {
  users: 0,
  conversations: 0,
  participants: 0,
  messages: 0,
  events: 0,
  states: 0,
  workflows: 0,
  tags: 0,
  signals: 0,
  analytics: 0,
  chatAnswers: 0,
};

function leftovers(botId: string) {
  return api.call(chat.countLeftovers, systemCaller('test'), { botId });
}

const isNothing = (left: object) => Object.values(left).every((count) => count === 0);

async function tablesOfBots(): Promise<string[]> {
  const rows = await api.sql<{ name: string }>(
    `SELECT format('%I.%I', table_schema, table_name) AS name
     FROM information_schema.columns JOIN pg_class ON pg_class.oid = format('%I.%I', table_schema, table_name)::regclass
     WHERE table_schema = 'chat' AND column_name = 'bot_id' AND NOT relispartition`,
  );
  return rows.map(({ name }) => name);
}

async function tablesWith(botId: string): Promise<string[]> {
  const found: string[] = [];
  for (const table of await tablesOfBots()) {
    const rows = await api.sql(`SELECT 1 FROM ${table} WHERE bot_id = $1 LIMIT 1`, [botId]);
    if (rows.length > 0) found.push(table);
  }
  return found.sort();
}

async function filledBot(messages = 3) {
  const bot = await api.newBot();
  const { user } = await bot.client.createUser({ tags: { a: 'b' } });
  const { conversation } = await bot.client.createConversation({ channel: 'channel', tags: { a: 'b' } });
  await bot.client.addParticipant({ id: conversation.id, userId: user.id });
  await fill(bot.id, conversation.id, user.id, messages);
  return { ...bot, conversationId: conversation.id, userId: user.id };
}

async function fill(botId: string, conversationId: string, userId: string, messages: number) {
  const values = [botId, conversationId, userId, messages];
  await api.sql(
    `WITH m AS (
       INSERT INTO chat.message (bot_id, id, conversation_id, user_id, type, payload, tags, direction, created_at, updated_at)
       SELECT $1, 'msg_' || $2 || i, $2, $3, 'text', '{}', jsonb_build_object('n', i, 'all', 'same'), 'incoming', now(), now()
       FROM generate_series(1, $4::int) AS i RETURNING *)
     INSERT INTO chat.tag (bot_id, kind, name, value, created_at, object_id)
     SELECT bot_id, 'message', key, value, created_at, id FROM m, jsonb_each_text(tags)`,
    values,
  );
  await api.sql(
    `INSERT INTO chat.event (bot_id, id, type, conversation_id, status, created_at)
     SELECT $1, 'evt_' || $2 || i, 'message_created', $2, 'pending', now() FROM generate_series(1, $3::int) AS i`,
    [botId, conversationId, messages],
  );
  await api.sql(
    `INSERT INTO chat.signal (bot_id, conversation_id, number, type, created_at)
     SELECT $1, $2, i, 'message_created', now() - i * interval '1 second' FROM generate_series(1, $3::int) AS i`,
    [botId, conversationId, messages],
  );
  await api.sql(
    `INSERT INTO chat.scheduled_message (bot_id, id, conversation_id, user_id, type, payload, tags, direction, due_at,
       created_at, updated_at)
     VALUES ($1, 'msg_later' || $2, $2, $3, 'text', '{}', '{}', 'incoming', '2040-01-01', now(), now())`,
    values.slice(0, 3),
  );
  await api.sql(
    `INSERT INTO chat.state (bot_id, type, owner_id, name, id, payload, created_at, updated_at)
     VALUES ($1, 'conversation', $2, 's', 'state_' || $2, '{}', now(), now())`,
    [botId, conversationId],
  );
  await api.sql(
    `INSERT INTO chat.workflow (bot_id, id, name, status, input, output, tags, timeout_at, created_at, updated_at)
     VALUES ($1, 'wrkflow_' || $1, 'w', 'pending', '{}', '{}', '{}', now() + interval '1 day', now(), now())
     ON CONFLICT DO NOTHING`,
    [botId],
  );
  await api.sql(
    `INSERT INTO chat.recurring_event (bot_id, name, type, payload, cron) VALUES ($1, 'r', 'r', '{}', '0 0 * * *')
     ON CONFLICT DO NOTHING`,
    [botId],
  );
  await api.sql(
    `INSERT INTO chat.idempotency_key (scope, operation, key, bot_id, body_hash) VALUES ($1, 'o', gen_random_uuid(), $1, '')`,
    [botId],
  );
  await api.sql(`INSERT INTO chat.recurring_revision VALUES ($1, 1) ON CONFLICT DO NOTHING`, [botId]);
  await api.sql(
    `INSERT INTO chat.analytics_count (bot_id, day, name, count) VALUES ($1, current_date, 'sale', 1)
     ON CONFLICT DO NOTHING`,
    [botId],
  );
  await api.sql(
    `INSERT INTO chat.model_use (bot_id, hour, calls, figures) VALUES ($1, now(), 1, '{}') ON CONFLICT DO NOTHING`,
    [botId],
  );
  await api.sql(
    `INSERT INTO chat.outgoing_change (bot_id, id, conversation_id, previous, current, created_at)
     VALUES ($1, 'change_' || gen_random_uuid(), $2, '{}', '{}', now())`,
    [botId, conversationId],
  );
  await api.sql(
    `INSERT INTO chat.observation (bot_id, id, name, data, created_at)
     VALUES ($1, 'obs_' || gen_random_uuid(), 'seen', '{}', now())`,
    [botId],
  );
}

async function workOf(botId: string) {
  const { work } = await api.call(chat.work.list, systemCaller('test'), { limit: 1_000 });
  return work.filter(({ tenant }) => tenant === botId);
}

/** True after the first pass found no rows. */
async function isWaiting(botId: string): Promise<boolean> {
  const [work] = await workOf(botId);
  return work!.state === 'waiting' && Date.parse(work!.dueAt!) > Date.now() + 2 * 60_000;
}

async function waitForMinutes(botId: string) {
  const [work] = await workOf(botId);
  const { queue, key } = work!;
  await api.sql(`UPDATE chat.work SET created_at = created_at - interval '6 minutes' WHERE tenant = $1`, [botId]);
  await api.call(chat.work.retry, systemCaller('test'), { queue, key });
}

describe('a bot that is deleted', () => {
  it('erases all rows of a deleted bot in batches, and no rows of other bots', async () => {
    const [gone, other] = [await filledBot(5_000), await filledBot()];
    const before = await leftovers(other.id);
    const tables = (await tablesOfBots()).filter((table) => !/dropped_/.test(table)).sort();
    expect(await tablesWith(gone.id)).toEqual(tables);

    await api.alice.client.deleteBot({ id: gone.id });

    expect(await waitFor(() => leftovers(gone.id), isNothing)).toEqual(none);
    await waitFor(
      () => tablesWith(gone.id),
      (left) => left.join() === 'chat.dropped_bot',
    );
    expect(await tablesWith(other.id)).toEqual(tables);
    expect(await leftovers(other.id)).toEqual(before);
    expect(before).toMatchObject({ users: 1, messages: 5 });
  });

  it('deletes rows that a running request wrote after its bot was deleted', async () => {
    const gone = await filledBot();
    await api.alice.client.deleteBot({ id: gone.id });
    await waitFor(() => leftovers(gone.id), isNothing);

    await waitFor(() => isWaiting(gone.id));

    await fill(gone.id, gone.conversationId, gone.userId, 3);
    await waitForMinutes(gone.id);

    await waitFor(
      () => tablesWith(gone.id),
      (left) => left.length === 0,
    );
  });

  it('erases a deleted bot once when the event is delivered twice', async () => {
    const gone = await filledBot();

    await api.publish(botDeleted, { botId: gone.id, workspaceId: api.alice.workspaceId });
    await api.publish(botDeleted, { botId: gone.id, workspaceId: api.alice.workspaceId });

    expect(await waitFor(() => leftovers(gone.id), isNothing)).toEqual(none);
  });

  it('erases a deleted bot in the next process when one stopped in the middle', async () => {
    const gone = await filledBot();
    await api.sql('INSERT INTO chat.dropped_bot VALUES ($1)', [gone.id]);
    await api.sql(
      `INSERT INTO chat.work (queue, key, tenant, payload, state, lease, worker, attempts, due_at, created_at)
       VALUES ('chat.eraseBots', $1, $1, 'null', 'running', 'lease', 'stopped', 1, now(), now() - interval '1 hour')`,
      [gone.id],
    );

    await waitFor(
      () => tablesWith(gone.id),
      (left) => left.length === 0,
    );
  });
});

describe('a conversation that is deleted', () => {
  it('erases messages with tags, events and signals of a deleted conversation, and no others', async () => {
    const bot = await filledBot(5_000);
    const { conversation } = await bot.client.createConversation({ channel: 'channel', tags: {} });
    await fill(bot.id, conversation.id, bot.userId, 3);

    await bot.client.deleteConversation({ id: bot.conversationId });

    const left = await waitFor(
      () => leftovers(bot.id),
      ({ messages, events, signals, tags, states }) =>
        messages === 5 && events === 5 && signals === 3 && tags === 7 && states === 1,
    );
    expect(left).toMatchObject({ users: 1, participants: 0 });
    expect((await bot.client.listTagValues({ key: 'n', type: 'message' })).tags).toHaveLength(3);
  });

  it('deletes rows that a running request wrote after its conversation was deleted, then the queue entry', async () => {
    const bot = await filledBot();
    await bot.client.deleteConversation({ id: bot.conversationId });
    const gone = () =>
      leftovers(bot.id).then(({ messages, events, signals, states }) => messages + events + signals + states);
    await waitFor(gone, (count) => count === 2);
    await waitFor(() => isWaiting(bot.id));

    await fill(bot.id, bot.conversationId, bot.userId, 3);
    await waitForMinutes(bot.id);

    await waitFor(gone, (count) => count === 2);
    await waitFor(async () => (await workOf(bot.id)).length === 0);
  });
});

describe('countLeftovers', () => {
  it('counts zero leftovers of an unknown bot, and returns 404 for an invalid id', async () => {
    expect(await leftovers('00000000-0000-4000-8000-000000000000')).toEqual(none);
    expect((await failure(leftovers('x'))).type).toBe('ResourceNotFound');
  });

  it('allows only the operator to count leftovers', async () => {
    const bot = await api.newBot();
    const line = `GET /operator/chat/bots/${bot.id}/leftovers`;

    const [asOwner, asOperator] = await Promise.all([
      api.send(line, { headers: api.headersOf(bot.id) }),
      api.send(line, { headers: { authorization: `Bearer ${api.operatorToken}` } }),
    ]);

    expect(asOwner.status).toBe(403);
    expect(asOperator).toMatchObject({ status: 200, json: none });
  });
});
