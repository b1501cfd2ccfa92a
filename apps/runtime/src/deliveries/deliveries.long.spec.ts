import dns from 'node:dns/promises';
import type { Client } from '@botpress/client';
import { type Account, configured, type PublicApi, startPublicApi } from '@parley/testing/public-api';
import type { DeliveryEntry } from '@parley/contracts/runtime/deliveries';
import { json, LoopbackServer, type RequestHandler } from '@parley/testing/loopback-server';
import { waitFor } from '@parley/testing/wait-for';
import { eventsPending } from '@parley/contracts/chat/deliveries';
import { newId } from '@parley/persistence/ids';
import type { Platform } from '@parley/service/platform';
import { platformToken } from '@parley/service/tokens';
import { Webhook } from 'standardwebhooks';
import { AdminModule } from '../../../admin/src/admin.module';
import { ChatConfig } from '../../../chat/src/config';
import { ChatModule } from '../../../chat/src/chat.module';
import { GatewayModule } from '../../../gateway/src/gateway.module';
import { HubModule } from '../../../hub/src/hub.module';
import { RuntimeConfig } from '../config';
import { RuntimeModule } from '../runtime.module';

interface Body {
  event: { id: string; type: string; payload: { message?: { payload: { text: string } } } };
}

const deliveriesWaitingPerBot = 6;

let api: PublicApi;
let account: Account;

beforeAll(async () => {
  api = await startPublicApi(
    GatewayModule,
    AdminModule,
    HubModule,
    configured(ChatModule, ChatConfig, { sweepIntervalMs: 100 }),
    configured(RuntimeModule, RuntimeConfig, { deliveriesWaitingPerBot }),
  );
  account = await api.newAccount();
});

const servers: LoopbackServer[] = [];

afterAll(async () => {
  await api?.stop();
  await Promise.all(servers.map((server) => server.close()));
});

type Definition = Parameters<Client['createBot']>[0];

/** Bot with a server of its own that answers events like this, and other calls with success, leaving no connection open. */
async function newBot(answer: RequestHandler = json({}), definition: Definition = {}) {
  const server = await LoopbackServer.start((request, response) => {
    if (request.headers['x-bp-operation'] === 'event_received') return answer(request, response);
    response.setHeader('connection', 'close');
    return json({})(request, response);
  });
  servers.push(server);
  const { bot } = await account.client.createBot({ url: `${server.url}/bot`, ...definition });
  const client = api.client(account.token, account.workspaceId, bot.id);
  const events = () => server.requests.filter(({ headers: { 'x-bp-operation': kind } }) => kind === 'event_received');
  const settled = async (id: string) =>
    waitFor(
      async () => (await client.getEvent({ id })).event,
      ({ status }) => status !== 'pending',
    );
  const create = async (options: Partial<Parameters<Client['createEvent']>[0]> = {}) =>
    (await client.createEvent({ type: 'happened', payload: {}, ...options })).event.id;
  return { id: bot.id, signingSecret: bot.signingSecret, client, server, events, settled, create };
}

const status = ({ status: current, failureReason }: { status: string; failureReason: string | null }) => ({
  status: current,
  failureReason,
});
const runtimeError = (message: string) => ({ id: 'err_1', code: 400, type: 'Runtime', message });

async function deliveriesOf(botId: string, query = '') {
  const headers = { authorization: `Bearer ${api.operatorToken}` };
  const { json: answer } = await api.send(`GET /operator/runtime/bots/${botId}/deliveries${query}`, { headers });
  return (answer as { deliveries: DeliveryEntry[] }).deliveries;
}

describe('an event', () => {
  it('sends an event to the url of the bot with all headers, and marks it as processed', async () => {
    const bot = await newBot(json({}), { configuration: { data: { color: 'blue' } }, tags: { team: 'a' } });
    const { conversation } = await bot.client.createConversation({ channel: 'channel', tags: {} });
    const { user } = await bot.client.createUser({ tags: {} });
    const text = { type: 'text', payload: { text: 'Grüße 👋' }, tags: {} };

    const { message } = await bot.client.createMessage({ conversationId: conversation.id, userId: user.id, ...text });
    const { events } = await bot.client.listEvents({ messageId: message.id });
    const event = await bot.settled(events[0]!.id);

    expect(status(event)).toEqual({ status: 'processed', failureReason: null });
    expect(bot.events()).toHaveLength(1);
    const { method, path, headers, bytes, body } = bot.events()[0]!;
    expect([method, path]).toEqual(['POST', '/bot']);
    expect(headers).toMatchObject({
      'x-bot-id': bot.id,
      'x-bot-user-id': bot.id,
      'x-bp-operation': 'event_received',
      'x-bp-type': 'message_created',
      'x-bp-attempt': '1',
      traceparent: expect.stringMatching(/^00-/),
    });
    expect(decoded(headers['x-bp-configuration'])).toEqual({ payload: JSON.stringify({ color: 'blue' }) });
    expect(decoded(headers['x-bp-tags'])).toEqual({ team: 'a' });
    expect(bytes.every((byte) => byte < 0x80)).toBe(true);
    expect(body).toMatchObject({
      event: {
        id: event.id,
        type: 'message_created',
        payload: { message: { id: message.id, payload: text.payload }, user: { id: user.id } },
      },
    });
    const signature = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]));
    new Webhook(bot.signingSecret, { format: 'raw' }).verify(bytes.toString(), signature);
  });

  it('fails an event with the reason of the bot after a 4xx answer, without repeating it', async () => {
    const bot = await newBot(json(runtimeError('no stock left'), 400));

    const event = await bot.settled(await bot.create());

    expect(status(event)).toEqual({ status: 'failed', failureReason: 'no stock left' });
    expect(bot.events()).toHaveLength(1);
  });

  it.each([
    ['500', json({ error: 'boom' }, 500)],
    ['429', json({}, 429)],
    ['400 with the text of old SDKs', json(runtimeError('An unexpected error occurred in the bot.'), 400)],
  ])('repeats an event after an answer %s, with the same id', async (_case, failing) => {
    const answers = [failing, json({})];
    const bot = await newBot((request, response) => answers.shift()!(request, response));

    const event = await bot.settled(await bot.create());

    expect(event.status).toBe('processed');
    const ids = bot.events().map(({ body }) => (body as Body).event.id);
    expect(ids).toEqual([event.id, event.id]);
    expect(bot.events().map(({ headers }) => headers['x-bp-attempt'])).toEqual(['1', '2']);
    // The event is processed a moment before its work ends.
    const [delivery] = await waitFor(
      () => deliveriesOf(bot.id),
      ([only]) => only?.status !== 'pending',
    );
    expect(delivery).toMatchObject({ eventId: event.id, status: 'processed', attempts: [{}, { status: 200 }] });
  });

  it('ignores an event of a type that the bot does not subscribe to', async () => {
    const bot = await newBot(json({}), { subscriptions: { events: { other: {} } } });

    const event = await bot.settled(await bot.create());

    expect(status(event)).toEqual({ status: 'ignored', failureReason: 'The bot does not subscribe to this event.' });
    expect(bot.events()).toEqual([]);
  });

  it('does not send an event whose conversation was deleted before its delivery', async () => {
    const gate = newGate();
    const bot = await newBot(gate.answer);
    const { conversation } = await bot.client.createConversation({ channel: 'channel', tags: {} });
    const first = await bot.create({ conversationId: conversation.id });
    await waitFor(() => bot.events().length === 1);
    await bot.create({ conversationId: conversation.id });

    await bot.client.deleteConversation({ id: conversation.id });
    gate.open();

    await waitFor(
      () => deliveriesOf(bot.id),
      (all) => all.every(({ status: current }) => current !== 'pending'),
    );
    expect(bot.events().map(({ body }) => (body as Body).event.id)).toEqual([first]);
  });
});

describe('a bot without a url', () => {
  it('delivers events to a bot without a url as soon as it has one', async () => {
    const server = await LoopbackServer.start(json({}));
    servers.push(server);
    const { id } = (await account.client.createBot({})).bot;
    const client = api.client(account.token, account.workspaceId, id);
    const { event } = await client.createEvent({ type: 'happened', payload: {} });

    await account.client.updateBot({ id, url: server.url });

    await waitFor(
      async () => (await client.getEvent({ id: event.id })).event.status,
      (current) => current === 'processed',
    );
  });
});

describe('a bot that cannot be called', () => {
  it('keeps events of a blocked bot, and delivers them afterwards', async () => {
    const bot = await newBot();
    await bot.settled(await bot.create());
    const gate = newGate();
    const held = await newBot(gate.answer);
    const first = await held.create();
    await waitFor(() => held.events().length === 1);

    await account.client.updateBot({ id: held.id, blocked: true });
    gate.open();
    await held.settled(first);
    await account.client.updateBot({ id: held.id, blocked: false });

    expect((await held.settled(await held.create())).status).toBe('processed');
  });

  it('does not call a bot at a metadata address, shows the reason, and keeps its events', async () => {
    const bot = await newBot(json({}), { url: 'http://169.254.169.254/latest' });
    const id = await bot.create();

    const [delivery] = await waitFor(
      () => deliveriesOf(bot.id),
      (all) => all[0]?.status === 'parked',
    );
    expect(delivery).toMatchObject({ eventId: id, reason: expect.stringContaining('169.254.169.254') });
    expect((await bot.client.getEvent({ id })).event.status).toBe('pending');

    await account.client.updateBot({ id: bot.id, url: bot.server.url });

    expect((await bot.settled(id)).status).toBe('processed');
  });

  it('keeps its events for 24 hours, and then ignores them with the reason', async () => {
    const bot = await newBot(json({}), { url: 'http://169.254.169.254/latest' });
    const [kept, late] = [await bot.create(), await bot.create()];
    const stateOf = async (id: string) => (await deliveriesOf(bot.id, `?eventId=${id}`))[0]?.status;
    const age = (id: string, time: string) =>
      api.sql(`UPDATE runtime.work SET created_at = now() - $2::interval WHERE key LIKE '%' || $1`, [id, time]);
    for (const id of [kept, late]) await waitFor(async () => (await stateOf(id)) === 'parked');
    await age(kept, '23 hours 59 minutes');
    await age(late, '24 hours');

    await account.client.updateBot({ id: bot.id, url: 'http://169.254.169.254/newest' });

    expect(status(await bot.settled(late))).toEqual({
      status: 'ignored',
      failureReason: expect.stringMatching(/^The bot could not be called for 24 hours: .*169\.254\.169\.254/),
    });
    expect(await stateOf(kept)).toBe('parked');
  });

  it('does not call a bot whose name changes to a forbidden address: DNS rebinding', async () => {
    let host = '';
    const bot = await newBot((request, response) => {
      host = request.headers.host!;
      response.setHeader('connection', 'close').end('{}');
    });
    let address = '127.0.0.1';
    const lookup = jest
      .spyOn(dns, 'lookup')
      .mockImplementation((() => Promise.resolve([{ address, family: 4 }])) as never);
    try {
      await account.client.updateBot({
        id: bot.id,
        url: `http://rebinding.example.org:${new URL(bot.server.url).port}`,
      });
      // Events go to the former URL until the runtime has heard of the change.
      await waitFor(
        async () => ((await bot.settled(await bot.create())).status === 'processed' ? host : ''),
        (called) => called.startsWith('rebinding'),
      );
      const calls = bot.events().length;
      address = '169.254.169.254';

      const id = await bot.create();

      const [delivery] = await waitFor(
        () => deliveriesOf(bot.id, `?eventId=${id}`),
        ([found]) => found?.status === 'parked',
      );
      expect(delivery!.reason).toContain('169.254.169.254');
      expect(bot.events()).toHaveLength(calls);
    } finally {
      lookup.mockRestore();
    }
  });

  it('keeps the latest events of a bot that cannot be called, and ignores the oldest beyond the limit', async () => {
    const bot = await newBot(json({}), { url: 'http://169.254.169.254/latest' });
    const { conversation } = await bot.client.createConversation({ channel: 'channel', tags: {} });
    const ids: string[] = [];
    for (let number = 0; number < 10; number += 1) {
      // Two of them wait behind a parked one.
      ids.push(await bot.create(number < 3 ? { conversationId: conversation.id } : {}));
      await waitFor(
        () => deliveriesOf(bot.id, `?eventId=${ids.at(-1)}`),
        ({ length }) => length === 1,
      );
    }

    const [ignored, kept] = [ids.slice(0, -deliveriesWaitingPerBot), ids.slice(-deliveriesWaitingPerBot)];
    for (const id of ignored)
      expect(status(await bot.settled(id))).toEqual({
        status: 'ignored',
        failureReason: 'More than 6 events waited for the bot, which could not be called: the oldest are ignored.',
      });
    await waitFor(
      () => deliveriesOf(bot.id, '?status=parked'),
      ({ length }) => length === kept.length,
    );
    await waitFor(
      () => account.client.listBotIssues({ id: bot.id }),
      ({ issues }) => issues.some(({ code }) => code === 'events_ignored'),
    );
    await account.client.updateBot({ id: bot.id, url: bot.server.url });
    for (const id of kept) expect((await bot.settled(id)).status).toBe('processed');
    expect(bot.events()).toHaveLength(kept.length);
  });
});

describe('the limit of events that wait for a bot', () => {
  it('counts an event that is delivered towards the limit, until its delivery has ended', async () => {
    const gate = newGate();
    const bot = await newBot(gate.answer);
    const tried = await bot.create();
    await waitFor(() => bot.events().length === 1);
    await account.client.updateBot({ id: bot.id, url: 'http://169.254.169.254/latest' });

    for (let number = 0; number < deliveriesWaitingPerBot; number += 1) await bot.create();

    const looksAgain = () =>
      api.sql(
        `SELECT 1 FROM runtime.work WHERE queue = 'runtime.waitingDeliveries' AND key = $1 AND last_error LIKE $2`,
        [bot.id, '%are being tried%'],
      );
    await waitFor(looksAgain, ({ length }) => length === 1);
    gate.open();
    expect((await bot.settled(tried)).status).toBe('processed');
    await waitFor(looksAgain, ({ length }) => length === 0);
    expect(await deliveriesOf(bot.id, '?status=parked')).toHaveLength(deliveriesWaitingPerBot);
  });
});

describe('the order', () => {
  it('sends events of a conversation in order, one at a time, without delaying other conversations', async () => {
    const running = new Map<string, number>();
    const seen: string[] = [];
    const gate = newGate();
    const bot = await newBot(async (request, response) => {
      const { event } = request.body as { event: { id: string; conversationId: string } };
      const count = (running.get(event.conversationId) ?? 0) + 1;
      running.set(event.conversationId, count);
      seen.push(`${event.id} ${count}`);
      if (event.conversationId === slow) await gate.opened;
      running.set(event.conversationId, count - 1);
      response.end('{}');
    });
    const conversations = await Promise.all(
      Array.from({ length: 3 }, () => bot.client.createConversation({ channel: 'channel', tags: {} })),
    );
    const [slow, ...others] = conversations.map(({ conversation }) => conversation.id) as [string, string, string];
    const created: Record<string, string[]> = {};
    for (let round = 0; round < 5; round += 1) {
      for (const conversationId of [slow, ...others])
        (created[conversationId] ??= []).push(await bot.create({ conversationId }));
    }

    await Promise.all(others.flatMap((id) => created[id]!).map((id) => bot.settled(id)));
    const seenOfSlow = seen.filter((entry) => created[slow]!.includes(entry.split(' ')[0]!));
    gate.open();
    await Promise.all(created[slow]!.map((id) => bot.settled(id)));

    expect(seenOfSlow).toHaveLength(1);
    for (const ids of Object.values(created))
      expect(seen.filter((entry) => ids.includes(entry.split(' ')[0]!))).toEqual(ids.map((id) => `${id} 1`));
  });
});

it('delivers the later events of a conversation after one that the bot handles at the third attempt', async () => {
  const answers = [json({}, 500), json({}, 500)];
  const bot = await newBot((request, response) => (answers.shift() ?? json({}))(request, response));
  const { conversation } = await bot.client.createConversation({ channel: 'channel', tags: {} });
  const [first, second, third] = [
    await bot.create({ conversationId: conversation.id }),
    await bot.create({ conversationId: conversation.id }),
    await bot.create({ conversationId: conversation.id }),
  ];

  const events = await Promise.all([first, second, third].map((id) => bot.settled(id)));

  expect(events.map((event) => event.status)).toEqual(['processed', 'processed', 'processed']);
  expect(bot.events().map(({ body }) => (body as Body).event.id)).toEqual([first, first, first, second, third]);
  const [delivery] = await deliveriesOf(bot.id, `?eventId=${first}`);
  expect(delivery!.attempts.map((attempt) => attempt.status)).toEqual([500, 500, 200]);
});

/** As chat announces a pending event. */
async function announce(botId: string, event: { id: string; conversationId?: string }, { apps } = api): Promise<void> {
  const { events } = apps.at(-1)!.get<Platform>(platformToken, { strict: false });
  const data = { botId, events: [{ ...event, type: 'happened' }] };
  await events.publish([{ id: newId('outbox'), subject: eventsPending.subject, data }]);
}

it('delivers an event once that is announced again before chat has noted its outcome', async () => {
  const bot = await newBot();
  const id = await bot.create();
  await bot.settled(id);
  await api.sql(`UPDATE chat.event SET status = 'pending' WHERE id = $1`, [id]);

  await announce(bot.id, { id });
  const next = await bot.create();
  await bot.settled(next);
  await waitFor(
    () => api.sql(`SELECT 1 FROM runtime.work WHERE queue = 'runtime.deliveries' AND tenant = $1`, [bot.id]),
    (rows) => rows.length === 0,
  );

  expect(bot.events().map(({ body }) => (body as Body).event.id)).toEqual([id, next]);
});

it('delivers an event first that another process of chat wrote before and announces later', async () => {
  const bot = await newBot();
  // Pending events of a bot that has a url now were announced; the second look waits.
  await waitFor(
    () =>
      api.sql<{ state: string }>(`SELECT state FROM chat.work WHERE queue = 'chat.announceEvents' AND tenant = $1`, [
        bot.id,
      ]),
    (rows) => rows.length === 1 && rows[0]!.state === 'waiting',
  );
  const { conversation } = await bot.client.createConversation({ channel: 'channel', tags: {} });
  const conversationId = conversation.id;
  const early = newId('evt');
  await api.sql(
    `INSERT INTO chat.event (bot_id, id, type, payload, status, conversation_id, created_at)
     VALUES ($1, $2, 'happened', '{}', 'pending', $3, now())`,
    [bot.id, early, conversationId],
  );

  const late = await bot.create({ conversationId });
  const other = await bot.create();
  await bot.settled(other);
  await waitFor(
    () => api.sql(`SELECT 1 FROM runtime.work WHERE last_error = 'An earlier event is not delivered yet.'`),
    (rows) => rows.length === 1,
  );
  await announce(bot.id, { id: early, conversationId });
  await Promise.all([early, late].map((id) => bot.settled(id)));

  expect(bot.events().map(({ body }) => (body as Body).event.id)).toEqual([other, early, late]);
});

it('makes no attempt while chat is away', async () => {
  const withoutChat = await startPublicApi(
    GatewayModule,
    AdminModule,
    HubModule,
    configured(RuntimeModule, RuntimeConfig),
  );
  try {
    const { client } = await withoutChat.newAccount();
    const { bot } = await client.createBot({ url: 'http://127.0.0.1:9/bot' });
    await announce(bot.id, { id: newId('evt') }, withoutChat);

    const work = await waitFor(
      () => withoutChat.sql(`SELECT state, attempts FROM runtime.work WHERE last_error LIKE 'No service instance%'`),
      ({ length }) => length === 1,
    );

    expect(work).toEqual([{ state: 'waiting', attempts: 0 }]);
  } finally {
    await withoutChat.stop();
  }
});

describe('a member of the workspace', () => {
  const headersOf = ({ token }: Account, botId: string) => ({ authorization: `Bearer ${token}`, 'x-bot-id': botId });

  it('shows the attempts of an event to a member of the workspace, who may replay it', async () => {
    const answers = [json(runtimeError('out of order'), 400), json({})];
    const bot = await newBot((request, response) => answers.shift()!(request, response));
    const id = await bot.create();
    expect((await bot.settled(id)).status).toBe('failed');
    const headers = headersOf(account, bot.id);
    const deliveries = async () =>
      (await api.send(`GET /v1/chat/deliveries?eventId=${id}`, { headers })).json.deliveries;
    const failed = await waitFor(deliveries, ([delivery]) => delivery?.status === 'failed');

    expect((await api.send(`POST /v1/chat/events/${id}/replay`, { headers, json: {} })).json).toEqual({ replayed: 1 });

    expect(failed).toMatchObject([{ attempts: [{ status: 400 }] }]);
    expect(status(await bot.settled(id))).toEqual({ status: 'processed', failureReason: null });
    await waitFor(deliveries, ([delivery]) => delivery?.attempts.length === 2);
  });

  it('hides events of a bot from members of other workspaces, also for replays', async () => {
    const bot = await newBot();
    const id = await bot.create();
    await bot.settled(id);
    const stranger = await api.newAccount();
    const { bot: own } = await stranger.client.createBot({});

    const [list, ofOthers, replay] = [
      await api.send(`GET /v1/chat/deliveries?eventId=${id}`, { headers: headersOf(stranger, own.id) }),
      await api.send('GET /v1/chat/deliveries', { headers: headersOf(stranger, bot.id) }),
      await api.send(`POST /v1/chat/events/${id}/replay`, { headers: headersOf(stranger, own.id), json: {} }),
    ];

    expect(list.json).toEqual({ deliveries: [], meta: {} });
    expect(ofOthers.json).toMatchObject({ type: 'Forbidden' });
    expect(replay.json).toMatchObject({ type: 'ResourceNotFound' });
  });
});

describe('the operator', () => {
  it('lets the operator replay an event that failed', async () => {
    const answers = [json(runtimeError('out of order'), 400), json({})];
    const bot = await newBot((request, response) => answers.shift()!(request, response));
    const id = await bot.create();
    expect((await bot.settled(id)).status).toBe('failed');
    const headers = { authorization: `Bearer ${api.operatorToken}` };

    await api.send(`POST /operator/chat/bots/${bot.id}/events/replay`, { headers, json: { eventId: id } });

    expect(status(await bot.settled(id))).toEqual({ status: 'processed', failureReason: null });
    const [delivery] = await deliveriesOf(bot.id, `?eventId=${id}`);
    expect(delivery!.attempts.map((attempt) => attempt.status)).toEqual([400, 200]);
  });

  it('lets the operator ping a bot', async () => {
    const bot = await newBot();
    const headers = { authorization: `Bearer ${api.operatorToken}` };
    const ping = async () => (await api.send(`POST /operator/runtime/bots/${bot.id}/ping`, { headers, json: {} })).json;

    expect(await ping()).toMatchObject({ status: 200, error: null });
    await bot.server.close();
    servers.splice(servers.indexOf(bot.server), 1);
    expect(await ping()).toMatchObject({ status: null, error: expect.stringContaining('refused') });
  });
});

it('registers a bot once it was deployed', async () => {
  const bot = await newBot();

  await waitFor(() => bot.server.requests.some(({ headers }) => headers['x-bp-operation'] === 'register'));
});

it('erases the deliveries of a deleted bot', async () => {
  const bot = await newBot();
  await bot.settled(await bot.create());

  await account.client.deleteBot({ id: bot.id });

  await waitFor(
    () => api.sql<{ count: number }>('SELECT count(*)::int FROM runtime.delivery WHERE bot_id = $1', [bot.id]),
    ([row]) => row!.count === 0,
  );
});

it('refuses a configuration that does not fit into the headers of a request to a url', async () => {
  const data = { text: 'x'.repeat(11_000) };

  await expect(newBot(json({}), { configuration: { data } })).rejects.toMatchObject({ type: 'LimitExceeded' });
});

function decoded(header: string | string[] | undefined): unknown {
  return JSON.parse(Buffer.from(String(header), 'base64').toString());
}

/** Holds answers back until it is opened. */
function newGate() {
  let open = () => {};
  const opened = new Promise<void>((resolve) => (open = resolve));
  const answer: RequestHandler = async (_request, response) => {
    await opened;
    response.end('{}');
  };
  return { open: () => open(), opened, answer };
}
