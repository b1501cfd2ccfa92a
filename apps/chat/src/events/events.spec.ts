import type { Client } from '@botpress/client';
import { newId } from '@parley/persistence/ids';
import { joinService } from '@parley/testing/joined-service';
import { waitFor } from '@parley/testing/wait-for';
import { ChatModule } from '../chat.module';
import { ChatConfig } from '../config';
import { type ChatBot, type ChatService, failure, startChat } from '../test/chat-service';

type NewEvent = Parameters<Client['createEvent']>[0];

/** Longer than any test: events can only be released by a wake-up. */
const sweepIntervalMs = 600_000;

let api: ChatService;
let bot: ChatBot;
let client: Client;
let asTeam: Client;
let conversationId: string;
let userId: string;

beforeAll(async () => {
  api = await startChat({ sweepIntervalMs });
  bot = await api.newBot();
  ({ client, asTeam } = bot);
  conversationId = await newConversation();
  userId = await newUser();
});

afterAll(() => api?.stop());

async function newUser(of = client): Promise<string> {
  return (await of.createUser({ tags: {} })).user.id;
}

async function newConversation(of = client, channel = 'channel'): Promise<string> {
  return (await of.createConversation({ channel, tags: {} })).conversation.id;
}

async function newEvent(input: Partial<NewEvent> = {}, of = client) {
  return (await of.createEvent({ type: 'happened', payload: {}, ...input })).event;
}

async function newWorkflow(): Promise<string> {
  const id = newId('wrkflow');
  await api.sql(
    `INSERT INTO chat.workflow (bot_id, id, name, status, input, output, tags, timeout_at, created_at, updated_at)
     VALUES ($1, $2, 'w', 'pending', '{}', '{}', '{}', now() + interval '1 hour', now(), now())`,
    [bot.id, id],
  );
  return id;
}

async function newMessage({ schedule, of = conversationId }: { schedule?: NewEvent['schedule']; of?: string } = {}) {
  const content = { type: 'text', payload: { text: 'hi' }, tags: { a: 'b' } };
  const { message } = await client.createMessage({ ...content, conversationId: of, userId, schedule });
  const { events } = await client.listEvents({ messageId: message.id, type: 'message_created' });
  return { messageId: message.id, eventId: events[0]!.id };
}

async function statusOf(id: string): Promise<string> {
  return (await client.getEvent({ id })).event.status;
}

const inAnHour = { delay: 3_600_000 };

describe('an event', () => {
  it('returns the fields with which an event was created, as pending', async () => {
    const { messageId } = await newMessage();
    const about = { conversationId, userId, messageId, workflowId: await newWorkflow() };

    const { event } = await client.createEvent({ type: 'order:paid', payload: { a: [1, null, 'é'] }, ...about });

    expect(event).toEqual({
      id: expect.stringMatching(/^evt_/),
      createdAt: expect.any(String),
      type: 'order:paid',
      payload: { a: [1, null, 'é'] },
      conversationId,
      userId,
      messageId,
      status: 'pending',
      failureReason: null,
    });
    expect((await client.getEvent({ id: event.id })).event).toEqual(event);
  });

  it('creates an event with status 201', async () => {
    const reply = await api.send('POST /v1/chat/events', {
      headers: api.headersOf(bot.id),
      json: { type: 'a', payload: {} },
    });

    expect(reply.status).toBe(201);
  });

  it('creates an event once per idempotency key, scheduled for the time of the first request', async () => {
    const headers = { ...api.headersOf(bot.id), 'idempotency-key': 'one-event' };
    const json = { type: 'once', payload: {}, schedule: { delay: 1_000 } };
    const send = () => api.send('POST /v1/chat/events', { headers, json });

    const replies = [await send(), await send()];

    expect(replies[1]!.json).toEqual(replies[0]!.json);
    expect(replies.map((reply) => [reply.status, reply.headers['idempotent-replayed']])).toEqual([
      [201, undefined],
      [201, 'true'],
    ]);
    expect((await client.listEvents({ type: 'once' })).events).toHaveLength(1);
  });

  it.each([
    ['an empty schedule', { type: 'a', payload: {}, schedule: {} }, 'InvalidPayload', /^schedule must have either/],
    [
      'two times',
      { type: 'a', payload: {}, schedule: { delay: 1, dateTime: '2030-01-01T00:00:00.000Z' } },
      'InvalidPayload',
      /^schedule must have either/,
    ],
    [
      'a time in years',
      { type: 'a', payload: {}, schedule: { dateTime: '2999-01-01T00:00:00.000Z' } },
      'InvalidPayload',
      /a year ahead/,
    ],
  ])('rejects an event with %s', async (_case, json, type, message) => {
    const reply = await api.send('POST /v1/chat/events', { headers: api.headersOf(bot.id), json });

    expect(reply.json).toMatchObject({ type, message: expect.stringMatching(message) });
  });

  it.each(['conversationId', 'userId', 'messageId', 'workflowId'] as const)(
    'rejects an event with a %s that is not found in the bot',
    async (field) => {
      const other = await api.newBot();
      const ids = {
        conversationId: await newConversation(other.client),
        userId: await newUser(other.client),
        messageId: newId('msg'),
        workflowId: newId('wrkflow'),
      };

      const { type, message } = await failure(newEvent({ conversationId, [field]: ids[field] }));

      expect([type, message]).toEqual([
        'ReferenceNotFound',
        `${field} "${ids[field]}" is not a ${field.slice(0, -2)} of this bot.`,
      ]);
    },
  );

  it('accepts an event that refers to a message that is not due yet', async () => {
    const { messageId } = await newMessage({ schedule: inAnHour });

    expect((await newEvent({ messageId })).messageId).toBe(messageId);
  });

  it('returns 404 for an event of another bot and for an unknown id', async () => {
    const { id } = await newEvent();
    const other = await api.newBot();

    expect((await failure(other.client.getEvent({ id }))).type).toBe('ResourceNotFound');
    expect((await failure(client.getEvent({ id: 'evt_none' }))).type).toBe('ResourceNotFound');
  });
});

describe('an event of an integration', () => {
  it("shows the type of an integration's event as alias:type to the bot and as type to the integration", async () => {
    const event = await newEvent({ type: 'opened' }, asTeam);

    expect(event.type).toBe('opened');
    expect((await asTeam.getEvent({ id: event.id })).event.type).toBe('opened');
    expect((await client.getEvent({ id: event.id })).event.type).toBe('team:opened');
    expect((await asTeam.listEvents({ type: 'opened' })).events.map(({ id }) => id)).toEqual([event.id]);
    expect((await client.listEvents({ type: 'team:opened' })).events.map(({ id }) => id)).toEqual([event.id]);
    expect((await client.listEvents({ type: 'opened' })).events).toEqual([]);
  });

  it('shows an event of an integration to it only if the integration created it', async () => {
    const { id } = await newEvent({ type: 'team:lent', schedule: inAnHour });

    expect((await failure(asTeam.getEvent({ id }))).type).toBe('ResourceNotFound');
    expect((await failure(asTeam.cancelScheduledEvent({ id }))).type).toBe('ResourceNotFound');
    expect((await asTeam.listEvents({ type: 'lent' })).events).toEqual([]);
    expect((await asTeam.listEvents({})).events.map(({ type }) => type)).not.toContain('lent');
  });

  it('lets an integration cancel the event of a scheduled message in its conversation', async () => {
    const [mine, other] = [
      await newMessage({ of: await newConversation(asTeam, 'group'), schedule: inAnHour }),
      await newMessage({ schedule: inAnHour }),
    ];

    expect(await asTeam.cancelScheduledEvent({ id: mine.eventId })).toEqual({});

    expect(await statusOf(mine.eventId)).toBe('canceled');
    expect((await failure(client.getMessage({ id: mine.messageId }))).type).toBe('ResourceNotFound');
    expect((await failure(asTeam.cancelScheduledEvent({ id: other.eventId }))).type).toBe('ResourceNotFound');
    expect(await statusOf(other.eventId)).toBe('scheduled');
  });

  it('rejects an event of an integration that refers to objects of others', async () => {
    const own = await newConversation(asTeam, 'group');
    const [messageOfBot, messageOfTeam] = [await newMessage(), await newMessage({ of: own })];

    expect((await newEvent({ conversationId: own, messageId: messageOfTeam.messageId }, asTeam)).conversationId).toBe(
      own,
    );
    const refused = await Promise.all(
      [{ conversationId }, { userId }, { messageId: messageOfBot.messageId }, { workflowId: await newWorkflow() }].map(
        (about) => failure(newEvent(about, asTeam)),
      ),
    );
    expect(refused.map(({ type }) => type)).toEqual(Array(4).fill('ReferenceNotFound'));
  });
});

describe('the event of a message', () => {
  it('shows the current message, user and conversation in the event of a message', async () => {
    const { eventId, messageId } = await newMessage();
    await client.updateUser({ id: userId, name: 'Ann' });
    const { user } = await client.getUser({ id: userId });
    const { conversation } = await client.getConversation({ id: conversationId });

    const { event } = await client.getEvent({ id: eventId });

    expect(event).toMatchObject({ type: 'message_created', messageId, userId, conversationId, status: 'pending' });
    expect(event.payload).toEqual({
      message: expect.objectContaining({ id: messageId, payload: { text: 'hi' }, tags: { a: 'b' }, userId }),
      user,
      conversation,
    });
    const { events } = await client.listEvents({ messageId });
    expect(events).toEqual([event]);
  });

  it('omits deleted objects from the event of a message', async () => {
    const of = await newConversation();
    const { eventId, messageId } = await newMessage({ of });
    await client.deleteMessage({ id: messageId });

    const { payload } = (await client.getEvent({ id: eventId })).event;

    expect(payload).toEqual({ user: expect.any(Object), conversation: expect.objectContaining({ id: of }) });
  });

  it('shows a scheduled message in its event before it is due', async () => {
    const { eventId, messageId } = await newMessage({ schedule: inAnHour });

    const { status, payload } = (await client.getEvent({ id: eventId })).event;

    expect([status, payload['message']]).toEqual(['scheduled', expect.objectContaining({ id: messageId })]);
  });
});

describe('a scheduled event', () => {
  it('makes a scheduled event pending at its due time and not before', async () => {
    const dueAt = new Date(Date.now() + 300);
    const event = await newEvent({ schedule: { dateTime: dueAt.toISOString() } });
    expect(event.status).toBe('scheduled');

    await waitFor(async () => (await statusOf(event.id)) === 'pending');

    expect(Date.now()).toBeGreaterThanOrEqual(dueAt.getTime());
  });

  it('releases a scheduled event of another process on time after a sweep has seen it', async () => {
    const { id } = await newEvent({ schedule: inAnHour });
    const dueAt = new Date(Date.now() + 300);

    await api.sql('UPDATE chat.event SET due_at = $2 WHERE id = $1', [id, dueAt]);
    await newEvent({ schedule: { delay: 1 } });

    await waitFor(async () => (await statusOf(id)) === 'pending');
    expect(Date.now()).toBeGreaterThanOrEqual(dueAt.getTime());
  });

  it('finds scheduled events in a process that did not create them', async () => {
    const { id } = await newEvent({ schedule: inAnHour });
    const config = Object.assign(new ChatConfig(), api.settings, { sweepIntervalMs: 50 });
    const other = await joinService(api, 'other', (platform) => ChatModule.register(config, platform));

    await api.sql('UPDATE chat.event SET due_at = now() WHERE id = $1', [id]);

    await waitFor(async () => (await statusOf(id)) === 'pending');
    await other.stop();
  });

  it.each([
    ['its time is past', { dateTime: '2020-01-01T00:00:00.000Z' }],
    ['it has no delay', { delay: 0 }],
  ])('makes an event pending at once when %s', async (_case, schedule) => {
    expect((await newEvent({ schedule })).status).toBe('pending');
  });

  it('releases scheduled events without waiting for one that another transaction has locked', async () => {
    const held = await newEvent({ schedule: inAnHour });
    await api.sql(`UPDATE chat.event SET due_at = now() + interval '100 ms' WHERE id = $1`, [held.id]);
    await api.sql('BEGIN');
    await api.sql('SELECT 1 FROM chat.event WHERE id = $1 FOR UPDATE', [held.id]);

    const free = await newEvent({ schedule: { delay: 200 } });

    await waitFor(async () => (await statusOf(free.id)) === 'pending');
    expect(await statusOf(held.id)).toBe('scheduled');
    await api.sql('COMMIT');
    await newEvent({ schedule: { delay: 1 } });
    await waitFor(async () => (await statusOf(held.id)) === 'pending');
  });

  it('leaves a scheduled event without a payload to the worker of scheduled messages', async () => {
    const id = newId('evt');
    await api.sql(
      `INSERT INTO chat.event (bot_id, id, type, status, due_at, created_at)
       VALUES ($1, $2, 'message_created', 'scheduled', now(), now())`,
      [bot.id, id],
    );

    const later = await newEvent({ schedule: { delay: 100 } });
    await waitFor(async () => (await statusOf(later.id)) === 'pending');

    expect(await statusOf(id)).toBe('scheduled');
  });

  it('does not make an event pending after it was canceled', async () => {
    const { id } = await newEvent({ schedule: inAnHour });

    expect(await client.cancelScheduledEvent({ id })).toEqual({});

    await api.sql('UPDATE chat.event SET due_at = now() WHERE id = $1', [id]);
    const later = await newEvent({ schedule: { delay: 100 } });
    await waitFor(async () => (await statusOf(later.id)) === 'pending');
    expect(await statusOf(id)).toBe('canceled');
  });

  it('deletes the message of a scheduled event that is canceled', async () => {
    const { eventId, messageId } = await newMessage({ schedule: inAnHour });
    const other = await newMessage({ schedule: inAnHour });

    await client.cancelScheduledEvent({ id: eventId });

    const left = await api.sql('SELECT id FROM chat.scheduled_message WHERE id IN ($1, $2)', [
      messageId,
      other.messageId,
    ]);
    expect(left).toEqual([{ id: other.messageId }]);
    expect(await statusOf(eventId)).toBe('canceled');
  });

  it('cancels an event once, and only while it is scheduled', async () => {
    const [pending, canceled] = [await newEvent(), await newEvent({ schedule: inAnHour })];
    const both = await Promise.all(
      [1, 2, 3].map(() =>
        client.cancelScheduledEvent({ id: canceled.id }).then(
          () => 'done',
          ({ type, message }: { type: string; message: string }) => `${type}: ${message}`,
        ),
      ),
    );

    const conflict = (id: string, status: string) =>
      `RelationConflict: The event "${id}" is ${status}: only scheduled events can be canceled.`;
    expect(both.sort()).toEqual([conflict(canceled.id, 'canceled'), conflict(canceled.id, 'canceled'), 'done']);
    expect(await failure(client.cancelScheduledEvent({ id: pending.id }))).toMatchObject({
      type: 'RelationConflict',
      message: expect.stringContaining('is pending'),
    });
    expect((await failure(client.cancelScheduledEvent({ id: 'evt_none' }))).type).toBe('ResourceNotFound');
  });

  it('refuses to cancel the event of a message that is being written right now', async () => {
    const { eventId, messageId } = await newMessage({ schedule: inAnHour });
    await api.sql('BEGIN');
    await api.sql('SELECT 1 FROM chat.event WHERE id = $1 FOR UPDATE', [eventId]);

    const cancelling = failure(client.cancelScheduledEvent({ id: eventId }));
    await waitFor(async () => {
      await api.sql('SELECT pg_stat_clear_snapshot()');
      const waiting = await api.sql(
        `SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%canceled%'
           AND datname = current_database() AND pid <> pg_backend_pid()`,
      );
      return waiting.length > 0;
    });
    await api.sql('DELETE FROM chat.scheduled_message WHERE id = $1', [messageId]);
    await api.sql(`UPDATE chat.event SET status = 'pending' WHERE id = $1`, [eventId]);
    await api.sql('COMMIT');

    expect((await cancelling).type).toBe('RelationConflict');
    expect(await statusOf(eventId)).toBe('pending');
  });
});

describe('the list of events', () => {
  let listed: ChatBot;
  const made: Record<string, string> = {};

  beforeAll(async () => {
    listed = await api.newBot();
    const of = listed.client;
    const [conversation, user, other] = [await newConversation(of), await newUser(of), await newUser(of)];
    Object.assign(made, { conversation, user, other });
    const about = { conversationId: conversation, userId: user };
    made['a'] = (await newEvent({ type: 'a' }, of)).id;
    made['b'] = (await newEvent({ type: 'b', ...about }, of)).id;
    made['c'] = (await newEvent({ type: 'b', userId: user, schedule: inAnHour }, of)).id;
    made['d'] = (await newEvent({ type: 'a', conversationId: conversation, userId: other }, of)).id;
    made['e'] = (await newEvent({ type: 'a', ...about, schedule: inAnHour }, of)).id;
    await of.cancelScheduledEvent({ id: made['e'] });
  });

  const cases: [string, () => Parameters<Client['listEvents']>[0], string[]][] = [
    ['everything, newest first', () => ({}), ['e', 'd', 'c', 'b', 'a']],
    ['a type', () => ({ type: 'a' }), ['e', 'd', 'a']],
    ['a conversation', () => ({ conversationId: made['conversation'] }), ['e', 'd', 'b']],
    ['a user', () => ({ userId: made['user'] }), ['e', 'c', 'b']],
    ['a status', () => ({ status: 'pending' }), ['d', 'b', 'a']],
    ['the status scheduled', () => ({ status: 'scheduled' }), ['c']],
    ['the status canceled', () => ({ status: 'canceled' as 'scheduled' }), ['e']],
    ['a status that no event has', () => ({ status: 'processed' }), []],
    ['a message that has none', () => ({ messageId: 'msg_none' }), []],
    ['a workflow that has none', () => ({ workflowId: 'wrkflow_none' }), []],
    ['two filters', () => ({ type: 'b', status: 'scheduled' }), ['c']],
    ['three', () => ({ type: 'a', userId: made['user'], conversationId: made['conversation'] }), ['e']],
    [
      'all that fit together',
      () => ({ type: 'b', userId: made['user'], conversationId: made['conversation'], status: 'pending' }),
      ['b'],
    ],
  ];

  it.each(cases)('lists events: %s', async (_case, filter, names) => {
    const { events } = await listed.client.listEvents(filter());

    expect(events.map(({ id }) => Object.keys(made).find((name) => made[name] === id))).toEqual(names);
  });

  it('filters events by workflow and by message', async () => {
    const workflowId = await newWorkflow();
    const [{ messageId }, { id }] = [await newMessage(), await newEvent({ workflowId })];

    expect((await client.listEvents({ workflowId })).events.map((event) => event.id)).toEqual([id]);
    expect((await client.listEvents({ messageId, type: 'message_created' })).events).toHaveLength(1);
    expect((await client.listEvents({ messageId, workflowId })).events).toEqual([]);
  });

  it('returns every event once while new events arrive between pages', async () => {
    const of = (await api.newBot()).client;
    const ids: string[] = [];
    for (let i = 0; i < 7; i++) ids.unshift((await newEvent({ type: 'paged' }, of)).id);

    const seen: string[] = [];
    let nextToken: string | undefined;
    do {
      const page = await of.listEvents({ type: 'paged', pageSize: 3, nextToken });
      seen.push(...page.events.map(({ id }) => id));
      nextToken = page.meta.nextToken;
      await newEvent({ type: 'paged' }, of);
    } while (nextToken);

    expect(seen).toEqual(ids);
  });

  it('rejects a nextToken of another list of events', async () => {
    const of = listed.client;
    const { meta } = await of.listEvents({ type: 'a', pageSize: 1 });

    const refused = await Promise.all([
      failure(of.listEvents({ type: 'b', nextToken: meta.nextToken })),
      failure(of.listEvents({ nextToken: meta.nextToken })),
      failure(client.listEvents({ type: 'a', nextToken: meta.nextToken })),
      failure(listed.asTeam.listEvents({ type: 'a', nextToken: meta.nextToken })),
      failure(of.listEvents({ nextToken: 'x' })),
    ]);

    expect(refused.map(({ type }) => type)).toEqual(Array(5).fill('InvalidQuery'));
  });
});
