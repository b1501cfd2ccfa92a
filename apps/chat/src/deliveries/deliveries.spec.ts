import { systemCaller } from '@parley/contracts/caller';
import { chat } from '@parley/contracts/chat/chat';
import type { Client } from '@botpress/client';
import { newId } from '@parley/persistence/ids';
import { waitFor } from '@parley/testing/wait-for';
import { newChatApi } from '../test/chat-api';
import { type ChatBot, type ChatService, startChat } from '../test/chat-service';
import { type FakeRuntime, newCalledBot, startFakeRuntime } from '../test/fake-runtime';

type Options = Partial<Parameters<Client['createEvent']>[0]>;

let api: ChatService;
let runtime: FakeRuntime;
let bot: ChatBot;
let client: Client;
let conversationId: string;
let userId: string;

beforeAll(async () => {
  api = await startChat();
  runtime = await startFakeRuntime(api);
  bot = await newCalledBot(api, runtime);
  ({ client } = bot);
  conversationId = (await client.createConversation({ channel: 'channel', tags: {} })).conversation.id;
  userId = (await client.createUser({ tags: {} })).user.id;
});

afterAll(() => api?.stop());

const text = { type: 'text', payload: { text: 'hi' }, tags: {} };
const soon = () => ({ delay: 50 });

async function newEvent(options: Options = {}, of = client) {
  return (await of.createEvent({ type: 'happened', payload: {}, ...options })).event;
}

async function newMessage(options: Partial<Parameters<Client['createMessage']>[0]> = {}) {
  return (await client.createMessage({ ...text, conversationId, userId, ...options })).message;
}

async function eventOfMessage(messageId: string) {
  const { events } = await client.listEvents({ messageId, type: 'message_created' });
  return events[0]!;
}

function getPending(eventId: string, botId = bot.id) {
  return api.call(chat.deliveries.getPending, systemCaller('test'), { botId, eventId });
}

function replay(input: object, botId = bot.id) {
  const headers = { authorization: `Bearer ${api.operatorToken}` };
  return api.send(`POST /operator/chat/bots/${botId}/events/replay`, { headers, json: input });
}

const stateOf = async (id: string) => {
  const { status, failureReason } = (await client.getEvent({ id })).event;
  return { status, failureReason };
};

describe('an event that becomes pending is announced', () => {
  it('announces an event when it is created, with its ids and the type that the bot sees', async () => {
    const { workflow } = await client.createWorkflow({ name: 'w', status: 'listening' });
    const { id } = await newEvent({ conversationId, userId, workflowId: workflow.id });
    const ofTeam = await newEvent({ type: 'ping' }, bot.asTeam);

    expect(await runtime.untilAnnounced(bot.id, id)).toEqual({
      ...{ id, type: 'happened', conversationId, userId },
      workflowId: workflow.id,
    });
    expect(await runtime.untilAnnounced(bot.id, ofTeam.id)).toEqual({ id: ofTeam.id, type: 'team:ping' });
  });

  it('announces the event of a message of a user, but not of the bot', async () => {
    const message = await newMessage();
    const { id } = await eventOfMessage(message.id);

    await newMessage({ userId: bot.id });

    expect(await runtime.untilAnnounced(bot.id, id)).toEqual({ id, type: 'message_created', conversationId, userId });
    const last = await newEvent();
    await runtime.untilAnnounced(bot.id, last.id);
    expect(runtime.announcedOf(bot.id).filter(({ type }) => type === 'message_created')).toHaveLength(1);
  });

  it('announces events in the order of the messages, for concurrent and repeated writes', async () => {
    const other = await newCalledBot(api, runtime);
    const of = (await other.client.createConversation({ channel: 'channel', tags: {} })).conversation.id;
    const by = (await other.client.createUser({ tags: {} })).user.id;
    const content = { ...text, conversationId: of, userId: by };

    await Promise.all(Array.from({ length: 30 }, () => other.client.createMessage(content)));
    await api.send('POST /v1/chat/messages', {
      headers: { ...api.headersOf(other.id), 'idempotency-key': 'once' },
      json: content,
    });

    const announced = await waitFor(
      () => runtime.announcedOf(other.id),
      (all) => all.length === 31,
    );
    const rows = await api.sql<{ id: string }>(
      `SELECT event.id FROM chat.event JOIN chat.message ON message.id = message_id WHERE event.bot_id = $1
       ORDER BY message.created_at`,
      [other.id],
    );
    expect(announced.map(({ id }) => id).sort()).toEqual(rows.map(({ id }) => id).sort());
    const together = runtime.announcements.filter(({ botId }) => botId === other.id);
    for (const { events } of together) {
      const places = events.map(({ id }) => rows.findIndex((row) => row.id === id));
      expect(places).toEqual([...places].sort((a, b) => a - b));
    }
  });

  it('announces an event when a user of the chat API writes a message or creates an event', async () => {
    const endpoint = await newChatApi({ ...api, newBot: () => newCalledBot(api, runtime) });
    const user = await endpoint.newUser();
    const { conversation } = await user.createConversation({});

    await user.createMessage({ conversationId: conversation.id, payload: { type: 'text', text: 'hi' } });
    await user.createEvent({ conversationId: conversation.id, payload: { type: 'custom', data: {} } });

    const announced = await waitFor(
      () => runtime.announcedOf(endpoint.bot.id),
      (all) => all.length === 2,
    );
    expect(announced.map(({ type }) => type)).toEqual(['message_created', 'chat:custom']);
  });

  it('announces a scheduled event when it is due, not before', async () => {
    const far = await newEvent({ schedule: { delay: 3_600_000 } });
    const { id } = await newEvent({ schedule: soon() });

    expect(await runtime.untilAnnounced(bot.id, id)).toEqual({ id, type: 'happened' });
    expect(runtime.announcedOf(bot.id).map((event) => event.id)).not.toContain(far.id);
  });

  it('announces the event of a scheduled message when the message is written', async () => {
    const message = await newMessage({ schedule: soon() });
    const { id } = await eventOfMessage(message.id);

    expect(await runtime.untilAnnounced(bot.id, id)).toEqual({ id, type: 'message_created', conversationId, userId });
    expect(runtime.announcedOf(bot.id).filter((event) => event.id === id)).toHaveLength(1);
  });

  it('announces an event when a state expires', async () => {
    const { id } = await newCalledBot(api, runtime, {
      states: { cart: { type: 'user', schema: {}, expiry: 1 } },
    });
    const of = api.client(api.alice.token, api.alice.workspaceId, id);
    const { user } = await of.createUser({ tags: {} });

    await of.setState({ type: 'user', id: user.id, name: 'cart', payload: {} });

    const [announced] = await waitFor(
      () => runtime.announcedOf(id),
      (all) => all.length === 1,
    );
    expect(announced).toMatchObject({ type: 'state_expired', userId: user.id });
  });

  it('announces an event when it recurs', async () => {
    const schedule = { cron: '0 0 1 1 *' };
    const { id } = await newCalledBot(api, runtime, {
      recurringEvents: { tick: { type: 'ticked', payload: {}, schedule } },
    });
    const makeDue = () =>
      api.sql('UPDATE chat.recurring_event SET next_at = now() WHERE bot_id = $1 RETURNING 1', [id]);
    await waitFor(makeDue, (rows) => rows.length === 1);

    const [announced] = await waitFor(
      () => runtime.announcedOf(id),
      (all) => all.length === 1,
    );
    expect(announced).toEqual({ id: expect.any(String), type: 'ticked' });
  });

  it('announces an event when a workflow starts', async () => {
    const { workflow } = await client.createWorkflow({ name: 'w', status: 'pending', conversationId });

    const announced = await waitFor(
      () => runtime.announcedOf(bot.id).filter(({ workflowId }) => workflowId === workflow.id),
      (all) => all.length === 1,
    );
    expect(announced[0]).toMatchObject({ type: 'workflow_update', conversationId });
  });
});

describe('getPending', () => {
  it('names events of the conversation that come before a pending one and are still pending', async () => {
    const of = (await client.createConversation({ channel: 'channel', tags: {} })).conversation.id;
    const { workflow } = await client.createWorkflow({ name: 'w', status: 'listening' });
    const settled = await newEvent({ conversationId: of });
    const events = [await newEvent({ conversationId: of }), await newEvent({ conversationId: of })];
    await newEvent({ conversationId: of, workflowId: workflow.id });
    await newEvent({ userId });
    const last = await newEvent({ conversationId: of, userId });
    await runtime.settle(bot.id, settled.id);

    expect((await getPending(last.id)).earlier).toEqual(events.map(({ id }) => id));
    expect((await getPending(events[0]!.id)).earlier).toBeUndefined();
  });

  it('returns a pending event with its payload', async () => {
    const event = await newEvent({ payload: { text: 'é' }, conversationId, userId });

    expect((await getPending(event.id)).event).toEqual(event);
  });

  it('composes message_created from the current message, user and conversation, as the bot sees them', async () => {
    const { conversation } = await bot.asTeam.createConversation({ channel: 'group', tags: { thread: '1' } });
    const { user } = await bot.asTeam.createUser({ tags: { mail: 'a@b.c' }, name: 'Ann' });
    const { message } = await bot.asTeam.createMessage({
      ...{ ...text, tags: { id: '7' } },
      ...{ conversationId: conversation.id, userId: user.id },
    });
    await client.updateUser({ id: user.id, name: 'Bea' });
    const event = await eventOfMessage(message.id);

    const { event: found } = await getPending(event.id);

    expect(found).toEqual(event);
    expect(found!.payload).toMatchObject({
      message: { tags: { 'team:id': '7' }, createdAt: message.createdAt },
      user: { name: 'Bea', tags: { 'team:mail': 'a@b.c' } },
      conversation: { integration: 'team', tags: { 'team:thread': '1' }, messageCount: 1 },
    });
  });

  it('returns no pending event that is unknown, of another bot, scheduled or settled', async () => {
    const other = await newCalledBot(api, runtime);
    const scheduled = await newEvent({ schedule: { delay: 3_600_000 } });
    const settled = await newEvent();
    const pending = await newEvent();
    await runtime.settle(bot.id, settled.id);

    for (const id of [newId('evt'), scheduled.id, settled.id]) expect(await getPending(id)).toEqual({});
    expect(await getPending(pending.id, other.id)).toEqual({});
    expect((await getPending(pending.id)).event).toEqual(pending);
  });

  it('returns no pending event after the message was deleted', async () => {
    const message = await newMessage();
    const { id } = await eventOfMessage(message.id);
    const own = await newEvent({ messageId: message.id });

    await client.deleteMessage({ id: message.id });

    expect([await getPending(id), await getPending(own.id)]).toEqual([{}, {}]);
  });

  it('returns no pending event after the user was deleted', async () => {
    const { user } = await client.createUser({ tags: {} });
    const { id } = await eventOfMessage((await newMessage({ userId: user.id })).id);
    const own = await newEvent({ userId: user.id });

    await client.deleteUser({ id: user.id });

    expect([await getPending(id), await getPending(own.id)]).toEqual([{}, {}]);
  });

  it('returns no pending event after the conversation was deleted', async () => {
    const { conversation } = await client.createConversation({ channel: 'channel', tags: {} });
    const { id } = await eventOfMessage((await newMessage({ conversationId: conversation.id })).id);
    const own = await newEvent({ conversationId: conversation.id });

    await client.deleteConversation({ id: conversation.id });

    expect([await getPending(id), await getPending(own.id)]).toEqual([{}, {}]);
  });

  it('returns a pending event about the bot as a user, and one about a scheduled message', async () => {
    const aboutBot = await newEvent({ userId: bot.id });
    const message = await newMessage({ schedule: { delay: 3_600_000 } });
    const aboutMessage = await newEvent({ messageId: message.id });

    expect((await getPending(aboutBot.id)).event).toEqual(aboutBot);
    expect((await getPending(aboutMessage.id)).event).toEqual(aboutMessage);
  });
});

describe('a settled event', () => {
  it('sets status and failure reason of a settled event', async () => {
    const [good, bad, unwanted] = [await newEvent(), await newEvent(), await newEvent()];

    await runtime.settle(bot.id, good.id);
    await runtime.settle(bot.id, bad.id, { status: 'failed', failureReason: 'It broke\0.' });
    await runtime.settle(bot.id, unwanted.id, { status: 'ignored', failureReason: 'Not subscribed.' });

    expect(await stateOf(good.id)).toEqual({ status: 'processed', failureReason: null });
    expect(await stateOf(bad.id)).toEqual({ status: 'failed', failureReason: 'It broke\ufffd.' });
    expect(await stateOf(unwanted.id)).toEqual({ status: 'ignored', failureReason: 'Not subscribed.' });
  });

  it('keeps the first outcome of an event when the announcement is repeated or another one comes late', async () => {
    const event = await newEvent();

    await runtime.settle(bot.id, [event.id, event.id], { status: 'failed', failureReason: 'First.' }, 2);
    await runtime.settle(bot.id, event.id, { status: 'processed' });

    expect(await stateOf(event.id)).toEqual({ status: 'failed', failureReason: 'First.' });
    expect(await api.sql('SELECT * FROM chat.dead_letter')).toEqual([]);
  });

  it('does not settle an event while it is scheduled or after it was canceled', async () => {
    const scheduled = await newEvent({ schedule: { delay: 3_600_000 } });
    const canceled = await newEvent({ schedule: { delay: 3_600_000 } });
    await client.cancelScheduledEvent({ id: canceled.id });

    await runtime.settle(bot.id, [scheduled.id, canceled.id, newId('evt')]);

    expect((await stateOf(scheduled.id)).status).toBe('scheduled');
    expect((await stateOf(canceled.id)).status).toBe('canceled');
  });

  it('does not settle an event for another bot', async () => {
    const other = await newCalledBot(api, runtime);
    const event = await newEvent();

    await runtime.settle(other.id, event.id);

    expect((await stateOf(event.id)).status).toBe('pending');
  });
});

describe('replay', () => {
  it.each(['failed', 'ignored', 'processed'] as const)('replays one event that was %s', async (status) => {
    const { id } = await newEvent();
    await runtime.settle(bot.id, id, { status, failureReason: 'Because.' });

    const { json } = await replay({ eventId: id });

    expect(json).toEqual({ replayed: 1 });
    expect(await stateOf(id)).toEqual({ status: 'pending', failureReason: null });
    await runtime.untilAnnounced(bot.id, id, 2);
  });

  it('settles a replayed event by its own delivery, not by a late outcome of the one before', async () => {
    const { id } = await newEvent();
    await runtime.settle(bot.id, id, { status: 'failed', failureReason: 'Because.' });
    await replay({ eventId: id });
    expect((await getPending(id)).replays).toBe(1);

    await runtime.settle(bot.id, id, { status: 'ignored' });
    expect((await stateOf(id)).status).toBe('pending');
    await runtime.settle(bot.id, id, { status: 'processed', replays: 1 });

    expect((await stateOf(id)).status).toBe('processed');
  });

  it('replays all events of one status, and no others', async () => {
    const other = await newCalledBot(api, runtime);
    const [first, second, ignored] = [
      await newEvent({}, other.client),
      await newEvent({}, other.client),
      await newEvent({}, other.client),
    ];
    await runtime.settle(other.id, [first.id, second.id], { status: 'failed' });
    await runtime.settle(other.id, ignored.id, { status: 'ignored' });

    const { json } = await replay({ status: 'failed' }, other.id);

    expect(json).toEqual({ replayed: 2 });
    await runtime.untilAnnounced(other.id, second.id, 2);
    expect(
      runtime
        .announcedOf(other.id)
        .map(({ id }) => id)
        .slice(3),
    ).toEqual([first.id, second.id]);
    expect((await replay({ status: 'failed' }, other.id)).json).toEqual({ replayed: 0 });
  });

  it('replays at most 1,000 events at once, oldest first', async () => {
    const other = await newCalledBot(api, runtime);
    await api.sql(
      `INSERT INTO chat.event (bot_id, id, type, payload, status, created_at)
       SELECT $1, 'evt_' || lpad(n::text, 26, '0'), 'x', '{}', 'failed', now() FROM generate_series(1, 1001) n`,
      [other.id],
    );

    expect((await replay({ status: 'failed' }, other.id)).json).toEqual({ replayed: 1_000 });
    await waitFor(
      () => runtime.announcedOf(other.id),
      (all) => all.length === 1_000,
    );
    expect((await replay({ status: 'failed' }, other.id)).json).toEqual({ replayed: 1 });
    const sizes = runtime.announcements.filter(({ botId }) => botId === other.id).map(({ events }) => events.length);
    expect(Math.max(...sizes)).toBe(200);
  });

  it('refuses to replay events that are pending, scheduled or canceled', async () => {
    const pending = await newEvent();
    const scheduled = await newEvent({ schedule: { delay: 3_600_000 } });
    const canceled = await newEvent({ schedule: { delay: 3_600_000 } });
    await client.cancelScheduledEvent({ id: canceled.id });

    for (const [id, status] of [
      [pending.id, 'pending'],
      [scheduled.id, 'scheduled'],
      [canceled.id, 'canceled'],
    ] as const) {
      expect((await replay({ eventId: id })).json).toMatchObject({
        type: 'RelationConflict',
        message: `The event "${id}" is ${status}: only failed, ignored, processed events can be replayed.`,
      });
    }
  });

  it('returns 404 for the replay of an event that is unknown or of another bot', async () => {
    const other = await newCalledBot(api, runtime);
    const event = await newEvent();

    expect((await replay({ eventId: newId('evt') })).status).toBe(404);
    expect((await replay({ eventId: event.id }, other.id)).status).toBe(404);
  });

  it.each([{}, { eventId: newId('evt'), status: 'failed' }])('refuses the replay %j', async (input) => {
    expect((await replay(input)).json).toMatchObject({
      type: 'InvalidPayload',
      message: 'Either eventId or status is required, and not both.',
    });
  });
});
