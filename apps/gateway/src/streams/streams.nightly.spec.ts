import { SignalListener } from '@botpress/chat';
import { ApiError, unavailable } from '@parley/contracts/errors';
import { Readiness } from '@parley/service/health.controller';
import type { Platform } from '@parley/service/platform';
import { sendTo } from '@parley/testing/public-api';
import { fakeClock, realClock } from '@parley/testing/fake-clock';
import { metricValue } from '@parley/testing/metric-value';
import { type RunningService, startService, startServiceOn } from '@parley/testing/running-service';
import { waitFor } from '@parley/testing/wait-for';
import { GatewayConfig } from '../config';
import { GatewayModule } from '../gateway.module';
import { type ListenOptions, type Client, kinds, type Kind, listen as listenTo } from '../test/listening-client';
import { StandInChat, StandInChatModule } from '../test/stand-in-chat';

let chat: StandInChat;
let service: RunningService;
let clients: Client[] = [];
let conversations = 0;

const gateway = (config: Partial<GatewayConfig>) => (_databaseUrl: string, platform: Platform) =>
  GatewayModule.register(Object.assign(new GatewayConfig(), config), platform);
const standIn = (stand: StandInChat) => (_databaseUrl: string, platform: Platform) =>
  StandInChatModule.register(stand, platform);

function start(stand: StandInChat, config: Partial<GatewayConfig> = {}): Promise<RunningService> {
  return startServiceOn(service.databaseUrl, gateway(config), standIn(stand));
}

beforeAll(async () => {
  chat = new StandInChat();
  service = await startService(gateway({ listenPingMs: 3_600_000, programPingMs: 3_600_000 }), standIn(chat));
});

afterEach(async () => {
  chat.before = {};
  chat.beforeAnswer = undefined;
  chat.foreignIds.clear();
  clients.forEach((client) => client.destroy());
  clients = [];
  await waitFor(openStreams, (open) => open === 0);
});

afterAll(() => service?.stop());

async function listen(kind: Kind, options: ListenOptions = {}, url = service.url): Promise<Client> {
  const client = await listenTo(kind, url, options);
  clients.push(client);
  return client;
}

function newConversation(): string {
  conversations += 1;
  return `conv_${conversations}`;
}

async function metric(name: string, url = service.url): Promise<number> {
  return metricValue((await sendTo(url, 'GET /metrics')).text, name);
}

function split(all: Client[]): [Client[], Client[]] {
  const isOpen = ({ status }: Client) => status < 400;
  return [all.filter(isOpen), all.filter((client) => !isOpen(client))];
}

const openStreams = () => metric('parley_streams_open');
const frame = (text: string) => JSON.stringify({ type: 'message_created', data: { text } });
const texts = ({ received }: Client) =>
  received.map((text) => (JSON.parse(text) as { data: { text: string } }).data.text);
const receivedAll = (client: Client, count: number) => waitFor(() => client.received.length >= count);

describe.each(kinds)('a stream of %s', (kind) => {
  it("delivers only signals of the stream's conversation", async () => {
    const [conversation, other] = [newConversation(), newConversation()];
    const client = await listen(kind, { conversation });

    chat.say(other, 'not for you');
    chat.say(conversation, 'Grüße 🦜 \n "\u2028', 'second');

    await receivedAll(client, 2);
    expect(client.received).toEqual([frame('Grüße 🦜 \n "\u2028'), frame('second')]);
  });

  it('delivers each signal once and in order, however signals arrive', async () => {
    const conversation = newConversation();
    const client = await listen(kind, { conversation });
    const [one, two, three, four] = ['1', '2', '3', '4'].map((text) => chat.record(conversation, text));

    chat.publish(conversation, three!, one!, one!, four!, two!, three!);

    await receivedAll(client, 4);
    chat.say(conversation, '5');
    await receivedAll(client, 5);
    expect(texts(client)).toEqual(['1', '2', '3', '4', '5']);
  });

  it('requests missed signals once for all streams', async () => {
    const conversation = newConversation();
    const readers = await Promise.all([listen(kind, { conversation }), listen(kind, { conversation, key: 'bob' })]);
    ['1', '2'].forEach((text) => chat.record(conversation, text));
    const before = chat.questions;

    chat.say(conversation, '3');

    await Promise.all(readers.map((client) => receivedAll(client, 3)));
    expect(readers.map(texts)).toEqual([
      ['1', '2', '3'],
      ['1', '2', '3'],
    ]);
    expect(chat.questions - before).toBe(1);
  });

  it('retries when requesting missed signals fails', async () => {
    const conversation = newConversation();
    const client = await listen(kind, { conversation });
    let failures = 0;
    chat.before.catchUp = () => (failures++ < 1 ? Promise.reject(unavailable('Not now.')) : Promise.resolve());
    chat.record(conversation, '1');

    chat.say(conversation, '2');

    await receivedAll(client, 2);
    expect(texts(client)).toEqual(['1', '2']);
    expect(failures).toBe(2);
  });

  it.each([
    ['nobody else listens', 0],
    ['others listen', 1],
  ])(
    'starts a stream with the last second and with signals that arrive while it opens, when %s',
    async (_who, others) => {
      const conversation = newConversation();
      chat.say(conversation, 'long ago');
      chat.age(conversation);
      for (let count = 0; count < others; count += 1) await listen(kind, { conversation });
      chat.say(conversation, 'just now');
      chat.beforeAnswer = async () => {
        chat.beforeAnswer = undefined;
        chat.say(conversation, 'before the answer');
        // The in-process bus delivers in this turn of the event loop.
        await new Promise(setImmediate);
      };

      const client = await listen(kind, { conversation });
      chat.say(conversation, 'after');

      await receivedAll(client, 3);
      expect(texts(client)).toEqual(['just now', 'before the answer', 'after']);
    },
  );

  it('does not miss or repeat signals in a stream that joins others under load', async () => {
    const conversation = newConversation();
    const first = await listen(kind, { conversation });
    const said = Array.from({ length: 300 }, (_, index) => String(index));
    const talking = (async () => {
      for (const text of said) {
        chat.say(conversation, text);
        await new Promise(setImmediate);
      }
    })();

    const others = await Promise.all(
      Array.from({ length: 5 }, (_, index) => listen(kind, { conversation, after: { query: index } })),
    );
    await talking;

    await Promise.all([first, ...others].map((client) => waitFor(() => texts(client).at(-1) === '299')));
    expect(texts(first)).toEqual(said);
    others.forEach((client, index) => expect(texts(client)).toEqual(said.slice(index)));
  });

  it.each([
    ['the query', { query: 2 }],
    ['a header', { header: 2 }],
  ])('resumes a stream after the number in %s', async (_where, after) => {
    const conversation = newConversation();
    chat.say(conversation, '1', '2', '3', '4');
    chat.age(conversation);

    const client = await listen(kind, { conversation, after });
    chat.say(conversation, '5');

    await receivedAll(client, 3);
    expect(texts(client)).toEqual(['3', '4', '5']);
  });

  it('delays the first signals of a stream, so that the client can attach its listeners', async () => {
    const conversation = newConversation();
    chat.say(conversation, 'just now');
    const written = () => metric('parley_stream_signals_total');
    const before = await written();
    fakeClock('setTimeout', 'clearTimeout');

    const client = await listen(kind, { conversation });
    jest.advanceTimersByTime(20);
    const early = await written();
    jest.advanceTimersByTime(20);

    await receivedAll(client, 1);
    realClock();
    expect(early).toBe(before);
  });

  it('closes a stream when the user is removed, after all earlier signals, and keeps others open', async () => {
    const conversation = newConversation();
    const [alice, again, bob] = await Promise.all([
      listen(kind, { conversation }),
      listen(kind, { conversation }),
      listen(kind, { conversation, key: 'bob' }),
    ]);

    chat.say(conversation, 'before');
    chat.publish(conversation, chat.remove(conversation, 'alice'));
    chat.say(conversation, 'after');

    await waitFor(() => alice.isClosed && again.isClosed);
    await receivedAll(bob, 3);
    expect([alice, again, bob].map(texts)).toEqual([['before'], ['before'], ['before', 'alice left', 'after']]);
    expect(bob.isClosed).toBe(false);
    if (kind === 'WebSocket') expect(alice.closeCode).toBe(1000);
  });

  it('delivers buffered signals before a stream closes', async () => {
    const conversation = newConversation();
    chat.say(conversation, 'just now');
    const client = await listen(kind, { conversation });

    chat.say(conversation, 'before');
    chat.publish(conversation, chat.remove(conversation, 'alice'));

    await waitFor(() => client.isClosed);
    expect(texts(client)).toEqual(['just now', 'before']);
  });

  it('closes a stream for a removed user when the removal is only found by a request', async () => {
    const conversation = newConversation();
    const [alice, bob] = await Promise.all([
      listen(kind, { conversation }),
      listen(kind, { conversation, key: 'bob' }),
    ]);
    chat.record(conversation, 'before');
    chat.remove(conversation, 'alice');

    chat.say(conversation, 'after');

    await waitFor(() => alice.isClosed);
    await receivedAll(bob, 3);
    expect(texts(bob)).toEqual(['before', 'alice left', 'after']);
    expect(texts(alice)).toEqual(['before']);
  });

  it('closes a stream for a user who was removed and re-added, when only a request finds that', async () => {
    const conversation = newConversation();
    const alice = await listen(kind, { conversation });
    chat.remove(conversation, 'alice');
    chat.add(conversation, 'alice');

    chat.say(conversation, 'after');

    await waitFor(() => alice.isClosed);
    expect(texts(alice)).toEqual([]);
  });

  it('misses nothing when one answer cannot hold all lost signals', async () => {
    const conversation = newConversation();
    const client = await listen(kind, { conversation });
    const said = Array.from({ length: 701 }, (_, index) => String(index));
    said.slice(0, -1).forEach((text) => chat.record(conversation, text));

    chat.say(conversation, said.at(-1)!);

    await receivedAll(client, said.length);
    expect(texts(client)).toEqual(said);
  });

  it('resumes a stream with all missed signals when one answer cannot hold them', async () => {
    const conversation = newConversation();
    const said = Array.from({ length: 700 }, (_, index) => String(index));
    chat.say(conversation, ...said);
    chat.age(conversation);

    const client = await listen(kind, { conversation, after: { query: 0 } });

    await receivedAll(client, said.length);
    expect(texts(client)).toEqual(said);
  });

  it('starts a stream with the newest signals when it has missed too many', async () => {
    const conversation = newConversation();
    chat.say(conversation, ...Array.from({ length: 2_300 }, (_, index) => String(index)));
    chat.age(conversation);
    chat.say(conversation, 'just now');

    const client = await listen(kind, { conversation, after: { query: 0 } });
    chat.say(conversation, 'after');

    await receivedAll(client, 2);
    expect(texts(client)).toEqual(['just now', 'after']);
  });

  it('misses nothing when another stream with newer signals opens at the same time', async () => {
    const conversation = newConversation();
    chat.say(conversation, 'before');
    let goOn: () => void;
    const isHeldUp = new Promise<void>((resolve) => {
      chat.beforeAnswer = () => {
        chat.beforeAnswer = undefined;
        resolve();
        return new Promise((release) => (goOn = release));
      };
    });
    const opening = listen(kind, { conversation });
    await isHeldUp;
    const late = chat.record(conversation, 'meanwhile');
    const other = await listen(kind, { conversation, key: 'bob' });
    // Arrives after the other stream has got it by its request.
    chat.publish(conversation, late);

    goOn!();
    const client = await opening;
    chat.say(conversation, 'after');

    await Promise.all([receivedAll(client, 3), receivedAll(other, 3)]);
    expect([client, other].map(texts)).toEqual([
      ['before', 'meanwhile', 'after'],
      ['before', 'meanwhile', 'after'],
    ]);
  });

  it('detects missed signals when another stream opens', async () => {
    const conversation = newConversation();
    const client = await listen(kind, { conversation });
    chat.record(conversation, 'lost');

    await listen(kind, { conversation, key: 'bob' });

    await receivedAll(client, 1);
    expect(texts(client)).toEqual(['lost']);
  });

  it('closes a stream when its conversation is deleted, after one request', async () => {
    const conversation = newConversation();
    const [alice, bob] = await Promise.all([
      listen(kind, { conversation }),
      listen(kind, { conversation, key: 'bob' }),
    ]);
    let questions = 0;
    chat.before.catchUp = () => {
      questions += 1;
      return Promise.reject(new ApiError('ResourceNotFound', 'It is gone.'));
    };
    chat.record(conversation, 'lost');

    chat.say(conversation, 'last');

    await waitFor(() => alice.isClosed && bob.isClosed);
    expect(questions).toBe(1);
  });

  it('requests missed signals after a notice that some may be missing, for this bot or for all', async () => {
    const conversation = newConversation();
    const client = await listen(kind, { conversation });
    chat.record(conversation, 'lost');

    chat.tellMissing({});

    await receivedAll(client, 1);
    chat.record(conversation, 'lost again');
    chat.tellMissing({ botId: 'bot-2' });
    chat.tellMissing({ botId: 'bot-1' });
    await receivedAll(client, 2);
    expect(texts(client)).toEqual(['lost', 'lost again']);
  });

  it('closes a stream whose client does not read, without effect on others', async () => {
    const conversation = newConversation();
    const [slow, quick] = await Promise.all([listen(kind, { conversation }), listen(kind, { conversation })]);
    const large = 'x'.repeat(100_000);
    slow.pause();

    // More than the socket buffers and the gateway's buffer hold.
    for (let count = 5; count <= 300; count += 5) {
      chat.say(conversation, large, large, large, large, large);
      await receivedAll(quick, count);
    }

    await waitFor(openStreams, (open) => open === 1);
    expect(quick.received).toHaveLength(300);
    expect(quick.isClosed).toBe(false);
  });

  it('removes a stream when its client disconnects, with its conversation after the last one', async () => {
    const conversation = newConversation();
    const client = await listen(kind, { conversation });
    expect(await openStreams()).toBe(1);

    client.destroy();

    await waitFor(openStreams, (open) => open === 0);
    const before = chat.questions;
    chat.record(conversation, 'missed');
    chat.say(conversation, 'nobody hears');
    await listen(kind, { conversation });
    expect(chat.questions - before).toBe(1);
  });

  it('counts delivered signals', async () => {
    const conversation = newConversation();
    const before = await metric('parley_stream_signals_total');
    const readers = await Promise.all([listen(kind, { conversation }), listen(kind, { conversation })]);

    chat.say(conversation, '1', '2');

    await Promise.all(readers.map((client) => receivedAll(client, 2)));
    expect((await metric('parley_stream_signals_total')) - before).toBe(4);
  });

  it.each([
    ['as it is', 'a/b-1', 'a/b-1'],
    ['encoded', 'a%2Fb-2', 'a/b-2'],
    ['with the word listen', 'listen/listen/b-3', 'listen/listen/b-3'],
    ['with a backslash', 'a%5Cb-4', 'a\\b-4'],
    ['that looks like another path', 'b-5/messages', 'b-5/messages'],
    ['that looks like the path of a participant', 'b-6/participants', 'b-6/participants'],
  ])('finds the conversation of a stream by a foreign id %s', async (_how, written, foreignId) => {
    const conversation = newConversation();
    chat.foreignIds.set(conversation, foreignId);
    const client = await listen(kind, { conversation: written });

    chat.say(conversation, 'hello');

    await receivedAll(client, 1);
    expect(texts(client)).toEqual(['hello']);
  });

  it.each([
    [400, new ApiError('InvalidPayload', 'No.')],
    [401, new ApiError('Unauthorized', 'No.')],
    [403, new ApiError('Forbidden', 'No.')],
    [404, new ApiError('ResourceNotFound', 'No.')],
    [429, new ApiError('RateLimited', 'No.', { retryAfterSeconds: 7 })],
  ])('rejects a stream with %d like in the chat service', async (status, error) => {
    chat.before.open = () => Promise.reject(error);

    const client = await listen(kind);

    expect(client).toMatchObject({ status, json: { code: status, type: error.type, message: 'No.' } });
    expect(client.headers).toMatchObject({ 'content-type': 'application/json; charset=utf-8' });
    expect(client.headers['x-error-id']).toBe(client.json!.id);
    if (error.retryAfterSeconds) expect(client.headers['retry-after']).toBe('7');
  });

  it.each<[string, 'open' | 'catchUp', Error]>([
    ['is unavailable', 'open', unavailable('Not now.')],
    ['takes too long', 'open', new ApiError('OperationTimeout', 'Too late.')],
    ['fails', 'open', new Error('password=hunter2')],
    ['fails to return missed signals', 'catchUp', new Error('password=hunter2')],
  ])('rejects a stream with 429, never with 5xx, when the chat service %s', async (_how, when, error) => {
    chat.before[when] = () => Promise.reject(error);

    const client = await listen(kind);

    expect(client).toMatchObject({ status: 429, json: { type: 'RateLimited' }, headers: { 'retry-after': '1' } });
    expect(JSON.stringify(client.json)).not.toContain('hunter2');
    expect(await openStreams()).toBe(0);
  });

  it('rejects a stream with 403 when the user has been removed meanwhile', async () => {
    const conversation = newConversation();
    chat.before.open = () => Promise.resolve(void chat.remove(conversation, 'alice'));

    expect(await listen(kind, { conversation })).toMatchObject({ status: 403, json: { type: 'Forbidden' } });
  });

  it('requires a user key for a stream', async () => {
    expect(await listen(kind, { key: '' })).toMatchObject({ status: 401, json: { type: 'Unauthorized' } });
  });

  it('accepts the key of a stream from a header or from the query', async () => {
    const path = `/chat/hook/conversations/${newConversation()}/listen`;

    const [header, query] = await Promise.all([
      listen(kind, { key: '', path, headers: { 'x-user-key': 'alice' } }),
      listen(kind, { key: '', path: `${path}?x-user-key=alice` }),
    ]);

    expect([header.status, query.status]).toEqual(kind === 'WebSocket' ? [101, 101] : [200, 200]);
  });

  it.each([
    '/chat/hook/conversations/a/listens',
    '/chat/hook/conversations//listen',
    '/v1/chat/hook/listen',
    '/',
    '/metrics/x',
  ])('returns 404 for a stream at %s', async (path) => {
    expect(await listen(kind, { path })).toMatchObject({ status: 404, json: { type: 'ResourceNotFound' } });
  });

  it('returns 404 for a stream of an unknown webhook id', async () => {
    const path = '/chat/other/conversations/a/listen';

    expect(await listen(kind, { path })).toMatchObject({ status: 404, json: { type: 'ResourceNotFound' } });
  });
});

describe('server-sent events', () => {
  it('sends server-sent events with a number and one line of data, readable from any origin', async () => {
    const conversation = newConversation();
    const client = await listen('server-sent events', { conversation, headers: { origin: 'https://app.example' } });

    chat.say(conversation, 'first', 'second');

    await receivedAll(client, 2);
    expect(client.events).toEqual([
      { event: 'message', id: '1', data: frame('first') },
      { event: 'message', id: '2', data: frame('second') },
    ]);
    expect(client.headers).toMatchObject({
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-cache, no-transform',
      'access-control-allow-origin': 'https://app.example',
      'access-control-allow-credentials': 'true',
      'x-request-id': expect.stringMatching(/^req_/) as string,
    });
  });

  it('sends server-sent events that the public client reads', async () => {
    const conversationId = newConversation();
    chat.foreignIds.set(conversationId, 'my/chat');
    const received: unknown[] = [];
    const url = `${service.url}/chat/hook`;
    const listener = await SignalListener.listen({ url, userKey: 'alice', conversationId: 'my/chat', debug: false });
    listener.on('message_deleted', (data) => received.push(data));
    const data = { id: 'msg_1', conversationId: 'my/chat', userId: 'alice' };

    const { number } = chat.record(conversationId, '');
    chat.publish(conversationId, { number, frame: JSON.stringify({ type: 'message_deleted', data }) });

    await waitFor(() => received.length === 1);
    expect(received).toEqual([data]);
    await listener.disconnect();
  });

  it('ends server-sent events in the public client when they are rejected', async () => {
    const url = `${service.url}/chat/other`;

    await expect(
      SignalListener.listen({ url, userKey: 'alice', conversationId: 'a', debug: false }),
    ).rejects.toBeDefined();
  });

  it('returns 404 for HEAD of server-sent events', async () => {
    expect((await sendTo(service.url, 'HEAD /chat/hook/conversations/a/listen')).status).toBe(404);
  });
});

describe('a WebSocket', () => {
  it('rejects a WebSocket with 400 for an invalid handshake', async () => {
    const headers = { connection: 'upgrade', upgrade: 'websocket', 'x-user-key': 'alice' };

    const answer = await sendTo(service.url, 'GET /chat/hook/conversations/conv_1/listen', { headers });

    expect(answer).toMatchObject({ status: 400, json: { type: 'InvalidPayload' } });
    expect(await openStreams()).toBe(0);
  });
});

describe('the missed signals of a stream', () => {
  const stand = new StandInChat();
  let own: RunningService;

  beforeAll(async () => {
    own = await start(stand, { listenMaxUnsentBytes: 100_000, listenPingMs: 3_600_000, programPingMs: 3_600_000 });
  });
  afterAll(() => own?.stop());

  it.each(kinds)(
    'sends missed signals over %s as fast as the client reads, even above the buffer limit',
    async (kind) => {
      const conversation = newConversation();
      const said = Array.from({ length: 60 }, (_, index) => `${index}`.padStart(30_000, 'x'));
      stand.say(conversation, ...said);

      const client = await listen(kind, { conversation, after: { query: 0 } }, own.url);
      stand.say(conversation, 'after');

      await receivedAll(client, 61);
      expect(texts(client)).toEqual([...said, 'after']);
    },
  );
});

it('pings event streams of programs more often than those of browsers and WebSockets', async () => {
  const own = await start(new StandInChat(), { listenPingMs: 3_600_000, programPingMs: 100 });
  const streams = await Promise.all([
    listen('WebSocket', {}, own.url),
    listen('server-sent events', { headers: { origin: 'https://example.com' } }, own.url),
    listen('server-sent events', { headers: { 'sec-fetch-mode': 'cors' } }, own.url),
    listen('server-sent events', {}, own.url),
  ]);

  await receivedAll(streams[3], 3);

  expect(streams.map(({ received }) => received.length > 0)).toEqual([false, false, false, true]);
  await own.stop();
});

describe('a gateway with a short ping interval', () => {
  const stand = new StandInChat();
  let own: RunningService;

  beforeAll(async () => {
    own = await start(stand, { listenMaxUnsentBytes: 10_000, listenPingMs: 100 });
  });
  afterEach(() => {
    stand.before = {};
  });
  afterAll(() => own?.stop());

  it.each(kinds)('drops missed signals when the client of a %s does not read them', async (kind) => {
    const conversation = newConversation();
    // More than the socket buffers hold.
    stand.say(conversation, ...Array.from({ length: 200 }, () => 'x'.repeat(100_000)));

    const client = await listen(kind, { conversation, after: { query: 0 } }, own.url);
    client.pause();

    await waitFor(
      () => metric('parley_streams_open', own.url),
      (count) => count === 0,
    );
  });

  it.each(['Unauthorized', 'Forbidden', 'ResourceNotFound'] as const)(
    'closes streams that would now be rejected with %s, and no others',
    async (type) => {
      const open = await Promise.all(kinds.map((kind) => listen(kind, {}, own.url)));
      let failures = 0;
      let early: boolean[] | undefined;
      stand.before.open = () => {
        failures += 1;
        if (failures < 6) return Promise.reject(unavailable('Not now.'));
        early ??= open.map(({ isClosed }) => isClosed);
        return Promise.reject(new ApiError(type, 'No.'));
      };

      await waitFor(() => open.every(({ isClosed }) => isClosed));

      expect(early).toEqual([false, false]);
    },
  );

  it('pings its streams', async () => {
    const [events, socket] = await Promise.all(kinds.map((kind) => listen(kind, {}, own.url)));

    await waitFor(() => events!.received.length >= 2 && socket!.received.length >= 2);

    expect(events!.events[0]).toEqual({ event: 'message', data: 'ping' });
    expect(socket!.received.slice(0, 2)).toEqual(['ping', 'ping']);
  });
});

describe('a gateway', () => {
  it('rejects streams with 429 without a chat service', async () => {
    const own = await startServiceOn(service.databaseUrl, gateway({}));

    const refused = await Promise.all(kinds.map((kind) => listen(kind, {}, own.url)));

    await own.stop();
    refused.forEach((client) => expect(client).toMatchObject({ status: 429, headers: { 'retry-after': '1' } }));
  });

  it('limits open streams, opened concurrently or one by one, until one closes', async () => {
    const own = await start(new StandInChat(), { listenMaxStreams: 4 });
    const opening = [...kinds, ...kinds, ...kinds].map((kind) => listen(kind, {}, own.url));

    const [open, refused] = split(await Promise.all(opening));
    const late = await Promise.all(kinds.map((kind) => listen(kind, {}, own.url)));

    expect([open.length, refused.length]).toEqual([4, 2]);
    [...refused, ...late].forEach((client) =>
      expect(client).toMatchObject({ status: 429, headers: { 'retry-after': '1' }, json: { type: 'RateLimited' } }),
    );
    open[0]!.destroy();
    await waitFor(async () => split([await listen('WebSocket', {}, own.url)])[0].length === 1);
    await own.stop();
  });

  it.each(kinds)('opens 20 streams for one user over %s, and more for others', async (kind) => {
    const all = await Promise.all(Array.from({ length: 22 }, () => listen(kind, { key: 'greedy' })));
    const other = await listen(kind, { key: 'modest' });

    const [open, refused] = split(all);
    expect([open.length, refused.length]).toEqual([20, 2]);
    refused.forEach((client) =>
      expect(client).toMatchObject({
        status: 429,
        headers: { 'retry-after': '1' },
        json: { type: 'RateLimited', message: expect.stringContaining('at most 20 per user key') as string },
      }),
    );
    expect(split([other])[0]).toHaveLength(1);
    open[0]!.destroy();
    await waitFor(async () => split([await listen(kind, { key: 'greedy' })])[0].length === 1);
  });

  it('opens 5 % of all streams for the users of one bot', async () => {
    const stand = new StandInChat();
    const own = await start(stand, { listenMaxStreams: 500 });
    const users = Array.from({ length: 30 }, (_, index) => `user-${index}`);
    const [open, refused] = split(await Promise.all(users.map((key) => listen('WebSocket', { key }, own.url))));
    const other = await listen('WebSocket', { path: '/chat/hook-2/conversations/conv_1/listen' }, own.url);

    expect([open.length, refused.length]).toEqual([25, 5]);
    refused.forEach((client) =>
      expect(client).toMatchObject({
        status: 429,
        json: { type: 'RateLimited', message: expect.stringContaining('at most 25 per bot') as string },
      }),
    );
    expect(split([other])[0]).toHaveLength(1);
    await own.stop();
  });

  it('applies the rate limit of the user key, or of the address until the key is accepted', async () => {
    const own = await start(new StandInChat(), { rateLimitPerSecond: 1, rateLimitBurst: 10 });
    const both = Array.from({ length: 12 }, (_, index) => kinds[index % 2]!);
    const path = '/chat/no-hook/conversations/conv_1/listen';
    await listen('WebSocket', {}, own.url);

    const guesses = await Promise.all(
      both.map((kind, index) => listen(kind, { key: `nobody-${index}`, path }, own.url)),
    );
    const known = await Promise.all(both.map((kind) => listen(kind, {}, own.url)));

    expect(split(known).map(({ length }) => length)).toEqual([10, 2]);
    const limited = [...guesses, ...known].filter(({ status }) => status === 429);
    expect(limited).toHaveLength(4);
    limited.forEach(({ headers }) =>
      expect(headers).toMatchObject({ 'ratelimit-limit': '10', 'ratelimit-remaining': '0' }),
    );
    await own.stop();
  });

  it('closes all streams when it begins to stop, after their buffered signals, and opens no more', async () => {
    const stand = new StandInChat();
    const own = await start(stand);
    stand.say('conv_1', 'just now');
    const open = await Promise.all(kinds.map((kind) => listen(kind, {}, own.url)));

    own.apps[0]!.get(Readiness).stop();

    await waitFor(() => open.every(({ isClosed }) => isClosed));
    const late = await Promise.all(kinds.map((kind) => listen(kind, {}, own.url)));
    await own.stop();
    open.forEach((client) => expect(texts(client)).toEqual(['just now']));
    expect(open[1]!.closeCode).toBe(1001);
    late.forEach((client) => expect(client).toMatchObject({ status: 429 }));
  });

  it('stops without waiting for streams, read or unread', async () => {
    const stand = new StandInChat();
    const own = await start(stand, { shutdownTimeoutMs: 600_000 });
    const open = await Promise.all([...kinds, ...kinds].map((kind) => listen(kind, {}, own.url)));
    open.slice(2).forEach((client) => client.pause());
    for (let count = 0; count < 100; count += 1) stand.say('conv_1', 'x'.repeat(100_000));

    // If it waited for streams, the test would time out.
    await own.stop();

    await waitFor(() => open.slice(0, 2).every(({ isClosed }) => isClosed));
  });
});
