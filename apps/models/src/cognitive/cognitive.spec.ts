import { createServer, request as httpRequest, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { answerWith, beginStream, failWith, ModelServer, sendChunk } from '@parley/testing/model-server';
import { type Account, configured, type PublicApi, startPublicApi } from '@parley/testing/public-api';
import { waitFor } from '@parley/testing/wait-for';
import { AdminModule } from '../../../admin/src/admin.module';
import { GatewayModule } from '../../../gateway/src/gateway.module';
import { HubModule } from '../../../hub/src/hub.module';
import { ModelsConfig } from '../config';
import { ModelsModule } from '../models.module';

let api: PublicApi;
let account: Account;
let upstream: ModelServer;

beforeAll(async () => {
  upstream = await ModelServer.start(['small', 'gpt-4.1-mini']);
  api = await startPublicApi(
    GatewayModule,
    AdminModule,
    HubModule,
    configured(ModelsModule, ModelsConfig, { completionsUrl: upstream.url, completionsApiKey: 'sk-secret' }),
  );
  account = await api.newAccount();
});

afterAll(async () => {
  await api?.stop();
  await upstream?.stop();
});

beforeEach(() => {
  upstream.requests.length = 0;
  upstream.answer = answerWith('hello');
});

async function newBot() {
  const { bot } = await account.client.createBot({});
  const headers = { authorization: `Bearer ${account.token}`, 'x-bot-id': bot.id };
  const post = (path: string, json: object) => api.send(`POST ${path}`, { headers, json });
  const generate = (json: object) =>
    post('/v2/cognitive/generate-text', { messages: [{ role: 'user', content: 'hi' }], ...json });
  const stream = (json: object) =>
    post('/v2/cognitive/generate-text-stream', { messages: [{ role: 'user', content: 'hi' }], ...json });
  return { id: bot.id, headers, post, generate, stream };
}

const lines = (text: string) =>
  text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { output?: string; finished?: boolean; metadata?: { usage: object } });

it('generates text with the model of the server that the name maps to', async () => {
  const bot = await newBot();

  const { status, json } = await bot.generate({
    model: 'auto',
    temperature: 0.5,
    stopSequences: '■END■',
    maxTokens: 7,
  });

  expect({ status, json }).toMatchObject({
    status: 200,
    json: {
      output: 'hello',
      metadata: {
        ...{ provider: 'default', model: 'default:gpt-4.1-mini', cached: false, stopReason: 'stop', cost: 0 },
        usage: { inputTokens: 10, inputCost: 0, outputTokens: 5, outputCost: 0 },
      },
    },
  });
  expect(upstream.requests[0]!.headers.authorization).toBe('Bearer sk-secret');
  expect(upstream.requests[0]!.body).toEqual({
    model: 'gpt-4.1-mini',
    messages: [{ role: 'user', content: 'hi' }],
    ...{ temperature: 0.5, stop: ['■END■'], max_completion_tokens: 7 },
  });
});

it('answers an unknown model with the default one and a warning', async () => {
  const bot = await newBot();

  const { json } = await bot.generate({ model: 'openai:gpt-9' });

  expect(json.metadata).toMatchObject({
    model: 'default:gpt-4.1-mini',
    warnings: [
      {
        type: 'fallback_used',
        message: 'The model "openai:gpt-9" is not available: "default:gpt-4.1-mini" answered.',
      },
    ],
  });
});

it('uses a listed model by its name, with or without a provider before it', async () => {
  const bot = await newBot();

  for (const model of ['small', 'openai:small', 'default:small'])
    expect((await bot.generate({ model })).json.metadata).toMatchObject({ model: 'default:small' });
  expect(upstream.requests.map(({ body }) => body.model)).toEqual(['small', 'small', 'small']);
});

it('streams JSON lines, of which the last has the metadata', async () => {
  const bot = await newBot();
  upstream.answer = answerWith('one two three');

  const { status, headers, text } = await bot.stream({});

  expect(status).toBe(200);
  expect(headers['content-type']).toContain('application/x-ndjson');
  const parts = lines(text);
  expect(parts.map(({ output = '' }) => output).join('')).toBe('one two three');
  expect(parts.at(-1)).toMatchObject({
    finished: true,
    metadata: { usage: { inputTokens: 10, outputTokens: 5 }, stopReason: 'stop' },
  });
});

it('keeps characters whole in a long part of a stream', async () => {
  const bot = await newBot();
  const smiles = `x${'😀'.repeat(100_000)}`;
  upstream.answer = (request, response) =>
    answerWith(smiles)({ ...request, body: { ...request.body, stream: false } }, response);

  const { text } = await bot.stream({});
  expect(
    lines(text)
      .map(({ output = '' }) => output)
      .join(''),
  ).toBe(smiles);
});

it('sends a part of a stream before the next one exists', async () => {
  const bot = await newBot();
  let goOn!: () => void;
  const more = new Promise<void>((resolve) => (goOn = resolve));
  upstream.answer = async (_request, response) => {
    beginStream(response);
    sendChunk(response, { content: 'first ' });
    await more;
    sendChunk(response, { content: 'second' }, 'stop');
    response.end('data: [DONE]\n\n');
  };
  const response = await open(bot.headers, '/v2/cognitive/generate-text-stream');
  const read = textOf(response);

  await waitFor(() => read.text.includes('first'));
  expect(read.text).not.toContain('second');
  goOn();
  await waitFor(() => read.text.includes('"finished":true'));
});

it('ends the call of the provider when the client goes away, streamed or not', async () => {
  const bot = await newBot();
  for (const path of ['/v2/cognitive/generate-text-stream', '/v2/cognitive/generate-text']) {
    upstream.requests.length = 0;
    upstream.answer = ({ body }, response) => {
      if (!body.stream) return;
      beginStream(response);
      sendChunk(response, { content: 'begun' });
    };
    const request = post(bot.headers, path);
    const begun = new Promise((resolve) => request.once('response', resolve));
    await waitFor(() => upstream.requests.length === 1);
    if (path.endsWith('stream')) await begun;
    request.destroy();

    await upstream.requests[0]!.aborted;
  }
});

it('breaks off a stream that fails after its first part, without a last line', async () => {
  const bot = await newBot();
  upstream.answer = (_request, response) => {
    beginStream(response);
    sendChunk(response, { content: 'begun' });
    setImmediate(() => response.destroy());
  };

  await expect(bot.stream({})).rejects.toMatchObject({ code: 'ECONNRESET' });
});

it.each([
  [429, { message: 'slow down' }, 503, 'Internal'],
  [500, { message: 'broken' }, 503, 'Internal'],
  [401, { message: 'bad key sk-secret' }, 503, 'Internal'],
  [400, { message: 'too long' }, 400, 'InvalidPayload'],
])('answers a failure %d of the only provider, streamed or not', async (status, error, code, type) => {
  const bot = await newBot();
  upstream.answer = failWith(status, error);

  for (const ask of [bot.generate, bot.stream]) {
    const { json } = await ask({});
    expect(json).toMatchObject({ code, type });
    expect(json.message).toContain(error.message.replace('sk-secret', '***'));
  }
});

it('answers content that the provider refuses with the stop reason content_filter', async () => {
  const bot = await newBot();
  upstream.answer = failWith(400, { message: 'no', code: 'content_filter' });

  expect((await bot.generate({})).json).toMatchObject({ output: '', metadata: { stopReason: 'content_filter' } });
});

it('passes tools, their calls and their results on, and reads calls from parts', async () => {
  const bot = await newBot();
  const call = { id: 'call_a', type: 'function', function: { name: 'add', arguments: '{"a":1}' } };
  const input = {
    tools: [{ name: 'add', description: 'Adds', parameters: { type: 'object' } }],
    toolControl: { mode: 'specific', toolName: 'add' },
    messages: [
      { role: 'user', content: 'add' },
      {
        role: 'assistant',
        type: 'tool_calls',
        content: null,
        toolCalls: [{ ...call, function: { name: 'add', arguments: { a: 1 } } }],
      },
      { role: 'user', type: 'tool_result', toolResultCallId: 'call_a', content: '2' },
    ],
  };
  upstream.answer = answerWith('', { finish: 'tool_calls', toolCalls: [call] });

  const { json } = await bot.generate(input);
  expect(json).toMatchObject({
    toolCalls: [{ id: 'call_a', name: 'add', input: { a: 1 } }],
    metadata: { stopReason: 'tool_calls' },
  });
  expect(upstream.requests[0]!.body).toMatchObject({
    tools: [{ type: 'function', function: { name: 'add', parameters: { type: 'object' } } }],
    tool_choice: { type: 'function', function: { name: 'add' } },
    messages: [
      { role: 'user', content: 'add' },
      { role: 'assistant', content: null, tool_calls: [call] },
      { role: 'tool', tool_call_id: 'call_a', content: '2' },
    ],
  });
  upstream.answer = (_request, response) => {
    beginStream(response);
    const part = (text: object) => sendChunk(response, { tool_calls: [{ index: 0, ...text }] });
    part({ id: 'call_b', function: { name: 'add', arguments: '{"a"' } });
    part({ function: { arguments: ':[2]}' } });
    sendChunk(response, {}, 'tool_calls');
    response.end('data: [DONE]\n\n');
  };
  const { text } = await bot.stream({ ...input, options: { skipCache: true } });
  expect(lines(text).at(-1)).toMatchObject({ toolCalls: [{ id: 'call_b', name: 'add', input: { a: [2] } }] });
});

it('answers an equal request from the cache, unless it wants none, and never that of another bot', async () => {
  const [bot, other] = [await newBot(), await newBot()];
  const first = await bot.generate({ model: 'fast' });
  const second = await bot.generate({ model: 'fast' });
  const streamed = await bot.stream({ model: 'fast' });

  expect([first, second].map(({ json }) => [json.output, json.metadata.cached])).toEqual([
    ['hello', false],
    ['hello', true],
  ]);
  expect(lines(streamed.text)).toMatchObject([{ output: 'hello', finished: true, metadata: { cached: true } }]);
  expect(upstream.requests).toHaveLength(1);
  await bot.generate({ model: 'fast', options: { skipCache: true } });
  await other.generate({ model: 'fast' });
  expect(upstream.requests).toHaveLength(3);
});

it('answers a repeated requestId with the stored answer, also while the first request is under way', async () => {
  const bot = await newBot();
  let goOn!: () => void;
  const more = new Promise<void>((resolve) => (goOn = resolve));
  upstream.answer = async (request, response) => {
    await more;
    await answerWith('once')(request, response);
  };
  const ask = () => bot.generate({ options: { requestId: 'r1', skipCache: true } });
  const answers = Promise.all([ask(), ask()]);
  await waitFor(() => upstream.requests.length === 1);
  goOn();

  expect((await answers).map(({ json }) => json.output)).toEqual(['once', 'once']);
  expect((await ask()).json).toMatchObject({ output: 'once', metadata: { requestId: 'r1' } });
  expect(upstream.requests).toHaveLength(1);
});

it('gives a requestId back after a failure', async () => {
  const bot = await newBot();
  upstream.answer = failWith(500);
  const ask = () => bot.generate({ options: { requestId: 'r2' } });
  expect((await ask()).status).toBe(503);
  upstream.answer = answerWith('recovered');

  expect((await ask()).json.output).toBe('recovered');
});

it('counts tokens itself when the provider does not', async () => {
  const bot = await newBot();
  upstream.answer = answerWith('four words are here', { usage: null });

  const { metadata } = (await bot.generate({})).json;
  expect(metadata.estimated).toBe(true);
  expect(metadata.usage.outputTokens).toBeGreaterThan(3);
});

it.each([
  [{ messages: [] }, 'messages must have 1 to 10000 entries'],
  [{ messages: [{ role: 'robot', content: 'x' }] }, 'messages[0].role must be one of user, assistant, system'],
  [{ messages: [{ role: 'user', content: 5 }] }, 'messages[0].content must be a text or a list of parts'],
  [
    { messages: [{ role: 'user', content: [{ type: 'image', url: 'file:///etc/passwd' }] }] },
    'messages[0].content[0].url must be an http(s) or data URI',
  ],
  [{ model: 5 }, 'model must be the name of a model'],
  [{ tools: [{}] }, 'tools[0].name must be the name of the tool'],
  [{ responseFormat: 'xml' }, 'responseFormat must be text or json'],
  [{ temperature: 3 }, 'temperature must not be greater than 2'],
])('refuses %j', async (input, message) => {
  const bot = await newBot();

  const { status, json } = await bot.generate(input);
  expect({ status, message: json.message }).toEqual({ status: 400, message: expect.stringContaining(message) });
  expect(upstream.requests).toHaveLength(0);
});

it('lists the models of the server', async () => {
  const bot = await newBot();

  const { json } = await api.send('GET /v2/cognitive/models', { headers: bot.headers });
  expect(json.models.map(({ id }: { id: string }) => id)).toEqual(['default:small', 'default:gpt-4.1-mini']);
});

it('records each call with its conversation and tokens', async () => {
  const bot = await newBot();
  await bot.generate({ meta: { metadata: { conversationId: 'conv_1', eventId: 'evt_1' } } });
  upstream.answer = failWith(500);
  await bot.generate({ messages: [{ role: 'user', content: 'other' }] });

  expect(
    await api.sql(
      'SELECT conversation_id, event_id, model, input_tokens, finish FROM models.model_call WHERE bot_id = $1 ORDER BY id',
      [bot.id],
    ),
  ).toEqual([
    { conversation_id: 'conv_1', event_id: 'evt_1', model: 'default:gpt-4.1-mini', input_tokens: '10', finish: 'stop' },
    { conversation_id: null, event_id: null, model: null, input_tokens: '0', finish: 'error' },
  ]);
});

function post(headers: Record<string, string>, path: string) {
  const request = httpRequest(new URL(path, api.url), {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
  });
  request.on('error', () => undefined);
  request.end(JSON.stringify({ messages: [{ role: 'user', content: 'hi' }], options: { skipCache: true } }));
  return request;
}

function open(headers: Record<string, string>, path: string): Promise<IncomingMessage> {
  return new Promise((resolve) => post(headers, path).once('response', resolve));
}

function textOf(response: IncomingMessage): { text: string } {
  const read = { text: '' };
  response.on('error', () => undefined);
  response.setEncoding('utf8').on('data', (part: string) => (read.text += part));
  return read;
}

describe('pictures', () => {
  const png = Buffer.from('89504e470d0a1a0a', 'hex');
  let pictures: Server;
  let url: string;

  beforeAll(async () => {
    pictures = createServer((request, response) => {
      const type = request.url === '/page' ? 'text/html' : 'image/png';
      response.writeHead(request.url === '/moved' ? 302 : 200, { 'content-type': type, location: '/picture' }).end(png);
    });
    await new Promise<void>((resolve) => pictures.listen(0, '127.0.0.1', resolve));
    url = `http://127.0.0.1:${(pictures.address() as AddressInfo).port}`;
  });

  afterAll(() => pictures.close());

  const withPicture = (address: string) => ({
    messages: [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'see' },
          { type: 'image', url: address },
        ],
      },
    ],
  });

  it('sends a picture by URL to the provider as data', async () => {
    const bot = await newBot();

    expect((await bot.generate(withPicture(`${url}/picture`))).status).toBe(200);
    expect(upstream.requests[0]!.body.messages[0]).toEqual({
      role: 'user',
      content: [
        { type: 'text', text: 'see' },
        { type: 'image_url', image_url: { url: `data:image/png;base64,${png.toString('base64')}` } },
      ],
    });
  });

  it.each([
    ['/page', 'messages[0].content[1] must be image/png'],
    ['/moved', 'its server answered 302 in place of 200'],
  ])('refuses a picture at %s', async (path, message) => {
    const bot = await newBot();
    const { status, json } = await bot.generate(withPicture(`${url}${path}`));

    expect({ status, message: json.message }).toEqual({ status: 400, message: expect.stringContaining(message) });
    expect(upstream.requests).toHaveLength(0);
  });

  it('refuses a picture at an address of cloud metadata', async () => {
    const bot = await newBot();
    const { status, json } = await bot.generate(withPicture('http://169.254.169.254/latest'));

    expect({ status, message: json.message }).toEqual({ status: 400, message: expect.stringContaining('is refused') });
  });
});
