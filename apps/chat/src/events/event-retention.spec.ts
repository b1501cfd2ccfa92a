import { joinService } from '@parley/testing/joined-service';
import { waitFor } from '@parley/testing/wait-for';
import { newId } from '@parley/persistence/ids';
import { encodeTime } from 'ulid';
import { ChatModule } from '../chat.module';
import { ChatConfig } from '../config';
import { type ChatBot, type ChatService, startChat } from '../test/chat-service';

const day = 24 * 60 * 60_000;
const statuses = ['pending', 'processed', 'ignored', 'failed', 'canceled', 'scheduled'];

let api: ChatService;
let bot: ChatBot;
let conversationId: string;
let userId: string;

beforeAll(async () => {
  api = await startChat();
  bot = await api.newBot();
  userId = (await bot.asTeam.createUser({ tags: {} })).user.id;
  ({ id: conversationId } = (await bot.asTeam.createConversation({ channel: 'group', tags: {} })).conversation);
});

afterAll(() => api?.stop());

beforeEach(async () => {
  await api.sql('TRUNCATE chat.event');
});

/** Event created that many days ago; a scheduled one was due at that time. */
async function addEvent({
  botId = bot.id,
  daysAgo = 100,
  status = 'processed',
  dueDaysAgo = null as number | null,
} = {}) {
  const time = new Date(Date.now() - daysAgo * day);
  const id = `evt_${encodeTime(time.getTime(), 10)}${newId('evt').slice(-16)}`;
  await api.sql(
    `INSERT INTO chat.event (bot_id, id, type, payload, status, due_at, created_at) VALUES ($1, $2, 'made', '{}', $3, $4, $5)`,
    [botId, id, status, dueDaysAgo === null ? null : new Date(Date.now() - dueDaysAgo * day), time],
  );
  return id;
}

async function ids() {
  const rows = await api.sql<{ id: string }>('SELECT id FROM chat.event ORDER BY id');
  return rows.map(({ id }) => id);
}

async function sweepUntil(expected: string[], eventRetentionDays = 90) {
  const config = Object.assign(new ChatConfig(), api.settings, { eventRetentionDays });
  const process = await joinService(api, 'sweeping', (platform) => ChatModule.register(config, platform));
  try {
    return await waitFor(ids, (found) => found.length <= expected.length);
  } finally {
    await process.stop();
  }
}

describe('events older than the retention period', () => {
  it('deletes expired events in every status, except scheduled and recently due ones', async () => {
    const made = [];
    for (const status of statuses)
      made.push(await addEvent({ status, dueDaysAgo: status === 'scheduled' ? -1 : null }));
    const kept = [made.at(-1)!, await addEvent({ daysAgo: 89 }), await addEvent({ daysAgo: 1, status: 'pending' })];

    // The age of a scheduled event counts from its due time.
    const [dueLately] = [
      await addEvent({ status: 'pending', daysAgo: 300, dueDaysAgo: 10 }),
      await addEvent({ status: 'pending', daysAgo: 300, dueDaysAgo: 100 }),
    ];

    expect(await sweepUntil([dueLately, ...kept])).toEqual([dueLately, ...kept]);
  });

  it('keeps events for the configured number of days', async () => {
    await addEvent({ daysAgo: 4 });
    const kept = [await addEvent({ daysAgo: 2 })];

    expect(await sweepUntil(kept, 3)).toEqual(kept);
  });

  it('deletes expired events of more bots and of greater number than one batch holds', async () => {
    // One batch holds 100 bots, or 1,000 events of one bot.
    const bots = Array.from({ length: 202 }, (_, n) => `bot-${String(n).padStart(3, '0')}`);
    await api.sql(
      `INSERT INTO chat.event (bot_id, id, type, payload, status, created_at)
       SELECT bot, 'evt_01B' || lpad(n::text, 23, '0'), 'made', '{}', 'processed', '2020-01-01'
       FROM unnest($1::text[]) WITH ORDINALITY AS made (bot, n)`,
      [bots],
    );
    await api.sql(
      `INSERT INTO chat.event (bot_id, id, type, payload, status, created_at)
       SELECT 'bot-100', 'evt_01A' || lpad(n::text, 23, '0'), 'made', '{}', 'pending', '2020-01-01' FROM generate_series(1, 2001) n`,
    );
    const kept = [await addEvent({ botId: 'bot-150', daysAgo: 1 })];

    expect(await sweepUntil(kept)).toEqual(kept);
  });

  it('deletes expired events without their messages, and keeps events of scheduled messages', async () => {
    const content = { conversationId, userId, type: 'text', payload: { text: 'x' }, tags: {} };
    const { message } = await bot.asTeam.createMessage(content);
    const later = (await bot.asTeam.createMessage({ ...content, schedule: { delay: 3_600_000 } })).message;
    await api.sql(
      `UPDATE chat.event SET id = 'evt_00' || substring(id FROM 7), created_at = '2020-01-01' WHERE bot_id = $1`,
      [bot.id],
    );
    const [scheduled] = await api.sql<{ id: string }>("SELECT id FROM chat.event WHERE status = 'scheduled'");

    expect(await sweepUntil([scheduled!.id])).toEqual([scheduled!.id]);

    expect((await bot.client.getMessage({ id: message.id })).message.id).toBe(message.id);
    expect((await bot.client.getMessage({ id: later.id })).message.id).toBe(later.id);
  });

  it('finds expired events by an index, regardless of the number of newer events', async () => {
    await api.sql(
      `INSERT INTO chat.event (bot_id, id, type, payload, status, created_at)
       SELECT 'bot-many', 'evt_7' || lpad(n::text, 25, '0'), 'made', '{}', 'pending', now() FROM generate_series(1, 5000) n`,
    );
    await api.sql('ANALYZE chat.event');

    const [{ 'QUERY PLAN': plan } = { 'QUERY PLAN': '' }] = await api.sql<{ 'QUERY PLAN': string }>(
      `EXPLAIN (FORMAT JSON) SELECT id FROM chat.event WHERE bot_id = 'bot-many' AND status = 'pending' AND id < 'evt_1'
         AND (due_at IS NULL OR due_at < now()) ORDER BY id LIMIT 1000 FOR UPDATE SKIP LOCKED`,
    );

    expect(JSON.stringify(plan)).toMatch(/"Index Scan".*"Index Cond":"[^"]*id < 'evt_1'/);
  });
});
