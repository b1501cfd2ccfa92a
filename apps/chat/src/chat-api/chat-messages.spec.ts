import type { AuthenticatedClient } from '@botpress/chat';
import { systemCaller } from '@parley/contracts/caller';
import { type MissedSignals, signals } from '@parley/contracts/chat/signals';
import { waitFor } from '@parley/testing/wait-for';
import { type ChatService, startChat } from '../test/chat-service';
import { type ChatApi, newChatApi } from '../test/chat-api';

type Payload = Parameters<AuthenticatedClient['createMessage']>[0]['payload'];

let api: ChatService;
let endpoint: ChatApi;
let ada: AuthenticatedClient;
let grace: AuthenticatedClient;
let stranger: AuthenticatedClient;

beforeAll(async () => {
  api = await startChat();
  endpoint = await newChatApi(api);
  [ada, grace, stranger] = await Promise.all([endpoint.newUser('ada'), endpoint.newUser(), endpoint.newUser()]);
});

afterAll(() => api?.stop());

const hello: Payload = { type: 'text', text: 'hello' };
const action = { action: 'say' as const, label: 'Tea', value: 'tea' };
const card = { type: 'card' as const, title: 'Tea', actions: [action] };
const option = { label: 'Tea', value: 'tea' };
const payloads: Payload[] = [
  hello,
  { type: 'markdown', markdown: '**hello**' },
  { type: 'image', imageUrl: 'https://example.com/a.png' },
  { type: 'audio', audioUrl: 'https://example.com/a.mp3' },
  { type: 'video', videoUrl: 'https://example.com/a.mp4' },
  { type: 'file', fileUrl: 'https://example.com/a.pdf', title: 'A' },
  { type: 'location', latitude: 52.5, longitude: -13.4, address: 'Berlin', title: 'Home' },
  { ...card, subtitle: 'green', imageUrl: 'https://example.com/tea.png' },
  { type: 'carousel', items: [card, card] },
  { type: 'choice', text: 'Which?', options: [option] },
  { type: 'dropdown', text: 'Which?', options: [option] },
  { type: 'bloc', items: [hello, { type: 'location', latitude: 1, longitude: 2 }] },
];

interface Named {
  id: string;
  platformId: string;
}

async function newConversation(foreignId?: string): Promise<Named> {
  const { id } = (await ada.createConversation({ id: foreignId })).conversation;
  await ada.addParticipant({ conversationId: id, userId: grace.user.id });
  const [row] = await api.sql<{ id: string }>(
    'SELECT id FROM chat.conversation WHERE bot_id = $1 AND (id = $2 OR foreign_id = $2)',
    [endpoint.bot.id, id],
  );
  return { id, platformId: row!.id };
}

async function catchUp(platformId: string): Promise<MissedSignals> {
  const { id: botId } = endpoint.bot;
  const listener = { botId, conversationId: platformId, userId: await platformIdOfAda() };
  return api.call(signals.catchUp, systemCaller('req_test'), { ...listener, after: 1 });
}

async function platformIdOfAda(): Promise<string> {
  const { users } = await endpoint.bot.client.listUsers({ tags: { 'chat:fid': 'ada' } });
  return users[0]!.id;
}

describe('a message', () => {
  it.each(payloads.map((payload) => [payload.type, payload] as const))(
    'returns the same message of type %s in the reply, the list, the lookup by id and the signal',
    async (_type, payload) => {
      const { id: conversationId, platformId } = await newConversation();
      const { frames } = await endpoint.listen(platformId);

      const { message } = await ada.createMessage({ conversationId, payload, metadata: { mood: { good: [1] } } });

      expect(message).toEqual({
        id: expect.stringMatching(/^msg_/) as string,
        createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/) as string,
        payload,
        userId: 'ada',
        conversationId,
        metadata: { mood: { good: [1] } },
      });
      expect((await grace.getMessage({ id: message.id })).message).toEqual(message);
      expect((await grace.listMessages({ conversationId })).messages).toEqual([message]);
      expect(frames()).toEqual([{ type: 'message_created', data: { ...message, isBot: false } }]);
    },
  );

  it('returns a message without metadata with exactly the fields of the specification', async () => {
    const { id: conversationId } = await newConversation();

    for (const metadata of [undefined, {}]) {
      const { status, json } = await endpoint.send('POST /messages', {
        key: ada.user.key,
        json: { conversationId, payload: { ...hello, extra: 1 }, metadata },
      });
      const { message } = json as { message: Record<string, unknown> };
      expect(status).toBe(201);
      expect(Object.keys(message).sort()).toEqual(['conversationId', 'createdAt', 'id', 'payload', 'userId']);
      expect(message['payload']).toEqual(hello);
    }
  });

  it('shows a message to the bot in the platform format, as an event and as a message', async () => {
    const { id: conversationId, platformId } = await newConversation();
    const payload: Payload = { type: 'bloc', items: [hello] };

    const { message } = await ada.createMessage({ conversationId, payload, metadata: { a: 1 } });

    const stored = await endpoint.bot.client.getMessage({ id: message.id });
    expect(stored.message).toMatchObject({
      type: 'bloc',
      payload: { items: [{ type: 'text', payload: { text: 'hello' } }], metadata: { a: 1 } },
      direction: 'incoming',
      userId: await platformIdOfAda(),
      conversationId: platformId,
    });
    const events = await api.sql('SELECT type, status FROM chat.event WHERE bot_id = $1 AND message_id = $2', [
      endpoint.bot.id,
      message.id,
    ]);
    expect(events).toEqual([{ type: 'message_created', status: 'pending' }]);
  });

  it('refers in a message to users and conversations by their foreign ids', async () => {
    const { id: conversationId, platformId } = await newConversation('tea-time');
    const { frames } = await endpoint.listen(platformId);

    const { message } = await ada.createMessage({ conversationId: platformId, payload: hello });
    const reply = await grace.createMessage({ conversationId, payload: hello });

    expect(message).toMatchObject({ conversationId: 'tea-time', userId: 'ada' });
    expect(reply.message).toMatchObject({ conversationId: 'tea-time', userId: grace.user.id });
    expect(frames().map(({ data }) => data)).toEqual([
      { ...message, isBot: false },
      { ...reply.message, isBot: false },
    ]);
    expect((await ada.listMessages({ conversationId: platformId })).messages).toEqual([reply.message, message]);
  });

  it('shows a message of the bot in the same client format everywhere', async () => {
    const { id: conversationId, platformId } = await newConversation('from-bot');
    const { frames } = await endpoint.listen(platformId);
    const { type: _type, ...bare } = card;

    await endpoint.bot.client.createMessage({
      conversationId: platformId,
      userId: endpoint.bot.id,
      type: 'carousel',
      payload: { items: [bare], metadata: { streamId: 's' } },
      tags: {},
    });

    const [message] = (await ada.listMessages({ conversationId })).messages;
    expect(message).toMatchObject({
      payload: { type: 'carousel', items: [card] },
      metadata: { streamId: 's' },
      userId: endpoint.bot.id,
      conversationId: 'from-bot',
    });
    expect(frames().at(-1)).toEqual({ type: 'message_created', data: { ...message, isBot: true } });
    expect((await ada.getMessage({ id: message!.id })).message).toEqual(message);
  });

  it("sends the end signal of a stream with the bot's message that ends it, live and on catch-up", async () => {
    const { id: conversationId, platformId } = await newConversation();
    const { frames } = await endpoint.listen(platformId);
    const say = (userId: string, metadata: unknown) =>
      endpoint.bot.client.createMessage({
        conversationId: platformId,
        userId,
        type: 'text',
        payload: { text: 'hello', metadata },
        tags: {},
      });

    await say(endpoint.bot.id, { streamId: 's', mood: 'good' });
    await say(endpoint.bot.id, { streamId: 1 });
    await say(endpoint.bot.id, { streamId: ['s'] });
    await say(await platformIdOfAda(), { streamId: 's' });

    const [, , , message] = (await ada.listMessages({ conversationId })).messages;
    expect(message!.metadata).toEqual({ streamId: 's', mood: 'good' });
    expect(frames().map(({ type }) => type)).toEqual([
      'message_stream_complete',
      ...Array.from({ length: 4 }, () => 'message_created'),
    ]);
    expect(frames().slice(0, 2)).toEqual([
      { type: 'message_stream_complete', data: { streamId: 's', message } },
      { type: 'message_created', data: { ...message, isBot: true } },
    ]);
    const { signals: missed } = await catchUp(platformId);
    expect(missed.map(({ frame }) => JSON.parse(frame!) as object)).toEqual(frames());
    expect(missed.map(({ number }) => number)).toEqual([2, 3, 4, 5, 6]);
  });

  it('keeps the signal number of a message that no longer ends a stream on catch-up, or was deleted', async () => {
    const { platformId } = await newConversation();
    const asBot = { conversationId: platformId, userId: endpoint.bot.id, type: 'text', tags: {} };
    const payload = { text: 'hello', metadata: { streamId: 's' } };
    const { message: first } = await endpoint.bot.client.createMessage({ ...asBot, payload });
    const { message: second } = await endpoint.bot.client.createMessage({ ...asBot, payload });

    await endpoint.bot.client.updateMessage({ id: first.id, tags: {}, payload: { text: 'changed' } });
    await endpoint.bot.client.deleteMessage({ id: second.id });

    const { last, signals: missed } = await catchUp(platformId);
    const types = missed.map(({ frame }) => frame && (JSON.parse(frame) as { type: string }).type);
    expect(types).toEqual([null, 'message_created', null, null, 'message_deleted']);
    expect(last).toBe(6);
  });

  it('sends participant_added once, before the first message of a new participant', async () => {
    const { id: conversationId, platformId } = await newConversation('open');
    const { heard, frames } = await endpoint.listen(platformId);
    const { user } = await endpoint.bot.client.createUser({ tags: {} });
    const messages = Array.from({ length: 5 }, () =>
      endpoint.bot.client.createMessage({
        conversationId: platformId,
        userId: user.id,
        type: 'text',
        payload: { text: 'hello' },
        tags: {},
      }),
    );

    await Promise.all([...messages, endpoint.bot.client.addParticipant({ id: platformId, userId: user.id })]);

    await waitFor(() => heard.length === 6);
    const received = heard.map(({ number }, index) => ({ number, ...frames()[index]! }));
    const [first, ...others] = received.sort((a, b) => a.number - b.number);
    const data = { conversationId, participantId: user.id };
    expect(first).toEqual({ number: 2, type: 'participant_added', data });
    expect(others.map(({ number, type }) => [number, type])).toEqual(
      [3, 4, 5, 6, 7].map((number) => [number, 'message_created']),
    );
    expect((await catchUp(platformId)).signals.map(({ number }) => number)).toEqual([2, 3, 4, 5, 6, 7]);
  });

  it('rejects a message whose payload and metadata together are too large', async () => {
    const { id: conversationId } = await newConversation();
    const half = 'x'.repeat(70 * 1024);

    await expect(
      ada.createMessage({ conversationId, payload: { type: 'text', text: half }, metadata: { half } }),
    ).rejects.toMatchObject({ type: 'InvalidPayload', message: expect.stringContaining('131072') as string });
  });

  it('returns 400 for a message that is not JSON, and accepts the next request', async () => {
    expect(await endpoint.send('POST /messages', { key: ada.user.key, body: '{"payload":' })).toMatchObject({
      status: 400,
      json: { type: 'InvalidPayload' },
    });
  });

  it('lets only participants write and read messages', async () => {
    const { id: conversationId } = await newConversation();
    const { message } = await ada.createMessage({ conversationId, payload: hello });
    const forbidden = { type: 'Forbidden' };

    await expect(stranger.createMessage({ conversationId, payload: hello })).rejects.toMatchObject(forbidden);
    await expect(stranger.listMessages({ conversationId })).rejects.toMatchObject(forbidden);
    await expect(stranger.getMessage({ id: message.id })).rejects.toMatchObject(forbidden);
    await expect(stranger.deleteMessage({ id: message.id })).rejects.toMatchObject(forbidden);
    await ada.removeParticipant({ conversationId, userId: grace.user.id });
    await expect(grace.createMessage({ conversationId, payload: hello })).rejects.toMatchObject(forbidden);
    expect((await ada.listMessages({ conversationId })).messages).toHaveLength(1);
  });

  it('returns 404 for a message of another bot or channel and for an unknown id', async () => {
    const other = await newChatApi(api);
    const them = await other.newUser();
    const conversation = (await them.createConversation({})).conversation.id;
    const { message } = await them.createMessage({ conversationId: conversation, payload: hello });
    const absent = { type: 'ResourceNotFound' };

    for (const id of [message.id, 'msg_01HZZZZZZZZZZZZZZZZZZZZZZZ', 'none', 'a+b', 'x'.repeat(900)]) {
      await expect(ada.getMessage({ id })).rejects.toMatchObject(absent);
      await expect(ada.deleteMessage({ id })).rejects.toMatchObject(absent);
    }
    for (const conversationId of [conversation, 'none', 'a+b']) {
      await expect(ada.createMessage({ conversationId, payload: hello })).rejects.toMatchObject(absent);
      await expect(ada.listMessages({ conversationId })).rejects.toMatchObject(absent);
    }
    expect((await them.listMessages({ conversationId: conversation })).messages).toHaveLength(1);
  });

  it('lets only the sender delete a message, with a signal', async () => {
    const { id: conversationId, platformId } = await newConversation('deleting');
    const { message } = await ada.createMessage({ conversationId, payload: hello });
    const { frames } = await endpoint.listen(platformId);

    await expect(grace.deleteMessage({ id: message.id })).rejects.toMatchObject({ type: 'Forbidden' });
    expect(await ada.deleteMessage({ id: message.id })).toEqual({});

    expect(frames()).toEqual([
      { type: 'message_deleted', data: { id: message.id, conversationId: 'deleting', userId: 'ada' } },
    ]);
    await expect(ada.getMessage({ id: message.id })).rejects.toMatchObject({ type: 'ResourceNotFound' });
    await expect(ada.deleteMessage({ id: message.id })).rejects.toMatchObject({ type: 'ResourceNotFound' });
  });

  it('keeps a message when its sender is deleted', async () => {
    const { id: conversationId } = await newConversation();
    const guest = await endpoint.newUser('guest');
    await ada.addParticipant({ conversationId, userId: 'guest' });
    const { message } = await guest.createMessage({ conversationId, payload: hello });

    await guest.deleteUser({});

    const { messages } = await ada.listMessages({ conversationId });
    expect(messages).toEqual([{ ...message, userId: expect.stringMatching(/^user_/) as string }]);
  });

  it('lists messages newest first, twenty per page, with strictly increasing creation times', async () => {
    const { id: conversationId } = await newConversation();
    const texts = Array.from({ length: 45 }, (_, index) => `${index}`);
    await Promise.all(texts.map((text) => ada.createMessage({ conversationId, payload: { type: 'text', text } })));

    const pages = [];
    for (let nextToken: string | undefined, isFirst = true; isFirst || nextToken; isFirst = false) {
      const page = await grace.listMessages({ conversationId, nextToken });
      pages.push(page.messages);
      nextToken = page.meta.nextToken;
    }

    const all = pages.flat();
    const times = all.map(({ createdAt }) => createdAt);
    expect(pages.map(({ length }) => length)).toEqual([20, 20, 5]);
    expect(new Set(all.map(({ payload }) => (payload as { text: string }).text))).toEqual(new Set(texts));
    expect(times).toEqual([...new Set(times)].sort().reverse());
  });
});

describe('a custom event', () => {
  it('sends a custom event to the bot and all listening clients, and returns it by id', async () => {
    const { id: conversationId, platformId } = await newConversation('eventful');
    const { frames } = await endpoint.listen(platformId);

    const { event } = await ada.createEvent({ conversationId, payload: { foo: { bar: [1, null] } } });

    expect(event).toEqual({
      id: expect.stringMatching(/^evt_/) as string,
      createdAt: expect.stringMatching(/Z$/) as string,
      payload: { foo: { bar: [1, null] } },
      conversationId: 'eventful',
      userId: 'ada',
    });
    expect(frames()).toEqual([{ type: 'event_created', data: { ...event, isBot: false } }]);
    expect((await grace.getEvent({ id: event.id })).event).toEqual(event);
    const userId = await platformIdOfAda();
    expect(
      await api.sql(
        `SELECT type, status, payload, conversation_id, user_id, integration_alias FROM chat.event WHERE id = $1`,
        [event.id],
      ),
    ).toEqual([
      {
        type: 'chat:custom',
        status: 'pending',
        payload: { userId, conversationId: platformId, payload: { foo: { bar: [1, null] } } },
        conversation_id: platformId,
        user_id: userId,
        integration_alias: 'chat',
      },
    ]);
  });

  it('shows a custom event only to participants', async () => {
    const { id: conversationId } = await newConversation();
    const { event } = await ada.createEvent({ conversationId, payload: {} });

    await expect(stranger.createEvent({ conversationId, payload: {} })).rejects.toMatchObject({ type: 'Forbidden' });
    await expect(stranger.getEvent({ id: event.id })).rejects.toMatchObject({ type: 'Forbidden' });
  });

  it('returns 404 for a custom event of another type or bot and for an unknown id', async () => {
    const { id: conversationId } = await newConversation();
    const { message } = await ada.createMessage({ conversationId, payload: hello });
    const [{ id: ofMessage }] = (await api.sql<{ id: string }>('SELECT id FROM chat.event WHERE message_id = $1', [
      message.id,
    ])) as [{ id: string }];
    const them = await (await newChatApi(api)).newUser();
    const theirs = (await them.createConversation({})).conversation.id;
    const { event } = await them.createEvent({ conversationId: theirs, payload: {} });

    for (const id of [ofMessage, event.id, message.id, 'evt_none', 'a+b']) {
      await expect(ada.getEvent({ id })).rejects.toMatchObject({ type: 'ResourceNotFound' });
    }
    await expect(ada.createEvent({ conversationId: theirs, payload: {} })).rejects.toMatchObject({
      type: 'ResourceNotFound',
    });
  });
});
