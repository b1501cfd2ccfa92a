import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import type { Client } from '@botpress/client';
import { type AuthenticatedClient, Client as ChatClient, type SignalListener } from '@botpress/chat';
import { clientOf } from '@parley/testing/api';
import { waitFor } from '@parley/testing/wait-for';
import type { RunningPlatform } from '@parley/testing/running-platform';
import { WebSocket } from 'ws';

const card = {
  type: 'card' as const,
  title: 'Tea',
  subtitle: 'Green',
  imageUrl: 'https://example.com/tea.png',
  actions: [{ action: 'say' as const, label: 'Buy', value: 'buy' }],
};
const options = [{ label: 'Yes', value: 'yes' }];
const payloads = [
  { type: 'text', text: 'hello' },
  { type: 'markdown', markdown: '**hello**' },
  { type: 'image', imageUrl: 'https://example.com/a.png' },
  { type: 'audio', audioUrl: 'https://example.com/a.mp3' },
  { type: 'video', videoUrl: 'https://example.com/a.mp4' },
  { type: 'file', fileUrl: 'https://example.com/a.pdf', title: 'A' },
  { type: 'location', latitude: 1.5, longitude: -2, address: 'Here', title: 'Home' },
  card,
  { type: 'carousel', items: [card] },
  { type: 'choice', text: 'Sure?', options },
  { type: 'dropdown', text: 'Sure?', options },
  {
    type: 'bloc',
    items: [
      { type: 'text', text: 'hello' },
      { type: 'location', latitude: 0, longitude: 0 },
    ],
  },
] as const;

export function describeChat(running: () => RunningPlatform): void {
  describe('the chat', () => {
    const listeners: { disconnect: () => Promise<void> }[] = [];

    afterEach(async () => {
      await Promise.all(listeners.splice(0).map((listener) => listener.disconnect()));
    });

    async function newBot() {
      const admin = clientOf(running());
      const { bot } = await admin.createBot({});
      const apiUrl = `${running().url}/chat/${webhookOf(bot)}`;
      return { botId: bot.id, admin, client: clientOf(running(), bot.id), apiUrl };
    }

    async function listen(user: AuthenticatedClient, id: string) {
      const listener = await user.listenConversation({ id });
      listeners.push(listener);
      return heard(listener);
    }

    it('finds the bot as a user by its tags, which writes outgoing messages', async () => {
      const { botId, client } = await newBot();
      const other = await newBot();

      const answers = await Promise.all(Array.from({ length: 8 }, () => client.getUser({ id: botId })));
      await client.updateUser({ id: botId, name: 'Helper', tags: { account: 'A1' } });

      expect(new Set(answers.map(({ user }) => user.createdAt)).size).toBe(1);
      expect(await client.getOrCreateUser({ tags: { account: 'A1' } })).toMatchObject({
        user: { id: botId, name: 'Helper' },
        meta: { created: false },
      });
      expect((await client.listUsers({})).users).toEqual([]);
      await expect(other.client.getUser({ id: botId })).rejects.toMatchObject({ type: 'ResourceNotFound' });
      await expect(client.deleteUser({ id: botId })).rejects.toMatchObject({ type: 'ReferenceConstraint' });
    });

    it('refuses messages of unknown types or with invalid payloads, in every operation for bots', async () => {
      const { botId, client } = await newBot();
      const { conversation } = await client.createConversation({ channel: 'channel', tags: {} });
      const place = { conversationId: conversation.id, userId: botId, tags: {} };
      const wrong = { type: 'text', payload: {} };

      for (const attempt of [
        client.createMessage({ ...place, ...wrong }),
        client.createMessage({ ...place, ...wrong, schedule: { delay: 60_000 } }),
        client.getOrCreateMessage({ ...place, ...wrong }),
      ]) {
        await expect(attempt).rejects.toMatchObject({ type: 'InvalidPayload', message: 'payload.text is missing.' });
      }
      await expect(
        client.importMessages({
          messages: [{ ...place, ...wrong, createdAt: '2026-01-01T00:00:00.000Z', discriminateByTags: [] }],
        }),
      ).rejects.toMatchObject({ message: 'messages[0].payload.text is missing.' });
      await expect(client.createMessage({ ...place, type: 'song', payload: {} })).rejects.toMatchObject({
        message: expect.stringMatching(/^type must be one of: text, /) as string,
      });
      const { message } = await client.createMessage({ ...place, type: 'text', payload: { text: 'hello' } });
      expect(message.direction).toBe('outgoing');
    });

    it('refuses recurring events with a too short interval', async () => {
      const { botId, admin } = await newBot();
      const every = (cron: string) => ({ tick: { type: 'tick', payload: {}, schedule: { cron } } });

      await expect(admin.updateBot({ id: botId, recurringEvents: every('* * * * * *') })).rejects.toMatchObject({
        type: 'InvalidPayload',
        message: expect.stringContaining('must leave at least 60 seconds between two events') as string,
      });
      expect(
        (await admin.updateBot({ id: botId, recurringEvents: every('* * * * *') })).bot.recurringEvents,
      ).toMatchObject({ tick: { schedule: { cron: '* * * * *' } } });
    });

    it('delivers messages of users and bots to listeners, equal to the stored ones', async () => {
      const { botId, client, apiUrl } = await newBot();
      const ann = await ChatClient.connect({ apiUrl });
      const { conversation } = await ann.createConversation({});
      const { signals } = await listen(ann, conversation.id);

      const { message } = await ann.createMessage({
        conversationId: conversation.id,
        payload: { type: 'text', text: 'hello' },
        metadata: { from: 'test' },
      });
      await client.createMessage({
        conversationId: conversation.id,
        userId: botId,
        type: 'text',
        payload: { text: 'good day' },
        tags: {},
      });

      const [first, second] = await waitFor(
        () => Promise.resolve(signals),
        ({ length }) => length === 2,
      );
      expect(first).toEqual({ type: 'message_created', data: { ...message, isBot: false } });
      expect(second).toMatchObject({
        type: 'message_created',
        data: { payload: { type: 'text', text: 'good day' }, userId: botId, isBot: true },
      });
      expect((await ann.getMessage({ id: message.id })).message).toEqual(message);
      const { messages } = await ann.listMessages({ conversationId: conversation.id });
      expect(messages[1]).toEqual(message);
      expect(messages.map(({ payload }) => (payload as { text: string }).text)).toEqual(['good day', 'hello']);
      const { events } = await client.listEvents({ type: 'message_created' });
      expect(events).toMatchObject([{ status: 'pending', messageId: message.id }]);
      const { conversation: seen } = await client.getConversation({ id: conversation.id });
      expect(seen.messageCount).toBe(2);
    });

    it('delivers a message that was created just before the stream opened', async () => {
      const { apiUrl } = await newBot();
      const ann = await ChatClient.connect({ apiUrl });
      const { conversation } = await ann.createConversation({});

      const { message } = await ann.createMessage({
        conversationId: conversation.id,
        payload: { type: 'text', text: 'early' },
      });
      const { signals } = await listen(ann, conversation.id);

      await waitFor(
        () => Promise.resolve(signals),
        ({ length }) => length === 1,
      );
      expect(signals[0]).toEqual({ type: 'message_created', data: { ...message, isBot: false } });
    });

    it.each(payloads.map((payload) => [payload.type, payload] as const))(
      'delivers a message of type %s as it was sent',
      async (_type, payload) => {
        const { apiUrl } = await newBot();
        const ann = await ChatClient.connect({ apiUrl });
        const { conversation } = await ann.createConversation({});
        const { signals } = await listen(ann, conversation.id);

        const { message } = await ann.createMessage({ conversationId: conversation.id, payload: payload as never });

        await waitFor(
          () => Promise.resolve(signals),
          ({ length }) => length === 1,
        );
        expect(message.payload).toEqual(payload);
        expect(signals[0]).toEqual({ type: 'message_created', data: { ...message, isBot: false } });
      },
    );

    it('closes streams of a removed participant and notifies the others', async () => {
      const { apiUrl } = await newBot();
      const [ann, bob] = [await ChatClient.connect({ apiUrl }), await ChatClient.connect({ apiUrl })];
      const { conversation } = await ann.createConversation({ id: 'room/1' });
      await ann.addParticipant({ conversationId: 'room/1', userId: bob.user.id });
      const [annHears, bobHears] = [await listen(ann, 'room/1'), await listen(bob, conversation.id)];

      await ann.removeParticipant({ conversationId: 'room/1', userId: bob.user.id });

      await waitFor(
        () => Promise.resolve(bobHears),
        ({ isClosed }) => isClosed,
      );
      await waitFor(
        () => Promise.resolve(annHears.signals),
        (signals) => signals.some(({ type }) => type === 'participant_removed'),
      );
      expect(annHears.signals.at(-1)).toEqual({
        type: 'participant_removed',
        data: { conversationId: 'room/1', participantId: bob.user.id },
      });
      await ann.createMessage({ conversationId: 'room/1', payload: { type: 'text', text: 'secret' } });
      await waitFor(
        () => Promise.resolve(annHears.signals),
        (signals) => signals.at(-1)?.type === 'message_created',
      );
      expect(bobHears.signals.map(({ type }) => type)).not.toContain('message_created');
      await expect(bob.listenConversation({ id: 'room/1' })).rejects.toBeTruthy();
      await expect(bob.listMessages({ conversationId: 'room/1' })).rejects.toMatchObject({ type: 'Forbidden' });
    });

    it('publishes the signal before the response', async () => {
      const { apiUrl } = await newBot();
      const ann = await ChatClient.connect({ apiUrl });
      const { conversation } = await ann.createConversation({});
      const came: string[] = [];
      const path = `/conversations/${conversation.id}/listen`;
      const sockets = await Promise.all(['GET', 'POST'].map(() => connectTo(running().url)));
      const [listening, asking] = sockets as [Socket, Socket];
      listening.write(rawRequest(`GET ${apiUrl}${path}`, ann.user.key));
      await once(listening, 'data');
      listening.on('data', (data: Buffer) => /message_created/.test(data.toString()) && came.push('signal'));
      asking.on('data', () => came.push('answer'));

      for (let count = 1; count <= 60; count += 1) {
        const body = { conversationId: conversation.id, payload: { type: 'text', text: 'hello' } };
        asking.write(rawRequest(`POST ${apiUrl}/messages`, ann.user.key, JSON.stringify(body)));
        await waitFor(() => came.length === 2 * count);
      }

      sockets.forEach((socket) => socket.destroy());
      const overtaken = came.filter((what, index) => index % 2 === 0 && what === 'answer');
      // Data that arrives on two connections at the same time is read in either order.
      expect(overtaken.length).toBeLessThan(30);
    });

    it('closes the streams of a deleted conversation, and of a deleted bot', async () => {
      const { botId, admin, client, apiUrl } = await newBot();
      const ann = await ChatClient.connect({ apiUrl });
      const { conversation } = await ann.createConversation({});
      const { conversation: other } = await ann.createConversation({});
      const [hears, hearsOther] = [await listen(ann, conversation.id), await listen(ann, other.id)];

      await client.deleteConversation({ id: conversation.id });
      await waitFor(() => hears.isClosed);
      const early = hearsOther.isClosed;
      await admin.deleteBot({ id: botId });

      await waitFor(() => hearsOther.isClosed);
      expect(early).toBe(false);
    });

    it('accepts user keys that an application signs with its own encryption key', async () => {
      const { botId, admin, apiUrl } = await newBot();
      const { bot } = await admin.getBot({ id: botId });
      const [integrationId] = Object.keys(bot.integrations);
      const encryptionKey = 'a key that only the application knows';
      await ChatClient.connect({ apiUrl });
      await admin.updateBot({ id: botId, integrations: { [integrationId!]: { configuration: { encryptionKey } } } });

      const ann = await ChatClient.connect({ apiUrl, encryptionKey, userId: 'ann' });
      const again = await ChatClient.connect({ apiUrl, encryptionKey, userId: 'ann' });

      expect([ann.user.id, again.user.id]).toEqual(['ann', 'ann']);
      await expect(ChatClient.connect({ apiUrl })).rejects.toMatchObject({ type: 'Unauthorized' });
      await expect(ChatClient.connect({ apiUrl, encryptionKey: 'another key', userId: 'ann' })).rejects.toMatchObject({
        type: 'Unauthorized',
      });
    });

    it('delivers an event to the bot and to all listeners', async () => {
      const { client, apiUrl } = await newBot();
      const ann = await ChatClient.connect({ apiUrl });
      const { conversation } = await ann.createConversation({});
      const { signals } = await listen(ann, conversation.id);

      const { event } = await ann.createEvent({ conversationId: conversation.id, payload: { clicked: 'buy' } });

      await waitFor(
        () => Promise.resolve(signals),
        ({ length }) => length === 1,
      );
      expect(signals[0]).toEqual({ type: 'event_created', data: { ...event, isBot: false } });
      const { events } = await client.listEvents({ type: 'chat:custom' });
      expect(events).toMatchObject([
        {
          status: 'pending',
          payload: { conversationId: conversation.id, userId: ann.user.id, payload: { clicked: 'buy' } },
        },
      ]);
    });

    it('delivers the same signals over a WebSocket as over server-sent events', async () => {
      const { apiUrl } = await newBot();
      const ann = await ChatClient.connect({ apiUrl });
      const { conversation } = await ann.createConversation({});
      const { signals } = await listen(ann, conversation.id);
      const socket = new WebSocket(
        `${apiUrl.replace('http', 'ws')}/conversations/${conversation.id}/listen?x-user-key=${ann.user.key}`,
      );
      const frames: string[] = [];
      socket.on('message', (data: Buffer) => frames.push(data.toString()));
      await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject));

      for (const text of ['one', 'two', 'three']) {
        await ann.createMessage({ conversationId: conversation.id, payload: { type: 'text', text } });
      }

      await waitFor(
        () => Promise.resolve(frames),
        ({ length }) => length === 3,
      );
      await waitFor(
        () => Promise.resolve(signals),
        ({ length }) => length === 3,
      );
      expect(frames.map((frame) => JSON.parse(frame) as unknown)).toEqual(signals);
      socket.close();
    });

    it('delivers concurrent messages to all listeners in the same order', async () => {
      const { apiUrl } = await newBot();
      const users = await Promise.all(Array.from({ length: 10 }, () => ChatClient.connect({ apiUrl })));
      const [ann, bob] = users as [AuthenticatedClient, AuthenticatedClient];
      const { conversation } = await ann.createConversation({});
      for (const user of users.slice(1)) {
        await ann.addParticipant({ conversationId: conversation.id, userId: user.user.id });
      }
      const [one, other] = [await listen(ann, conversation.id), await listen(bob, conversation.id)];

      await Promise.all(
        users.flatMap((user, speaker) =>
          Array.from({ length: 10 }, (_, n) =>
            user.createMessage({
              conversationId: conversation.id,
              payload: { type: 'text', text: `${speaker}.${n}` },
            }),
          ),
        ),
      );

      const spoken = (signals: Heard[]) =>
        signals.filter(({ type }) => type === 'message_created').map(({ data }) => (data as { id: string }).id);
      for (const { signals } of [one, other]) {
        await waitFor(
          () => Promise.resolve(spoken(signals)),
          ({ length }) => length === 100,
        );
      }
      const listed = await ann.list.messages({ conversationId: conversation.id }).collect();
      expect(spoken(one.signals)).toEqual(listed.map(({ id }) => id).reverse());
      expect(spoken(other.signals)).toEqual(spoken(one.signals));
    });
  });
}

interface Heard {
  type: string;
  data: unknown;
}

function heard(listener: SignalListener): { signals: Heard[]; isClosed: boolean } {
  const all: { signals: Heard[]; isClosed: boolean } = { signals: [], isClosed: false };
  for (const type of [
    'message_created',
    'message_deleted',
    'event_created',
    'participant_added',
    'participant_removed',
  ] as const) {
    listener.on(type, (data: unknown) => all.signals.push({ type, data }));
  }
  listener.on('error', () => (all.isClosed = true));
  return all;
}

function webhookOf(bot: Awaited<ReturnType<Client['createBot']>>['bot']): string {
  return Object.values(bot.integrations).find(({ name }) => name === 'chat')!.webhookId;
}

async function connectTo(url: string): Promise<Socket> {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port), noDelay: true });
  await once(socket, 'connect');
  return socket;
}

function rawRequest(route: string, userKey: string, body = ''): string {
  const [method, url] = route.split(' ') as [string, string];
  const { host, pathname } = new URL(url);
  const head = [`${method} ${pathname} HTTP/1.1`, `host: ${host}`, `x-user-key: ${userKey}`];
  const headOfBody = body ? ['content-type: application/json', `content-length: ${Buffer.byteLength(body)}`] : [];
  return [...head, ...headOfBody, '', body].join('\r\n');
}
