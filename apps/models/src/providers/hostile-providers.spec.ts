import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { answerWith, beginStream, ModelServer, sendChunk } from '@parley/testing/model-server';
import { type Account, configured, type PublicApi, startPublicApi } from '@parley/testing/public-api';
import { AdminModule } from '../../../admin/src/admin.module';
import { GatewayModule } from '../../../gateway/src/gateway.module';
import { HubModule } from '../../../hub/src/hub.module';
import { ModelsConfig } from '../config';
import { ModelsModule } from '../models.module';
import { UpstreamClient } from './upstream.client';

interface Metadata {
  usage: { inputTokens: number };
}

type Behaviour = (socket: Socket) => unknown;

const json = 'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n';
const events = 'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n';
const megabyte = 'a'.repeat(1_000_000);

let api: PublicApi;
let account: Account;
let healthy: ModelServer;
let server: Server;
let behave: Behaviour;
let connections: Socket[] = [];

beforeAll(async () => {
  healthy = await ModelServer.start();
  server = createServer((socket) => {
    connections.push(socket);
    socket.on('error', () => undefined);
    socket.once('data', () => void behave(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  api = await startPublicApi(
    GatewayModule,
    AdminModule,
    HubModule,
    configured(ModelsModule, ModelsConfig, { completionsUrl: healthy.url, completionsCacheSeconds: 0 }),
  );
  account = await api.newAccount();
  api.apps.at(-1)!.get(UpstreamClient, { strict: false }).longestTimeouts = 2;
});

afterAll(async () => {
  await api?.stop();
  await healthy?.stop();
  connections.forEach((socket) => socket.destroy());
  server?.close();
});

beforeEach(() => {
  connections = [];
  healthy.requests.length = 0;
  healthy.answer = answerWith('hello');
});

/** Each call gets a provider with new settings: nothing is known of it. */
let count = 0;

async function useProvider(url: string, timeoutMs: number): Promise<void> {
  await api.send('PUT /operator/models/providers/hostile', {
    headers: { authorization: `Bearer ${api.operatorToken}` },
    json: { url, timeoutMs, models: [{ name: 'm' }], roles: { auto: `m${(count += 1)}` } },
  });
}

async function ask(way: 'generate-text' | 'generate-text-stream') {
  const { bot } = await account.client.createBot({});
  return api.send(`POST /v2/cognitive/${way}`, {
    headers: { authorization: `Bearer ${account.token}`, 'x-bot-id': bot.id },
    json: { messages: [{ role: 'user', content: 'hi' }] },
  });
}

/** Sends this text for as long as the connection is open. */
async function flood(socket: Socket, text: string): Promise<void> {
  while (!socket.destroyed) {
    const isFull = !socket.write(text);
    await new Promise<void>((resolve) => {
      if (!isFull) return void setImmediate(resolve);
      const goOn = () => {
        socket.off('drain', goOn).off('close', goOn);
        resolve();
      };
      socket.on('drain', goOn).on('close', goOn);
    });
  }
}

function every(milliseconds: number, socket: Socket, text: string): void {
  const timer = setInterval(() => socket.write(text), milliseconds);
  socket.once('close', () => clearInterval(timer));
}

/** Behaviour, timeout, error, and limit of the bytes that it can send. */
const cases: [string, number, Behaviour, RegExp, number][] = [
  ['never sends the end of its headers', 200, (socket) => every(10, socket, 'H'.repeat(1)), /failed|broke off/, 1e5],
  [
    'sends headers slowly',
    200,
    (socket) => (socket.write('HTTP/1.1 200 OK\r\n'), every(20, socket, 'x: y\r\n')),
    /gave no answer within 200 ms/,
    1e5,
  ],
  [
    'sends headers without an end',
    5_000,
    (socket) => (socket.write('HTTP/1.1 200 OK\r\n'), flood(socket, 'x: y\r\n'.repeat(1_000))),
    /HPE_HEADER_OVERFLOW/,
    5e6,
  ],
  [
    'sends early hints without an end',
    200,
    (socket) => every(5, socket, 'HTTP/1.1 103 Early Hints\r\nlink: <x>\r\n\r\n'),
    /gave no answer within 200 ms/,
    1e6,
  ],
  [
    'sends an answer of a gigabyte',
    5_000,
    (socket) => (socket.write(`${json}content-length: 1000000000\r\n\r\n{"choices":["`), flood(socket, megabyte)),
    /answered with more than 16000000 characters/,
    40e6,
  ],
  [
    'sends half of its JSON',
    5_000,
    (socket) => socket.end(`${json}content-length: 12\r\n\r\n{"choices":[`),
    /answered with no completion/,
    1e5,
  ],
  [
    'breaks its JSON off',
    5_000,
    (socket) => socket.end(`${json}content-length: 100\r\n\r\n{"choices":[`),
    /broke off/,
    1e5,
  ],
  [
    'sends a page',
    5_000,
    (socket) => socket.end('HTTP/1.1 200 OK\r\ncontent-type: text/html\r\n\r\n<h1>Hello</h1>'),
    /answered with no completion/,
    1e5,
  ],
  [
    'sends nothing after its headers',
    200,
    (socket) => socket.write(`${json}content-length: 12\r\n\r\n`),
    /sent nothing more for 200 ms/,
    1e5,
  ],
  [
    'sends an error without an end',
    5_000,
    (socket) => (socket.write('HTTP/1.1 500 Oh\r\n\r\n'), flood(socket, megabyte)),
    /answered with more than 64000 characters/,
    10e6,
  ],
  [
    'sends comments in place of a stream',
    1_000,
    (socket) => (socket.write(events), every(20, socket, ': wait\n\n')),
    /had not ended its answer after 2000 ms/,
    1e5,
  ],
  [
    'sends an event without an end',
    5_000,
    (socket) => (socket.write(`${events}data: `), flood(socket, megabyte)),
    /too large|more than 16000000/,
    40e6,
  ],
  ['sends no events', 5_000, (socket) => socket.end(`${events}data: nonsense\n\n`), /broken part|no completion/, 1e5],
  ['sends other bytes than HTTP', 5_000, (socket) => flood(socket, megabyte), /HPE_INVALID_CONSTANT/, 5e6],
];

describe.each(cases)('A provider that %s', (_name, timeoutMs, behaviour, reason, maxBytes) => {
  it.each(['generate-text', 'generate-text-stream'] as const)('costs one attempt of %s', async (way) => {
    behave = behaviour;
    await useProvider(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, timeoutMs);

    const { status, text } = await ask(way);

    expect({ status, text }).toEqual({ status: 200, text: expect.stringContaining('"fallbackPath":["hostile:m"]') });
    expect(text).toMatch(reason);
    expect(connections).toHaveLength(1);
    const [socket] = connections;
    if (!socket!.closed) await once(socket!, 'close');
    expect(socket!.bytesWritten - socket!.writableLength).toBeLessThan(maxBytes);
  });
});

it.each([301, 302, 307, 308])('does not follow a redirect with status %i', async (status) => {
  const target = await ModelServer.start();
  behave = (socket) =>
    socket.end(`HTTP/1.1 ${status} Moved\r\nlocation: ${target.url}/v1/chat/completions\r\ncontent-length: 0\r\n\r\n`);
  await useProvider(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, 5_000);

  const { text } = await ask('generate-text');

  expect(text).toContain(`answered ${status}`);
  expect(target.requests).toEqual([]);
  await target.stop();
});

describe('A provider with wrong parts', () => {
  let hostile: ModelServer;

  beforeAll(async () => {
    hostile = await ModelServer.start();
  });

  afterAll(() => hostile?.stop());

  beforeEach(() => useProvider(hostile.url, 5_000));

  const last = (text: string) => JSON.parse(text.trim().split('\n').at(-1)!) as { metadata: Metadata };

  it('gives an answer of the parts that are right', async () => {
    const parts: unknown[] = [
      ...[null, 5, 'x', [], {}].map((delta) => ({ choices: [{ delta }] })),
      ...[null, 5, 'x', [], {}].map((choice) => ({ choices: [choice] })),
      ...[5, {}, [5]].map((content) => ({ choices: [{ delta: { content } }] })),
      ...[
        'x',
        [null, 5, 'x'],
        [{}],
        [{ index: 'x', function: 5 }],
        [{ function: { name: { toString: 5 }, arguments: [[{}]] } }],
      ].map((calls) => ({
        choices: [{ delta: { tool_calls: calls } }],
      })),
      { choices: [{ delta: { tool_calls: [{ index: 1e9, id: 'far', function: { name: 'add', arguments: '{}' } }] } }] },
      ...[-1, 1.5, '7', 1e300].map((count) => ({
        choices: [],
        usage: { prompt_tokens: count, completion_tokens: count },
      })),
      { choices: [{ delta: { content: 'right' }, finish_reason: 7 }] },
    ];
    hostile.answer = (_request, response) => {
      beginStream(response);
      for (const part of parts) response.write(`data: ${JSON.stringify(part)}\n\n`);
      sendChunk(response, {}, 'stop');
      response.end('data: [DONE]\n\n');
    };

    const { status, text } = await ask('generate-text-stream');

    expect(status).toBe(200);
    expect(text).toContain('"output":"right"');
    expect(last(text)).toMatchObject({
      toolCalls: expect.arrayContaining([{ id: 'far', name: 'add', input: {} }]),
      metadata: { provider: 'hostile', estimated: true },
    });
  });

  it('gives no more than 1,000 calls of tools', async () => {
    hostile.answer = (_request, response) => {
      beginStream(response);
      for (let index = 0; index <= 1_000; index += 1)
        sendChunk(response, { tool_calls: [{ index, id: `c${index}`, function: { name: 'add', arguments: '{}' } }] });
      sendChunk(response, {}, 'tool_calls');
      response.end('data: [DONE]\n\n');
    };

    expect((await ask('generate-text')).text).toContain('"fallbackPath":["hostile:m"]');
    const { text } = await ask('generate-text-stream');
    expect(text).not.toContain('c999');
  });

  it('breaks off a stream whose text does not end', async () => {
    let sent = 0;
    const ended: Promise<void>[] = [];
    hostile.answer = async ({ aborted }, response) => {
      ended.push(aborted);
      beginStream(response);
      const content = 'word '.repeat(20_000);
      while (!response.destroyed) {
        sendChunk(response, { content });
        sent += content.length;
        await new Promise(setImmediate);
        if (response.writableNeedDrain) await Promise.race([once(response, 'drain'), aborted]);
      }
    };

    await expect(ask('generate-text-stream')).rejects.toThrow();

    await ended[0];
    expect(sent).toBeLessThan(40_000_000);
    expect(healthy.requests).toEqual([]);
    const [state] = (
      await api.send('GET /operator/models/providers', { headers: { authorization: `Bearer ${api.operatorToken}` } })
    ).json.providers;
    expect(state.lastError).toContain('sent more than 8000000 characters');
  });

  it('does not change the use of a budget by a count of tokens that no answer can have', async () => {
    hostile.answer = answerWith('one', { usage: { prompt_tokens: 9e15, completion_tokens: 9e15 } });

    const { metadata } = (await ask('generate-text')).json as { metadata: Metadata };

    expect(metadata).toMatchObject({ provider: 'hostile', estimated: true });
    expect(metadata.usage.inputTokens).toBeLessThan(100);
  });
});
