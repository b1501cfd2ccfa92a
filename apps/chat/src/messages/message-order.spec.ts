import { type Client } from '@botpress/client';
import { ParleyClient } from '@parley/transport/parley-client';
import type { Type } from '@nestjs/common';
import { KeyCounts } from '@parley/background/key-counts';
import { newId } from '@parley/persistence/ids';
import { systemCaller } from '@parley/contracts/caller';
import { type Signal, signalChannel, signals } from '@parley/contracts/chat/signals';
import { waitFor } from '@parley/testing/wait-for';
import { MessageWriterService } from './message-writer.service';
import { type ChatBot, type ChatService, failure, startChat } from '../test/chat-service';

let api: ChatService;
let bot: ChatBot;
let client: Client;

beforeAll(async () => {
  api = await startChat();
  bot = await api.newBot();
  ({ client } = bot);
});

afterAll(() => api?.stop());

async function newConversation(): Promise<string> {
  return (await client.createConversation({ channel: 'channel', tags: {} })).conversation.id;
}

async function newUser(): Promise<string> {
  return (await client.createUser({ tags: {} })).user.id;
}

async function write(conversationId: string, userId: string, content = 'hello') {
  return (await client.createMessage({ conversationId, userId, type: 'text', payload: { text: content }, tags: {} }))
    .message;
}

async function listenTo(conversationId: string): Promise<Signal[]> {
  const heard: Signal[] = [];
  const bus = api.apps.at(-1)!.get(ParleyClient, { strict: false });
  await bus.subscribe(signalChannel, conversationId, (signal) => void heard.push(signal)).live;
  return heard;
}

function inOrder(heard: Signal[]): Signal[] {
  return [...heard].sort((a, b) => a.number - b.number);
}

async function listed(conversationId: string) {
  const messages = [];
  for (let nextToken: string | undefined, pages = 0; pages === 0 || nextToken; pages++) {
    const page = await client.listMessages({ conversationId, pageSize: 200, nextToken });
    messages.push(...page.messages);
    nextToken = page.meta.nextToken;
  }
  return messages.reverse();
}

describe('50 clients that write to one conversation concurrently', () => {
  it('keeps one order in list, times, signals and count for 50 concurrent clients of a conversation', async () => {
    const conversationId = await newConversation();
    const users = await Promise.all(Array.from({ length: 5 }, newUser));
    const heard = await listenTo(conversationId);

    const written = await Promise.all(
      Array.from({ length: 50 }, async (_, author) => {
        const own = [];
        for (let round = 0; round < 4; round++)
          own.push(await write(conversationId, users[author % 5]!, `${author}.${round}`));
        return own;
      }),
    );

    const messages = await listed(conversationId);
    const times = messages.map(({ createdAt }) => createdAt);
    expect(times).toEqual([...new Set(times)].sort());
    expect(new Map(messages.map((message) => [message.id, message]))).toEqual(
      new Map(written.flat().map((message) => [message.id, message])),
    );
    // Each client wrote its next message after the reply to the one before.
    for (const own of written)
      expect(own.map(({ createdAt }) => createdAt)).toEqual(own.map(({ createdAt }) => createdAt).sort());
    await waitFor(() => heard.length === 205);
    const frames = inOrder(heard).map(({ frame }) => JSON.parse(frame!));
    const framesOf = (frameType: string) => frames.filter(({ type }) => type === frameType).map(({ data }) => data);
    expect(framesOf('message_created').map(({ id }) => id)).toEqual(messages.map(({ id }) => id));
    expect(new Set(framesOf('participant_added').map(({ participantId }) => participantId))).toEqual(new Set(users));
    expect(inOrder(heard).map(({ number }) => number)).toEqual(heard.map((_, index) => index + 1));
    expect((await client.getConversation({ id: conversationId })).conversation.messageCount).toBe(200);
    expect((await client.listParticipants({ id: conversationId })).participants).toHaveLength(5);
  });

  it('writes to other conversations and valid messages without waiting for a busy or failing one', async () => {
    const conversations = await Promise.all(Array.from({ length: 5 }, newConversation));
    const userId = await newUser();
    const nobody = `user_${'0'.repeat(26)}`;

    const outcomes = await Promise.all(
      Array.from({ length: 100 }, async (_, index) => {
        const refused = index % 3 === 0;
        const work = write(conversations[index % 5]!, refused ? nobody : userId);
        return (await failure(work)).type === (refused ? 'ReferenceNotFound' : 'none');
      }),
    );

    expect(outcomes).toEqual(outcomes.map(() => true));
    const counts = await Promise.all(
      conversations.map(async (id) => (await client.getConversation({ id })).conversation.messageCount),
    );
    expect(counts.reduce((sum, count) => sum + count, 0)).toBe(66);
  });
});

it('answers the messages of a large batch in several turns of the event loop', async () => {
  const [conversation_id, user_id] = [await newConversation(), await newUser()];
  const writer = api.apps.map((app) => tryGet(app, MessageWriterService)).find((found) => found !== undefined)!;
  let turn = 0;
  let isOver = false;
  const count = () => {
    turn += 1;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);

  const answeredIn = await Promise.all(
    Array.from({ length: 40 }, async () => {
      const draft = { id: newId('msg'), conversation_id, user_id, type: 'text', payload: { text: 'a' }, tags: {} };
      await writer.write(bot.id, draft);
      return turn;
    }),
  );
  isOver = true;

  const answers = new KeyCounts();
  // The first three are batches of their own, which may end in the same turn as messages of the fourth one.
  for (const number of answeredIn.slice(3)) answers.add(String(number), 1);
  expect(Math.max(...answers.values())).toBeLessThanOrEqual(4);
});

function tryGet<T>(app: ChatService['apps'][number], type: Type<T>): T | undefined {
  try {
    return app.get(type, { strict: false });
  } catch {
    // Another app.
    return undefined;
  }
}

describe('the signal of a message', () => {
  it('sends the signal of a message in the client format, with whether the bot wrote it', async () => {
    const conversationId = await newConversation();
    const userId = await newUser();
    const heard = await listenTo(conversationId);

    const { message } = await client.createMessage({
      conversationId,
      userId,
      type: 'text',
      payload: { text: 'hi', metadata: { a: 1 } },
      tags: {},
    });
    await write(conversationId, bot.id);

    await waitFor(() => heard.length === 3);
    const [, first, second] = heard.map(({ frame }) => JSON.parse(frame!));
    expect(first).toEqual({
      type: 'message_created',
      data: {
        id: message.id,
        createdAt: message.createdAt,
        payload: { type: 'text', text: 'hi' },
        metadata: { a: 1 },
        userId,
        conversationId,
        isBot: false,
      },
    });
    expect(second.data).toMatchObject({ userId: bot.id, isBot: true });
  });

  it('sends foreign ids, if there are any, in the signals of a message and of its deletion', async () => {
    const conversationId = await newConversation();
    const userId = await newUser();
    await api.sql('UPDATE chat.conversation SET foreign_id = $2 WHERE id = $1', [conversationId, 'my-chat']);
    await api.sql('UPDATE chat."user" SET foreign_id = $2 WHERE id = $1', [userId, 'me']);
    const heard = await listenTo(conversationId);

    const { id } = await write(conversationId, userId);
    await client.deleteMessage({ id });

    await waitFor(() => heard.length === 3);
    const [joined, created, deleted] = heard.map(({ frame }) => JSON.parse(frame!));
    expect(joined).toEqual({
      type: 'participant_added',
      data: { conversationId: 'my-chat', participantId: 'me' },
    });
    expect(created.data).toMatchObject({ id, userId: 'me', conversationId: 'my-chat' });
    expect(deleted).toEqual({ type: 'message_deleted', data: { id, userId: 'me', conversationId: 'my-chat' } });
  });

  it('returns the signal of a message in the same form on catch-up until the message is deleted', async () => {
    const conversationId = await newConversation();
    const userId = await newUser();
    const heard = await listenTo(conversationId);
    await write(conversationId, userId, 'stays');
    const { id } = await write(conversationId, userId, 'goes');
    await client.deleteMessage({ id });
    await waitFor(() => heard.length === 4);

    const { last, signals: missed } = await api.call(signals.catchUp, systemCaller('req_test'), {
      botId: bot.id,
      conversationId,
      userId,
      after: 0,
    });

    expect(last).toBe(4);
    expect(missed.map(({ number }) => number)).toEqual([1, 2, 3, 4]);
    expect(missed[2]!.frame).toBeNull();
    for (const sender of [0, 1, 3])
      expect(JSON.parse(missed[sender]!.frame!)).toEqual(JSON.parse(heard[sender]!.frame!));
  });

  it('does not send signals of messages in conversations of other integrations', async () => {
    const { conversation } = await bot.asTeam.createConversation({ channel: 'direct', tags: {} });
    const userId = await newUser();
    const heard = await listenTo(conversation.id);

    await write(conversation.id, userId);
    const { last } = await api.call(signals.catchUp, systemCaller('req_test'), {
      botId: bot.id,
      conversationId: conversation.id,
      userId,
    });

    expect({ last, heard }).toEqual({ last: 0, heard: [] });
  });
});

describe('a request with an idempotency key', () => {
  it.each([
    ['createMessage', 'POST /v1/chat/messages', (message: object) => message],
    ['getOrCreateMessage', 'POST /v1/chat/messages/get-or-create', (message: object) => message],
    [
      'importMessages',
      'POST /v1/chat/messages/import-messages',
      (message: object) => ({
        messages: [{ ...message, createdAt: '2026-01-31T12:00:00.000Z', discriminateByTags: [] }],
      }),
    ],
  ])('executes a request with an idempotency key once: %s', async (name, line, bodyOf) => {
    const conversationId = await newConversation();
    const heard = await listenTo(conversationId);
    const userId = name === 'importMessages' ? await newUser() : bot.id;
    const message = { conversationId, userId, type: 'text', payload: { text: 'once' }, tags: {} };
    const headers = { ...api.headersOf(bot.id), 'idempotency-key': `key-${name}` };

    const first = await api.send(line, { headers, json: bodyOf(message) });
    const second = await api.send(line, { headers, json: bodyOf(message) });
    const other = await api.send(line, { headers, json: bodyOf({ ...message, type: 'other' }) });

    expect(first.status).toBeLessThan(300);
    expect(second.json).toEqual(first.json);
    expect(second.headers['idempotent-replayed']).toBe('true');
    expect(other.json).toMatchObject({ type: 'InvalidPayload' });
    expect(await listed(conversationId)).toHaveLength(1);
    expect(heard.length).toBeLessThanOrEqual(name === 'importMessages' ? 0 : 1);
  });
});
