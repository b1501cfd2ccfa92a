import type { Client } from '@botpress/client';
import { ParleyClient } from '@parley/transport/parley-client';
import { systemCaller } from '@parley/contracts/caller';
import {
  type CatchUp,
  type Signal as Heard,
  signalChannel,
  signals,
  signalsMissing,
} from '@parley/contracts/chat/signals';
import { Database } from '@parley/persistence/database';
import { waitFor } from '@parley/testing/wait-for';
import { type ChatService, startChat } from '../test/chat-service';
import type { Signal } from './signal.entity';
import { SignalsService } from './signals.service';

let api: ChatService;
let botId: string;
let client: Client;
let database: Database;
let service: SignalsService;

beforeAll(async () => {
  api = await startChat();
  ({ id: botId, client } = await api.newBot());
  const chat = api.apps.at(-1)!;
  database = chat.get(Database, { strict: false });
  service = chat.get(SignalsService);
});

afterAll(() => api?.stop());

async function newConversation(channel = 'channel') {
  const { conversation } = await client.createConversation({ channel, tags: {} });
  const userId = (await client.createUser({ tags: {} })).user.id;
  // Inserted by SQL, since the API would send a signal.
  await api.sql('INSERT INTO chat.participant (bot_id, conversation_id, user_id) VALUES ($1, $2, $3)', [
    botId,
    conversation.id,
    userId,
  ]);
  const heard: Heard[] = [];
  const listening = api.apps
    .at(-1)!
    .get(ParleyClient, { strict: false })
    .subscribe(signalChannel, conversation.id, (signal) => {
      heard.push(signal);
    });
  await listening.live;
  return { conversationId: conversation.id, userId, heard };
}

function addSignals(conversationId: string, ...added: Signal[]): Promise<void> {
  return database.transaction((tx) => service.add(tx, botId, conversationId, added));
}

function catchUp(input: Omit<CatchUp, 'botId'>) {
  return api.call(signals.catchUp, systemCaller('req_test'), { botId, ...input });
}

function news(text: string): Signal {
  return { type: 'news', data: { text } };
}

describe('a signal', () => {
  it('publishes signals in the order of their numbers', async () => {
    const { conversationId, heard } = await newConversation();

    await addSignals(conversationId, news('a'), { type: 'parting', closes: 'user_1' });
    await addSignals(conversationId, news('b'));

    await waitFor(() => heard.length === 3);
    expect(heard).toEqual([
      { number: 1, frame: '{"type":"news","data":{"text":"a"}}' },
      { number: 2, frame: null, closes: 'user_1' },
      { number: 3, frame: '{"type":"news","data":{"text":"b"}}' },
    ]);
  });

  it('assigns no number to a signal and does not publish it if the transaction fails', async () => {
    const { conversationId, userId, heard } = await newConversation();

    const work = database.transaction(async (tx) => {
      await service.add(tx, botId, conversationId, [news('a')]);
      throw new Error('It failed.');
    });

    await expect(work).rejects.toThrow('It failed.');
    expect(heard).toEqual([]);
    expect(await catchUp({ conversationId, userId })).toEqual({
      isParticipant: true,
      last: 0,
      hasMore: false,
      signals: [],
    });
  });

  it('assigns unique numbers to signals without gaps under concurrency', async () => {
    const { conversationId, userId, heard } = await newConversation();

    await Promise.all(
      Array.from({ length: 30 }, (_, index) => addSignals(conversationId, news(`a${index}`), news('b'))),
    );

    const numbers = Array.from({ length: 60 }, (_, index) => index + 1);
    await waitFor(() => heard.length === 60);
    expect(heard.map(({ number }) => number).sort((a, b) => a - b)).toEqual(numbers);
    const { last, signals: missed } = await catchUp({ conversationId, userId, after: 0 });
    expect({ last, numbers: missed.map(({ number }) => number) }).toEqual({ last: 60, numbers });
    expect(new Map(missed.map(({ number, frame }) => [number, frame]))).toEqual(
      new Map(heard.map(({ number, frame }) => [number, frame])),
    );
  });

  it('does not publish signals in a conversation outside the native chat', async () => {
    const { conversationId, userId, heard } = await newConversation('group');

    await addSignals(conversationId, news('a'));

    expect(heard).toEqual([]);
    expect(await catchUp({ conversationId, userId })).toMatchObject({ last: 0, signals: [] });
  });
});

describe('catching up', () => {
  it('returns the signals after a number on catch-up', async () => {
    const { conversationId, userId } = await newConversation();
    await addSignals(conversationId, news('a'), { type: 'parting', closes: 'user_1' }, news('c'));

    expect(await catchUp({ conversationId, userId, after: 1 })).toEqual({
      isParticipant: true,
      last: 3,
      hasMore: false,
      signals: [
        { number: 2, frame: null, closes: 'user_1' },
        { number: 3, frame: '{"type":"news","data":{"text":"c"}}' },
      ],
    });
    expect((await catchUp({ conversationId, userId, after: 3 })).signals).toEqual([]);
  });

  it('returns the signals of the last second on catch-up if no number is given', async () => {
    const { conversationId, userId } = await newConversation();
    await addSignals(conversationId, news('old'), news('new'));
    await api.sql(
      `UPDATE chat.signal SET created_at = clock_timestamp() - interval '1100 ms' WHERE conversation_id = $1 AND number = 1`,
      [conversationId],
    );

    const { last, signals: missed } = await catchUp({ conversationId, userId });

    expect({ last, missed }).toEqual({
      last: 2,
      missed: [{ number: 2, frame: '{"type":"news","data":{"text":"new"}}' }],
    });
  });

  it('returns on catch-up whether the user is a participant, and the ends of streams', async () => {
    const { conversationId } = await newConversation();
    await addSignals(conversationId, news('a'), { type: 'parting', closes: 'user_0' });

    expect(await catchUp({ conversationId, userId: 'user_0' })).toEqual({
      isParticipant: false,
      last: 2,
      hasMore: false,
      signals: [
        { number: 1, frame: '{"type":"news","data":{"text":"a"}}' },
        { number: 2, frame: null, closes: 'user_0' },
      ],
    });
  });

  it('returns 404 on catch-up for a conversation of a deleted bot', async () => {
    const { conversationId, userId } = await newConversation();
    const other = await api.newBot();
    await api.sql('UPDATE chat.conversation_clock SET bot_id = $1 WHERE conversation_id = $2', [
      other.id,
      conversationId,
    ]);
    const ask = () => api.call(signals.catchUp, systemCaller('req_test'), { botId: other.id, conversationId, userId });
    await ask();

    await api.sql('INSERT INTO chat.dropped_bot VALUES ($1)', [other.id]);

    await expect(ask()).rejects.toMatchObject({ type: 'ResourceNotFound' });
  });

  it('returns 404 on catch-up for an unknown conversation and for another bot', async () => {
    const { conversationId, userId } = await newConversation();

    await expect(catchUp({ conversationId: 'conv_0', userId })).rejects.toMatchObject({ type: 'ResourceNotFound' });
    const ofAnother = api.call(signals.catchUp, systemCaller('req_test'), { botId: 'bot', conversationId, userId });
    await expect(ofAnother).rejects.toMatchObject({ type: 'ResourceNotFound' });
  });

  it('returns more signals than one page holds in several pages', async () => {
    const { conversationId, userId } = await newConversation();
    await addSignals(conversationId, ...Array.from({ length: 300 }, (_, index) => news(`${index}`)));

    const first = await catchUp({ conversationId, userId, after: 0 });
    const second = await catchUp({ conversationId, userId, after: first.last });

    expect(first).toMatchObject({ last: first.signals.at(-1)!.number, hasMore: true });
    expect(second.hasMore).toBe(false);
    expect([...first.signals, ...second.signals].map(({ number }) => number)).toEqual(
      Array.from({ length: 300 }, (_, index) => index + 1),
    );
  });

  it('returns pages of about a megabyte of text, with at least one signal', async () => {
    const { conversationId, userId } = await newConversation();
    const large = 'x'.repeat(300_000);
    await addSignals(
      conversationId,
      news(large),
      news(large),
      news('x'.repeat(3_000_000)),
      news('small'),
      news('last'),
    );

    // Signals of the last second, however long it took to add them.
    await api.sql('UPDATE chat.signal SET created_at = clock_timestamp() WHERE conversation_id = $1', [conversationId]);
    const latest = await catchUp({ conversationId, userId });
    const given: number[][] = [];
    let after = 0;
    for (let hasMore = true; hasMore;) {
      const reply = await catchUp({ conversationId, userId, after });
      given.push(reply.signals.map(({ number }) => number));
      ({ last: after, hasMore } = reply);
    }

    expect(given).toEqual([
      [1, 2, 3],
      [4, 5],
    ]);
    expect(latest).toMatchObject({ last: 5, hasMore: false });
    expect(latest.signals.map(({ number }) => number)).toEqual([3, 4, 5]);
  });
});

describe('a chat process', () => {
  it('broadcasts at its start that signals may be missing', async () => {
    const received: unknown[] = [];
    api.apps
      .at(-1)!
      .get(ParleyClient, { strict: false })
      .listen(signalsMissing, (data) => received.push(data));

    service.onApplicationBootstrap();

    await waitFor(() => received.length === 1);
    expect(received).toEqual([{}]);
  });

  it('broadcasts that a bot was deleted', async () => {
    const { id } = await api.newBot();
    const received: unknown[] = [];
    api.apps
      .at(-1)!
      .get(ParleyClient, { strict: false })
      .listen(signalsMissing, (data) => received.push(data));

    await api.alice.client.deleteBot({ id });

    await waitFor(() => received.length > 0);
    expect(received).toEqual([{ botId: id }]);
  });
});
