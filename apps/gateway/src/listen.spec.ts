import { SignalListener } from '@botpress/chat';
import { ApiError, unavailable } from '@parley/contracts/errors';
import { Readiness } from '@parley/service/health.controller';
import type { Platform } from '@parley/service/platform';
import { sendTo } from '@parley/testing/front-door';
import { fakeClock, realClock } from '@parley/testing/fake-clock';
import { type RunningService, startService, startServiceOn } from '@parley/testing/running-service';
import { until } from '@parley/testing/until';
import { GatewayConfig } from './config';
import { GatewayModule } from './gateway.module';
import { type Asked, type Client, kinds, type Kind, listen as listenTo } from './listening/test/listening-client';
import { StandInChat, StandInChatModule } from './listening/test/stand-in-chat';

let chat: StandInChat;
let service: RunningService;
let clients: Client[] = [];
let conversations = 0;

const gateway = (config: Partial<GatewayConfig>) => (_databaseUrl: string, platform: Platform) =>
  GatewayModule.register(Object.assign(new GatewayConfig(), config), platform);
const standIn = (stand: StandInChat) => (_databaseUrl: string, platform: Platform) =>
  StandInChatModule.register(stand, platform);

/** Another gateway, with a chat service of its own. */
function start(stand: StandInChat, config: Partial<GatewayConfig> = {}): Promise<RunningService> {
  return startServiceOn(service.databaseUrl, gateway(config), standIn(stand));
}

beforeAll(async () => {
  chat = new StandInChat();
  service = await startService(gateway({ listenPingMs: 3_600_000 }), standIn(chat));
});

afterEach(async () => {
  chat.before = {};
  chat.beforeAnswer = undefined;
  chat.foreignIds.clear();
  clients.forEach((client) => client.destroy());
  clients = [];
  await until(openStreams, (open) => open === 0);
});

afterAll(() => service?.stop());

async function listen(kind: Kind, asked: Asked = {}, url = service.url): Promise<Client> {
  const client = await listenTo(kind, url, asked);
  clients.push(client);
  return client;
}

/** A conversation that no other test has. */
function newConversation(): string {
  conversations += 1;
  return `conv_${conversations}`;
}

async function metric(name: string): Promise<number> {
  const { text } = await sendTo(service.url, 'GET /metrics');
  return Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(text)?.[1]);
}

/** Those that have opened, and the others. */
function split(all: Client[]): [Client[], Client[]] {
  const isOpen = ({ status }: Client) => status < 400;
  return [all.filter(isOpen), all.filter((client) => !isOpen(client))];
}

const openStreams = () => metric('parley_streams_open');
const frame = (text: string) => JSON.stringify({ type: 'message_created', data: { text } });
const texts = ({ heard }: Client) => heard.map((text) => (JSON.parse(text) as { data: { text: string } }).data.text);
const heardAll = (client: Client, count: number) => until(() => client.heard.length >= count);

describe.each(kinds)('a stream of %s', (kind) => {
  it('says what is said in the conversation, as it is, and nothing of another one', async () => {
    const [conversation, other] = [newConversation(), newConversation()];
    const client = await listen(kind, { conversation });

    chat.say(other, 'not for you');
    chat.say(conversation, 'Grüße 🦜 \n "\u2028', 'second');

    await heardAll(client, 2);
    expect(client.heard).toEqual([frame('Grüße 🦜 \n "\u2028'), frame('second')]);
  });

  it('says each signal once and in order, however they come', async () => {
    const conversation = newConversation();
    const client = await listen(kind, { conversation });
    const [one, two, three, four] = ['1', '2', '3', '4'].map((text) => chat.record(conversation, text));

    chat.publish(conversation, three!, one!, one!, four!, two!, three!);

    await heardAll(client, 4);
    chat.say(conversation, '5');
    await heardAll(client, 5);
    expect(texts(client)).toEqual(['1', '2', '3', '4', '5']);
  });

  it('asks for what it has missed, once for all streams', async () => {
    const conversation = newConversation();
    const readers = await Promise.all([listen(kind, { conversation }), listen(kind, { conversation, key: 'bob' })]);
    ['1', '2'].forEach((text) => chat.record(conversation, text));
    const before = chat.questions;

    chat.say(conversation, '3');

    await Promise.all(readers.map((client) => heardAll(client, 3)));
    expect(readers.map(texts)).toEqual([
      ['1', '2', '3'],
      ['1', '2', '3'],
    ]);
    expect(chat.questions - before).toBe(1);
  });

  it('asks again when the answer is an error', async () => {
    const conversation = newConversation();
    const client = await listen(kind, { conversation });
    let failures = 0;
    chat.before.catchUp = () => (failures++ < 1 ? Promise.reject(unavailable('Not now.')) : Promise.resolve());
    chat.record(conversation, '1');

    chat.say(conversation, '2');

    await heardAll(client, 2);
    expect(texts(client)).toEqual(['1', '2']);
    expect(failures).toBe(2);
  });

  it.each([
    ['nobody else listens', 0],
    ['others listen', 1],
  ])('begins with the last second, and with what is said while it opens, when %s', async (_who, others) => {
    const conversation = newConversation();
    chat.say(conversation, 'long ago');
    chat.age(conversation);
    for (let count = 0; count < others; count += 1) await listen(kind, { conversation });
    chat.say(conversation, 'just now');
    chat.beforeAnswer = async () => {
      chat.beforeAnswer = undefined;
      chat.say(conversation, 'before the answer');
      // The in-process bus tells it in this turn of the loop.
      await new Promise(setImmediate);
    };

    const client = await listen(kind, { conversation });
    chat.say(conversation, 'after');

    await heardAll(client, 3);
    expect(texts(client)).toEqual(['just now', 'before the answer', 'after']);
  });

  it('misses and repeats nothing when it joins others while much is said', async () => {
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

    await Promise.all([first, ...others].map((client) => until(() => texts(client).at(-1) === '299')));
    expect(texts(first)).toEqual(said);
    others.forEach((client, index) => expect(texts(client)).toEqual(said.slice(index)));
  });

  it.each([
    ['the query', { query: 2 }],
    ['a header', { header: 2 }],
  ])('goes on after the number that %s names', async (_where, after) => {
    const conversation = newConversation();
    chat.say(conversation, '1', '2', '3', '4');
    chat.age(conversation);

    const client = await listen(kind, { conversation, after });
    chat.say(conversation, '5');

    await heardAll(client, 3);
    expect(texts(client)).toEqual(['3', '4', '5']);
  });

  it('keeps its first signals back for a moment, so that the client can attach its listeners', async () => {
    const conversation = newConversation();
    chat.say(conversation, 'just now');
    const written = () => metric('parley_stream_signals_total');
    const before = await written();
    fakeClock('setTimeout', 'clearTimeout');

    const client = await listen(kind, { conversation });
    jest.advanceTimersByTime(20);
    const early = await written();
    jest.advanceTimersByTime(20);

    await heardAll(client, 1);
    realClock();
    expect(early).toBe(before);
  });

  it('ends when the user is removed, after all that was said before, and goes on for the others', async () => {
    const conversation = newConversation();
    const [alice, again, bob] = await Promise.all([
      listen(kind, { conversation }),
      listen(kind, { conversation }),
      listen(kind, { conversation, key: 'bob' }),
    ]);

    chat.say(conversation, 'before');
    chat.publish(conversation, chat.remove(conversation, 'alice'));
    chat.say(conversation, 'after');

    await until(() => alice.isClosed && again.isClosed);
    await heardAll(bob, 3);
    expect([alice, again, bob].map(texts)).toEqual([['before'], ['before'], ['before', 'alice left', 'after']]);
    expect(bob.isClosed).toBe(false);
    if (kind === 'WebSocket') expect(alice.closeCode).toBe(1000);
  });

  it('says what it keeps back before it ends', async () => {
    const conversation = newConversation();
    chat.say(conversation, 'just now');
    const client = await listen(kind, { conversation });

    chat.say(conversation, 'before');
    chat.publish(conversation, chat.remove(conversation, 'alice'));

    await until(() => client.isClosed);
    expect(texts(client)).toEqual(['just now', 'before']);
  });

  it('ends for who was removed when that is only learned by asking', async () => {
    const conversation = newConversation();
    const [alice, bob] = await Promise.all([
      listen(kind, { conversation }),
      listen(kind, { conversation, key: 'bob' }),
    ]);
    chat.record(conversation, 'before');
    chat.remove(conversation, 'alice');

    chat.say(conversation, 'after');

    await until(() => alice.isClosed);
    await heardAll(bob, 3);
    expect(texts(bob)).toEqual(['before', 'alice left', 'after']);
    expect(texts(alice)).toEqual(['before']);
  });

  it('ends for who was removed and has come back since, when that is only learned by asking', async () => {
    const conversation = newConversation();
    const alice = await listen(kind, { conversation });
    chat.remove(conversation, 'alice');
    chat.add(conversation, 'alice');

    chat.say(conversation, 'after');

    await until(() => alice.isClosed);
    expect(texts(alice)).toEqual([]);
  });

  it('misses nothing when more was lost than one answer holds', async () => {
    const conversation = newConversation();
    const client = await listen(kind, { conversation });
    const said = Array.from({ length: 701 }, (_, index) => String(index));
    said.slice(0, -1).forEach((text) => chat.record(conversation, text));

    chat.say(conversation, said.at(-1)!);

    await heardAll(client, said.length);
    expect(texts(client)).toEqual(said);
  });

  it('goes on with all that it has missed when that is more than one answer holds', async () => {
    const conversation = newConversation();
    const said = Array.from({ length: 700 }, (_, index) => String(index));
    chat.say(conversation, ...said);
    chat.age(conversation);

    const client = await listen(kind, { conversation, after: { query: 0 } });

    await heardAll(client, said.length);
    expect(texts(client)).toEqual(said);
  });

  it('begins with the newest when it has missed too much', async () => {
    const conversation = newConversation();
    chat.say(conversation, ...Array.from({ length: 2_300 }, (_, index) => String(index)));
    chat.age(conversation);
    chat.say(conversation, 'just now');

    const client = await listen(kind, { conversation, after: { query: 0 } });
    chat.say(conversation, 'after');

    await heardAll(client, 2);
    expect(texts(client)).toEqual(['just now', 'after']);
  });

  it('misses nothing when another one opens at the same time that knows more', async () => {
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
    // Told after the other one has it by asking.
    chat.publish(conversation, late);

    goOn!();
    const client = await opening;
    chat.say(conversation, 'after');

    await Promise.all([heardAll(client, 3), heardAll(other, 3)]);
    expect([client, other].map(texts)).toEqual([
      ['before', 'meanwhile', 'after'],
      ['before', 'meanwhile', 'after'],
    ]);
  });

  it('learns from another one that opens that it has missed something', async () => {
    const conversation = newConversation();
    const client = await listen(kind, { conversation });
    chat.record(conversation, 'lost');

    await listen(kind, { conversation, key: 'bob' });

    await heardAll(client, 1);
    expect(texts(client)).toEqual(['lost']);
  });

  it('ends when its conversation is gone, which is asked once', async () => {
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

    await until(() => alice.isClosed && bob.isClosed);
    expect(questions).toBe(1);
  });

  it('asks for what was missed when it is told that something may be missing, of this bot or of all', async () => {
    const conversation = newConversation();
    const client = await listen(kind, { conversation });
    chat.record(conversation, 'lost');

    chat.tellMissing({});

    await heardAll(client, 1);
    chat.record(conversation, 'lost again');
    chat.tellMissing({ botId: 'bot-2' });
    chat.tellMissing({ botId: 'bot-1' });
    await heardAll(client, 2);
    expect(texts(client)).toEqual(['lost', 'lost again']);
  });

  it('is closed when it is not read, and others hear everything', async () => {
    const conversation = newConversation();
    const [slow, quick] = await Promise.all([listen(kind, { conversation }), listen(kind, { conversation })]);
    const large = 'x'.repeat(100_000);
    slow.pause();

    // More than the buffers of the system and ours hold together.
    for (let count = 5; count <= 300; count += 5) {
      chat.say(conversation, large, large, large, large, large);
      await heardAll(quick, count);
    }

    await until(openStreams, (open) => open === 1);
    expect(quick.heard).toHaveLength(300);
    expect(quick.isClosed).toBe(false);
  });

  it('is forgotten when the client goes away, with the conversation that nobody else listens to', async () => {
    const conversation = newConversation();
    const client = await listen(kind, { conversation });
    expect(await openStreams()).toBe(1);

    client.destroy();

    await until(openStreams, (open) => open === 0);
    const before = chat.questions;
    chat.record(conversation, 'missed');
    chat.say(conversation, 'nobody hears');
    await listen(kind, { conversation });
    expect(chat.questions - before).toBe(1);
  });

  it('counts what it says', async () => {
    const conversation = newConversation();
    const before = await metric('parley_stream_signals_total');
    const readers = await Promise.all([listen(kind, { conversation }), listen(kind, { conversation })]);

    chat.say(conversation, '1', '2');

    await Promise.all(readers.map((client) => heardAll(client, 2)));
    expect((await metric('parley_stream_signals_total')) - before).toBe(4);
  });

  it.each([
    ['as it is', 'a/b-1', 'a/b-1'],
    ['encoded', 'a%2Fb-2', 'a/b-2'],
    ['with the word listen', 'listen/listen/b-3', 'listen/listen/b-3'],
    ['with a backslash', 'a%5Cb-4', 'a\\b-4'],
    ['that looks like another path', 'b-5/messages', 'b-5/messages'],
    ['that looks like the path of a participant', 'b-6/participants', 'b-6/participants'],
  ])('finds a foreign id %s', async (_how, written, foreignId) => {
    const conversation = newConversation();
    chat.foreignIds.set(conversation, foreignId);
    const client = await listen(kind, { conversation: written });

    chat.say(conversation, 'hello');

    await heardAll(client, 1);
    expect(texts(client)).toEqual(['hello']);
  });

  it.each([
    [400, new ApiError('InvalidPayload', 'No.')],
    [401, new ApiError('Unauthorized', 'No.')],
    [403, new ApiError('Forbidden', 'No.')],
    [404, new ApiError('ResourceNotFound', 'No.')],
    [429, new ApiError('RateLimited', 'No.', { retryAfterSeconds: 7 })],
  ])('is refused with %d as the chat service refuses it', async (status, error) => {
    chat.before.open = () => Promise.reject(error);

    const client = await listen(kind);

    expect(client).toMatchObject({ status, json: { code: status, type: error.type, message: 'No.' } });
    expect(client.headers).toMatchObject({ 'content-type': 'application/json; charset=utf-8' });
    expect(client.headers['x-error-id']).toBe(client.json!.id);
    if (error.retryAfterSeconds) expect(client.headers['retry-after']).toBe('7');
  });

  it.each<[string, 'open' | 'catchUp', Error]>([
    ['may not be asked just now', 'open', unavailable('Not now.')],
    ['takes too long', 'open', new ApiError('OperationTimeout', 'Too late.')],
    ['fails', 'open', new Error('password=hunter2')],
    ['fails when it is asked what was missed', 'catchUp', new Error('password=hunter2')],
  ])('is refused with 429, never with an error of ours, when the chat service %s', async (_how, when, error) => {
    chat.before[when] = () => Promise.reject(error);

    const client = await listen(kind);

    expect(client).toMatchObject({ status: 429, json: { type: 'RateLimited' }, headers: { 'retry-after': '1' } });
    expect(JSON.stringify(client.json)).not.toContain('hunter2');
    expect(await openStreams()).toBe(0);
  });

  it('is refused with 403 when the user was removed meanwhile', async () => {
    const conversation = newConversation();
    chat.before.open = () => Promise.resolve(void chat.remove(conversation, 'alice'));

    expect(await listen(kind, { conversation })).toMatchObject({ status: 403, json: { type: 'Forbidden' } });
  });

  it('needs a user key', async () => {
    expect(await listen(kind, { key: '' })).toMatchObject({ status: 401, json: { type: 'Unauthorized' } });
  });

  it('takes the key from a header or from the query', async () => {
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
  ])('is not at %s', async (path) => {
    expect(await listen(kind, { path })).toMatchObject({ status: 404, json: { type: 'ResourceNotFound' } });
  });

  it('is not at a webhook that is not there', async () => {
    const path = '/chat/other/conversations/a/listen';

    expect(await listen(kind, { path })).toMatchObject({ status: 404, json: { type: 'ResourceNotFound' } });
  });
});

describe('server-sent events', () => {
  it('are messages with a number and one line of data, and may be read from anywhere', async () => {
    const conversation = newConversation();
    const client = await listen('server-sent events', { conversation, headers: { origin: 'https://app.example' } });

    chat.say(conversation, 'first', 'second');

    await heardAll(client, 2);
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

  it('are what the public client hears', async () => {
    const conversationId = newConversation();
    chat.foreignIds.set(conversationId, 'my/chat');
    const heard: unknown[] = [];
    const url = `${service.url}/chat/hook`;
    const listener = await SignalListener.listen({ url, userKey: 'alice', conversationId: 'my/chat', debug: false });
    listener.on('message_deleted', (data) => heard.push(data));
    const data = { id: 'msg_1', conversationId: 'my/chat', userId: 'alice' };

    const { number } = chat.record(conversationId, '');
    chat.publish(conversationId, { number, frame: JSON.stringify({ type: 'message_deleted', data }) });

    await until(() => heard.length === 1);
    expect(heard).toEqual([data]);
    await listener.disconnect();
  });

  it('make the public client give up when they are refused', async () => {
    const url = `${service.url}/chat/other`;

    await expect(
      SignalListener.listen({ url, userKey: 'alice', conversationId: 'a', debug: false }),
    ).rejects.toBeDefined();
  });

  it('are not there for HEAD', async () => {
    expect((await sendTo(service.url, 'HEAD /chat/hook/conversations/a/listen')).status).toBe(404);
  });
});

describe('a WebSocket', () => {
  it('is refused with 400 when its handshake is not valid', async () => {
    const headers = { connection: 'upgrade', upgrade: 'websocket', 'x-user-key': 'alice' };

    const answer = await sendTo(service.url, 'GET /chat/hook/conversations/conv_1/listen', { headers });

    expect(answer).toMatchObject({ status: 400, json: { type: 'InvalidPayload' } });
    expect(await openStreams()).toBe(0);
  });
});

describe('what a stream has missed', () => {
  const stand = new StandInChat();
  let own: RunningService;

  beforeAll(async () => {
    own = await start(stand, { listenMaxUnsentBytes: 100_000, listenPingMs: 3_600_000 });
  });
  afterAll(() => own?.stop());

  it.each(kinds)('is told by %s as fast as it is read, though it is more than is kept for slow ones', async (kind) => {
    const conversation = newConversation();
    const said = Array.from({ length: 60 }, (_, index) => `${index}`.padStart(30_000, 'x'));
    stand.say(conversation, ...said);

    const client = await listen(kind, { conversation, after: { query: 0 } }, own.url);
    stand.say(conversation, 'after');

    await heardAll(client, 61);
    expect(texts(client)).toEqual([...said, 'after']);
  });
});

describe('a gateway that pings often', () => {
  const stand = new StandInChat();
  let own: RunningService;

  beforeAll(async () => {
    own = await start(stand, { listenMaxUnsentBytes: 10_000, listenPingMs: 100 });
  });
  afterEach(() => {
    stand.before = {};
  });
  afterAll(() => own?.stop());

  it.each(kinds)('forgets what was missed when the client of a %s does not read it', async (kind) => {
    const conversation = newConversation();
    // More than the buffers of the system hold.
    stand.say(conversation, ...Array.from({ length: 200 }, () => 'x'.repeat(100_000)));
    const open = async () => /^parley_streams_open (\d+)$/m.exec((await sendTo(own.url, 'GET /metrics')).text)![1];

    const client = await listen(kind, { conversation, after: { query: 0 } }, own.url);
    client.pause();

    await until(open, (count) => count === '0');
  });

  it.each(['Unauthorized', 'Forbidden', 'ResourceNotFound'] as const)(
    'ends streams in time that would be refused with %s, and no others',
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

      await until(() => open.every(({ isClosed }) => isClosed));

      expect(early).toEqual([false, false]);
    },
  );

  it('pings its streams', async () => {
    const [events, socket] = await Promise.all(kinds.map((kind) => listen(kind, {}, own.url)));

    await until(() => events!.heard.length >= 2 && socket!.heard.length >= 2);

    expect(events!.events[0]).toEqual({ event: 'message', data: 'ping' });
    expect(socket!.heard.slice(0, 2)).toEqual(['ping', 'ping']);
  });
});

describe('a gateway', () => {
  it('refuses with 429 when there is no chat service', async () => {
    const own = await startServiceOn(service.databaseUrl, gateway({}));

    const refused = await Promise.all(kinds.map((kind) => listen(kind, {}, own.url)));

    await own.stop();
    refused.forEach((client) => expect(client).toMatchObject({ status: 429, headers: { 'retry-after': '1' } }));
  });

  it('opens no more streams than it may, asked for at once or one after the other, until one has ended', async () => {
    const own = await start(new StandInChat(), { listenMaxStreams: 4 });
    const asked = [...kinds, ...kinds, ...kinds].map((kind) => listen(kind, {}, own.url));

    const [open, refused] = split(await Promise.all(asked));
    const late = await Promise.all(kinds.map((kind) => listen(kind, {}, own.url)));

    expect([open.length, refused.length]).toEqual([4, 2]);
    [...refused, ...late].forEach((client) =>
      expect(client).toMatchObject({ status: 429, headers: { 'retry-after': '1' }, json: { type: 'RateLimited' } }),
    );
    open[0]!.destroy();
    await until(async () => split([await listen('WebSocket', {}, own.url)])[0].length === 1);
    await own.stop();
  });

  it.each(kinds)('opens 20 streams for one user, by %s, and goes on for others', async (kind) => {
    const all = await Promise.all(Array.from({ length: 22 }, () => listen(kind, { key: 'greedy' })));
    const other = await listen(kind, { key: 'modest' });

    const [open, refused] = split(all);
    expect([open.length, refused.length]).toEqual([20, 2]);
    refused.forEach((client) =>
      expect(client).toMatchObject({
        status: 429,
        headers: { 'retry-after': '1' },
        json: { type: 'RateLimited', message: expect.stringContaining('20 streams') as string },
      }),
    );
    expect(split([other])[0]).toHaveLength(1);
    open[0]!.destroy();
    await until(async () => split([await listen(kind, { key: 'greedy' })])[0].length === 1);
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
        json: { type: 'RateLimited', message: expect.stringContaining('25 streams') as string },
      }),
    );
    expect(split([other])[0]).toHaveLength(1);
    await own.stop();
  });

  it('counts the streams that a key opens, and before it is known, those of an address', async () => {
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

  it('ends all streams as soon as it begins to stop, after what they keep back, and opens no others', async () => {
    const stand = new StandInChat();
    const own = await start(stand);
    stand.say('conv_1', 'just now');
    const open = await Promise.all(kinds.map((kind) => listen(kind, {}, own.url)));

    own.apps[0]!.get(Readiness).stop();

    await until(() => open.every(({ isClosed }) => isClosed));
    const late = await Promise.all(kinds.map((kind) => listen(kind, {}, own.url)));
    await own.stop();
    open.forEach((client) => expect(texts(client)).toEqual(['just now']));
    expect(open[1]!.closeCode).toBe(1001);
    late.forEach((client) => expect(client).toMatchObject({ status: 429 }));
  });

  it('stops without waiting for streams, be they read or not', async () => {
    const stand = new StandInChat();
    const own = await start(stand, { shutdownTimeoutMs: 600_000 });
    const open = await Promise.all([...kinds, ...kinds].map((kind) => listen(kind, {}, own.url)));
    open.slice(2).forEach((client) => client.pause());
    for (let count = 0; count < 100; count += 1) stand.say('conv_1', 'x'.repeat(100_000));

    // Waiting for streams, it would outlast the test.
    await own.stop();

    await until(() => open.slice(0, 2).every(({ isClosed }) => isClosed));
  });
});
