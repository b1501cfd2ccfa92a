import type { Client } from '@botpress/client';
import { waitFor } from '@parley/testing/wait-for';
import { type ChatBot, type ChatService, failure, startChat } from '../test/chat-service';
import { AnalyticsService } from './analytics.service';

let api: ChatService;

beforeAll(async () => {
  api = await startChat();
});

afterAll(() => api?.stop());

const days = { startDate: '2026-03-01', endDate: '2026-03-03' };

const analyticsOf = async ({ id }: ChatBot, range = days) =>
  (await api.alice.client.getBotAnalytics({ id, ...range })).records;

async function newUser(bot: ChatBot, createdAt: string): Promise<string> {
  const { id } = (await bot.client.createUser({ tags: {} })).user;
  await api.sql('UPDATE chat."user" SET created_at = $3 WHERE bot_id = $1 AND id = $2', [bot.id, id, createdAt]);
  return id;
}

const newConversation = async ({ client }: ChatBot) =>
  (await client.createConversation({ channel: 'channel', tags: {} })).conversation.id;

/** Messages of these authors at these times. */
function importAll({ client }: ChatBot, conversationId: string, written: [userId: string, createdAt: string][]) {
  const text = { type: 'text', payload: { text: 'hi' }, tags: {}, discriminateByTags: [] };
  return client.importMessages({
    messages: written.map(([userId, createdAt]) => ({ ...text, conversationId, userId, createdAt })),
  });
}

const track = (client: Client, name: string, count: number) => client.trackAnalytics({ name, count });

function today() {
  const startDate = new Date().toISOString();
  return { startDate, endDate: startDate };
}

describe('getBotAnalytics', () => {
  it('returns a record of zeros for each day without activity', async () => {
    const records = await analyticsOf(await api.newBot());

    expect(records.map(({ startDateTimeUtc, endDateTimeUtc }) => [startDateTimeUtc, endDateTimeUtc])).toEqual([
      ['2026-03-01T00:00:00.000Z', '2026-03-01T23:59:59.999Z'],
      ['2026-03-02T00:00:00.000Z', '2026-03-02T23:59:59.999Z'],
      ['2026-03-03T00:00:00.000Z', '2026-03-03T23:59:59.999Z'],
    ]);
    expect(records[0]).toMatchObject({
      ...{ newUsers: 0, returningUsers: 0, sessions: 0, messages: 0, userMessages: 0, botMessages: 0, events: 0 },
      ...{ eventTypes: {}, customEvents: {}, llm: { calls: 0, latency: { mean: 0 }, cost: { sum: 0 } } },
    });
  });

  it('counts messages of a bot by direction and day, up to the bounds of the range', async () => {
    const bot = await api.newBot();
    const user = await newUser(bot, '2026-01-01T00:00:00Z');
    await importAll(bot, await newConversation(bot), [
      [user, '2026-02-28T23:59:59.999Z'],
      [user, '2026-03-01T00:00:00.000Z'],
      [bot.id, '2026-03-01T10:00:00.000Z'],
      [user, '2026-03-03T23:59:59.999Z'],
      [bot.id, '2026-03-03T12:00:00.000Z'],
      [bot.id, '2026-03-03T13:00:00.000Z'],
      [user, '2026-03-04T00:00:00.000Z'],
    ]);

    const records = await analyticsOf(bot);

    expect(records.map(({ userMessages, messages, botMessages }) => [userMessages, messages, botMessages])).toEqual([
      [1, 1, 1],
      [0, 0, 0],
      [1, 1, 2],
    ]);
  });

  it('counts new users by their creation, and returning ones by their messages on later days', async () => {
    const bot = await api.newBot();
    const [early, fresh] = [await newUser(bot, '2026-01-01T00:00:00Z'), await newUser(bot, '2026-03-01T08:00:00Z')];
    const conversationId = await newConversation(bot);
    await importAll(bot, conversationId, [
      [early, '2026-03-01T09:00:00Z'],
      [early, '2026-03-01T09:01:00Z'],
      [fresh, '2026-03-01T09:00:00Z'],
      [fresh, '2026-03-02T09:00:00Z'],
    ]);

    const records = await analyticsOf(bot);

    expect(records.map(({ newUsers, returningUsers }) => [newUsers, returningUsers])).toEqual([
      [1, 1],
      [0, 1],
      [0, 0],
    ]);
  });

  it('begins a session after a pause of 30 minutes, also over midnight and over the start of the range', async () => {
    const bot = await api.newBot();
    const [ann, bob] = [await newUser(bot, '2026-01-01T00:00:00Z'), await newUser(bot, '2026-01-01T00:00:00Z')];
    await importAll(bot, await newConversation(bot), [
      [ann, '2026-02-28T23:45:00Z'],
      [ann, '2026-03-01T00:10:00Z'],
      [ann, '2026-03-01T00:40:00Z'],
      [ann, '2026-03-01T01:10:00.001Z'],
      [bob, '2026-03-01T01:00:00Z'],
      [bob, '2026-03-01T23:50:00Z'],
      [bob, '2026-03-02T00:10:00Z'],
    ]);

    const records = await analyticsOf(bot);

    expect(records.map(({ sessions }) => sessions)).toEqual([3, 0, 0]);
  });

  it('counts events of a bot by type, without scheduled ones', async () => {
    const bot = await api.newBot();
    for (const type of ['paid', 'paid', 'sent']) await bot.client.createEvent({ type, payload: {} });
    await bot.client.createEvent({ type: 'late', payload: {}, schedule: { delay: 3_600_000 } });

    const [record] = await analyticsOf(bot, today());

    expect(record).toMatchObject({ events: 3, eventTypes: { paid: 2, sent: 1 } });
    expect(record!.eventTypes).not.toHaveProperty('late');
  });

  it.each([
    [{ startDate: '2026-03-02', endDate: '2026-03-01' }, 'endDate must not be before startDate.'],
    [{ startDate: '2026-03-01', endDate: '2026-04-01' }, 'The range from startDate to endDate has 32 days.'],
    [{ startDate: 'soon', endDate: '2026-04-01' }, 'startDate must be a time such as'],
  ])('refuses analytics for the range %j', async (range, begins) => {
    const refused = await failure(analyticsOf(await api.newBot(), range));

    expect(refused.type).toBe('InvalidQuery');
    expect(refused.message).toContain(begins);
  });

  it('requires both dates for analytics', async () => {
    const { id } = await api.newBot();

    const answer = await api.send(`GET /v1/admin/bots/${id}/analytics?startDate=2026-03-01`, {
      headers: api.headersOf(),
    });

    expect(answer).toMatchObject({ status: 400, json: { type: 'InvalidQuery', message: 'endDate is missing.' } });
  });

  it('returns 404 for analytics of a bot of another workspace and of an unknown one', async () => {
    const bot = await api.newBot();
    const mallory = (await api.newAccount()).client;

    const refused = [
      mallory.getBotAnalytics({ id: bot.id, ...days }),
      api.alice.client.getBotAnalytics({ id: 'none', ...days }),
    ];

    await Promise.all(refused.map((refusal) => expect(refusal).rejects.toMatchObject({ type: 'ResourceNotFound' })));
  });
});

describe('trackAnalytics', () => {
  it('adds tracked analytics to the count of the day, with the alias of an integration in names', async () => {
    const bot = await api.newBot();

    await Promise.all([track(bot.client, 'sale', 2), track(bot.client, 'sale', 3), track(bot.asTeam, 'sale', 7)]);

    const [record] = await analyticsOf(bot, today());
    expect(record!.customEvents).toEqual({ sale: 5, 'team:sale': 7 });
  });

  it('adds tracked analytics once for the same idempotency key', async () => {
    const bot = await api.newBot();
    const send = () =>
      api.send('POST /v1/chat/analytics', {
        headers: { ...api.headersOf(bot.id), 'idempotency-key': 'sale-1' },
        json: { name: 'sale', count: 1 },
      });

    const answers = [await send(), await send()];

    expect(answers).toMatchObject([
      { status: 200, json: {} },
      { status: 200, json: {} },
    ]);
    expect((await analyticsOf(bot, today()))[0]!.customEvents).toEqual({ sale: 1 });
  });

  it('refuses names of analytics beyond 1,000 on one day, and still counts the others', async () => {
    const bot = await api.newBot();
    await api.sql(
      `INSERT INTO chat.analytics_count
       SELECT $1, (now() AT TIME ZONE 'UTC')::date, 'name' || n, 1 FROM generate_series(1, 1000) n`,
      [bot.id],
    );

    const refused = await failure(track(bot.client, 'one more', 1));
    await track(bot.client, 'name7', 4);

    expect(refused.type).toBe('QuotaExceeded');
    expect((await analyticsOf(bot, today()))[0]!.customEvents['name7']).toBe(5);
  });

  it.each([
    { name: '', count: 1 },
    { name: 'x', count: 0 },
    { name: 'x', count: 1.5 },
  ])('refuses the tracked analytics %j', async (input) => {
    const { client } = await api.newBot();

    expect((await failure(client.trackAnalytics(input))).type).toBe('InvalidPayload');
  });
});

describe('captureObservation', () => {
  const listAs = async (bot: ChatBot, query = '') => {
    const headers = { authorization: `Bearer ${api.operatorToken}` };
    const answer = await api.send(`GET /operator/chat/bots/${bot.id}/observations${query}`, { headers });
    return (answer.json as { observations: object[] }).observations;
  };

  it('stores an observation for the operator', async () => {
    const bot = await api.newBot();
    const observation = { id: 'a', name: 'llmz', data: { tokens: 3 }, traceId: 't1', messageId: 'm', errorId: 'e' };

    expect(await bot.client.captureObservation(observation)).toEqual({});
    await bot.asTeam.captureObservation({ name: 'other', data: {} });

    expect(await listAs(bot)).toMatchObject([{ name: 'other', data: {} }, observation]);
    expect(await listAs(bot, '?traceId=t1')).toMatchObject([observation]);
    expect(await listAs(await api.newBot())).toEqual([]);
  });

  it('refuses an observation without data', async () => {
    const { client } = await api.newBot();

    const refused = await failure(client.captureObservation({ name: 'x' } as never));

    expect(refused).toMatchObject({ type: 'InvalidPayload', message: expect.stringContaining('data') as string });
  });

  it('deletes an observation after 7 days, and a custom count after 400', async () => {
    const bot = await api.newBot();
    for (const name of ['old', 'recent']) await bot.client.captureObservation({ name, data: {} });
    for (const name of ['old', 'recent']) await track(bot.client, name, 1);
    await api.sql(
      `UPDATE chat.observation SET created_at = now() - interval '8 days' WHERE bot_id = $1 AND name = 'old'`,
      [bot.id],
    );
    await api.sql(`UPDATE chat.analytics_count SET day = day - 402 WHERE bot_id = $1 AND name = 'old'`, [bot.id]);

    await api.apps.at(-1)!.get(AnalyticsService, { strict: false }).deleteOld();

    expect(await listAs(bot)).toMatchObject([{ name: 'recent' }]);
    const left = await api.sql(`SELECT name FROM chat.analytics_count WHERE bot_id = $1`, [bot.id]);
    expect(left).toEqual([{ name: 'recent' }]);
  });
});

it('erases counts and observations with their bot, and observations with their conversation', async () => {
  const bot = await api.newBot();
  const conversationId = await newConversation(bot);
  await bot.client.captureObservation({ name: 'x', data: {}, conversationId });
  await bot.client.captureObservation({ name: 'y', data: {} });
  await track(bot.client, 'sale', 1);
  const leftovers = async () => {
    const headers = { authorization: `Bearer ${api.operatorToken}` };
    return ((await api.send(`GET /operator/chat/bots/${bot.id}/leftovers`, { headers })).json as { analytics: number })
      .analytics;
  };
  expect(await leftovers()).toBe(3);

  await bot.client.deleteConversation({ id: conversationId });
  await waitFor(leftovers, (count) => count === 2);
  await api.alice.client.deleteBot({ id: bot.id });

  await waitFor(leftovers, (count) => count === 0);
});
