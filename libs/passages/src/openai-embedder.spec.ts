import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { json, LoopbackServer, type RequestHandler, type LoopbackRequest } from '@parley/testing/loopback-server';
import { waitFor } from '@parley/testing/wait-for';
import { OpenAiEmbedder, type OpenAiEmbedderOptions } from './openai-embedder';

let server: LoopbackServer;
let answer: RequestHandler;

beforeEach(async () => {
  answer = lengths;
  server = await LoopbackServer.start((request, response) => answer(request, response));
});
afterEach(() => server.close());

const open = (options: Partial<OpenAiEmbedderOptions> = {}) =>
  new OpenAiEmbedder({ url: server.url, model: 'some-model', apiKey: 'sk-secret', timeoutMs: 2_000, ...options });
const inputOf = ({ body }: LoopbackRequest) => (body as { input: string[] }).input;
const lengths: RequestHandler = (request, response) => {
  const data = inputOf(request).map((text, index) => ({ index, embedding: [text.length, 1] }));
  return json({ data: data.reverse() })(request, response);
};
const one = (embedding: unknown) => json({ data: [{ index: 0, embedding }] });
const lengthOf = (vector: Float32Array) => Math.round(vector[0]! / vector[1]!);

it('learns the dimensions of the model in ready()', async () => {
  const embedder = open();
  expect(() => embedder.dimensions).toThrow('has not answered yet');

  await embedder.ready();

  expect(embedder.dimensions).toBe(2);
});

it('returns unit vectors in the order of the texts', async () => {
  const vectors = await open().embed(['a', 'bbb', 'cc']);

  expect(vectors.map(lengthOf)).toEqual([1, 3, 2]);
  for (const vector of vectors) expect(Math.hypot(...vector)).toBeCloseTo(1);
});

it('sends model and key, for base addresses with and without /v1', async () => {
  for (const end of ['', '/', '/v1', '/v1/', '/proxy/v1']) await open({ url: server.url + end }).embed(['x']);

  expect(server.requests.map(({ path }) => path)).toEqual([
    ...Array<string>(4).fill('/v1/embeddings'),
    '/proxy/v1/embeddings',
  ]);
  expect(server.requests[0]).toMatchObject({
    method: 'POST',
    headers: { authorization: 'Bearer sk-secret', 'content-type': 'application/json' },
    body: { model: 'some-model', input: ['x'] },
  });
});

it('marks passages and search texts by prefix and input type, if these are configured', async () => {
  const embedder = open({
    query: { prefix: 'query: ', inputType: 'search_query' },
    passage: { prefix: 'passage: ', inputType: 'search_document' },
  });

  const vector = await embedder.embedQuery('cat');
  await embedder.embed(['dog', 'mouse']);
  await open().embedQuery('cat');

  expect(lengthOf(vector)).toBe('query: cat'.length);
  expect(server.requests.map(({ body }) => body)).toEqual([
    { model: 'some-model', input: ['query: cat'], input_type: 'search_query' },
    { model: 'some-model', input: ['passage: dog', 'passage: mouse'], input_type: 'search_document' },
    { model: 'some-model', input: ['cat'] },
  ]);
});

it('sends no authorization without a key', async () => {
  await open({ apiKey: undefined }).embed(['x']);

  expect(server.requests[0]!.headers.authorization).toBeUndefined();
});

it('sends no request for an empty list', async () => {
  await expect(open().embed([])).resolves.toEqual([]);

  expect(server.requests).toEqual([]);
});

it('limits texts and characters per request, and sends a longer text alone', async () => {
  const texts = ['a', 'bb', 'ccc', 'dddd', 'e'.repeat(50), 'f', 'g'];

  const vectors = await open({ batchSize: 3, maxBatchCharacters: 6, concurrency: 1 }).embed(texts);

  expect(server.requests.map((request) => inputOf(request).length)).toEqual([3, 1, 1, 2]);
  expect(server.requests.flatMap(inputOf)).toEqual(texts);
  expect(vectors.map(lengthOf)).toEqual(texts.map((text) => text.length));
});

it('takes the least score of a calibration for its own model only', () => {
  const calibrated = (model: string) => open({ calibration: { model, leastScore: 0.84 } }).leastScore;

  expect([calibrated('some-model'), calibrated('former-model')]).toEqual([0.84, undefined]);
});

it('limits concurrent requests for embeddings', async () => {
  let running = 0;
  let most = 0;
  answer = async (...args) => {
    most = Math.max(most, ++running);
    await nextTurn();
    running--;
    await lengths(...args);
  };
  const embedder = open({ batchSize: 1, concurrency: 2 });

  await Promise.all([embedder.embed(['a', 'b', 'c']), embedder.embed(['d', 'e', 'f'])]);

  expect(most).toBe(2);
});

it('embeds queries, as many at once as passages, while all requests for passages are running', async () => {
  const [running, ends]: [Set<string>, (() => void)[]] = [new Set(), []];
  answer = async (...args) => {
    const [text] = inputOf(server.requests.at(-1)!);
    running.add(text!);
    if (text !== 'query 0') await new Promise<void>((resolve) => ends.push(resolve));
    await lengths(...args);
  };
  const embedder = open({ batchSize: 1, concurrency: 1 });
  const passages = embedder.embed(['passage', 'later']);
  await waitFor(() => running.has('passage'));

  await expect(embedder.embedQuery('query 0')).resolves.toHaveLength(2);
  const queries = [embedder.embedQuery('query 1'), embedder.embedQuery('query 2')];
  await waitFor(() => running.has('query 1'));
  await nextTurn();

  expect([...running]).toEqual(['passage', 'query 0', 'query 1']);
  answer = lengths;
  ends.forEach((end) => end());
  await Promise.all([passages, ...queries]);
});

describe('when the server is busy', () => {
  const inTwentySeconds = () => new Date(Date.now() + 20_000).toUTCString();

  it.each([
    ['seconds', 429, () => '7', 7_000, 7_000],
    ['a date', 429, inTwentySeconds, 18_000, 20_000],
    ['a date that has passed', 503, () => new Date(0).toUTCString(), 0, 0],
    ['nothing', 503, () => null, 5_000, 5_000],
    ['nonsense', 429, () => 'soon', 5_000, 5_000],
    ['a day', 429, () => '86400', 60_000, 60_000],
  ])('returns the retry time of a busy server for %s', async (_, status, retryAfter, atLeast, atMost) => {
    const value = retryAfter();
    answer = json({ error: { message: 'Slow down.' } }, status, value === null ? {} : { 'retry-after': value });

    const error = await open()
      .embed(['x'])
      .catch((thrown: unknown) => thrown);

    expect(error).toMatchObject({ name: 'EmbedderBusy', message: expect.stringContaining('Slow down.') });
    expect((error as { retryAfterMs: number }).retryAfterMs).toBeGreaterThanOrEqual(atLeast);
    expect((error as { retryAfterMs: number }).retryAfterMs).toBeLessThanOrEqual(atMost);
  });
});

describe('when the server refuses', () => {
  it.each([400, 413, 422])('returns the message of a server that refuses with status %d', async (status) => {
    answer = json({ error: { message: 'The input is too long.' } }, status);

    await expect(open().embed(['x'])).rejects.toMatchObject({
      name: 'EmbedderRefused',
      message: `The embedding server answered ${status}: The input is too long.`,
    });
  });

  it.each([
    ['OpenAI', { error: { message: 'reason' } }],
    ['TEI', { error: 'reason', error_type: 'validation' }],
    ['vLLM', { object: 'error', message: 'reason' }],
    ['FastAPI', { detail: 'reason' }],
    ['a proxy', 'reason'],
  ])('finds the message of a refusal in %s', async (_, body) => {
    answer = json(body, 400);

    await expect(open().embed(['x'])).rejects.toThrow(/400: reason$/);
  });

  it('truncates a long refusal and never shows the key', async () => {
    answer = json({ error: `Wrong key sk-secret. ${'x'.repeat(5_000)}` }, 401);

    const error = (await open()
      .embed(['x'])
      .catch((thrown: unknown) => thrown)) as Error;

    expect(error.message).toContain('Wrong key ***.');
    expect(error.message).not.toContain('sk-secret');
    expect(error.message.length).toBeLessThan(400);
  });
});

describe('when key, model, address or quota is wrong', () => {
  it.each([401, 402, 403, 404, 405])(
    'reports the server as unavailable rather than refusing the text, for status %d',
    async (status) => {
      answer = json({ error: { message: 'The model does not exist.' } }, status);

      await expect(open().embed(['x'])).rejects.toMatchObject({
        name: 'EmbedderUnavailable',
        message: `The embedding server answered ${status}: The model does not exist.`,
      });
    },
  );

  it.each(['code', 'type'])('does not suggest a retry when the quota is used up, by its %s', async (field) => {
    answer = json({ error: { message: 'Check your plan.', [field]: 'insufficient_quota' } }, 429);

    await expect(open().embed(['x'])).rejects.toMatchObject({
      name: 'EmbedderUnavailable',
      message: 'The embedding server answered 429: Check your plan.',
    });
  });

  it('does not follow redirects of the embedding server', async () => {
    answer = (_, response) => void response.writeHead(307, { location: `${server.url}/elsewhere` }).end();

    await expect(open().embed(['x'])).rejects.toMatchObject({
      name: 'EmbedderUnavailable',
      message: expect.stringContaining('307, a redirect'),
    });
    expect(server.requests).toHaveLength(1);
  });
});

describe('when the answer is unusable', () => {
  it.each<[string, RequestHandler, string]>([
    ['status 500', json({ error: 'Out of memory' }, 500), 'answered 500: Out of memory'],
    ['status 502 without a body', json('', 502), 'answered 502: no message'],
    ['garbage', json('<html>Welcome</html>'), 'not a list of embeddings'],
    ['null', json('null'), 'not a list of embeddings'],
    ['an object without data', json({ embeddings: [] }), 'not a list of embeddings'],
    ['a list of nothing', json({ data: [null] }), 'not a list of embeddings'],
    ['too few embeddings', json({ data: [] }), '0 embeddings for 1 texts'],
    ['too many', json({ data: [0, 1].map((index) => ({ index, embedding: [1] })) }), '2 embeddings for 1 texts'],
    ['an index out of range', json({ data: [{ index: 1, embedding: [1, 2] }] }), '"index"'],
    ['no index', json({ data: [{ embedding: [1, 2] }] }), '"index"'],
    ['an empty embedding', one([]), 'not a non-empty list of numbers'],
    ['an embedding in base64', one('AACAPw=='), 'not a non-empty list of numbers'],
    ['a null inside', one([1, null]), 'not a non-empty list of numbers'],
    ['a number out of range', json('{"data":[{"index":0,"embedding":[1e999,1]}]}'), 'not a non-empty list of numbers'],
    ['a vector of length 0', one([0, 0]), 'zero or non-finite'],
    ['a cut connection', (_, response) => void response.destroy(), 'cannot be reached'],
  ])('reports an unusable answer: %s', async (_, given, message) => {
    answer = given;

    await expect(open().embed(['x'])).rejects.toMatchObject({
      name: 'EmbedderUnavailable',
      message: expect.stringContaining(message),
    });
  });

  it('refuses a duplicate index in an answer', async () => {
    answer = json({ data: [0, 0].map((index) => ({ index, embedding: [1, 2] })) });

    await expect(open().embed(['x', 'y'])).rejects.toThrow('"index"');
  });

  it('refuses changed dimensions in an answer', async () => {
    const embedder = open();
    await embedder.ready();
    answer = one([1, 2, 3]);

    await expect(embedder.embed(['x'])).rejects.toThrow('answered with 3 dimensions instead of 2');
  });

  it('stops reading an endless answer of the embedding server', async () => {
    const endless = function* () {
      for (;;) yield Buffer.alloc(1024 * 1024, ' ');
    };
    answer = (_, response) => pipeline(Readable.from(endless()), response).catch(() => undefined);

    await expect(open({ timeoutMs: 20_000 }).embed(['x'])).rejects.toThrow('answered with more than');
  });

  it.each<[string, RequestHandler]>([
    ['at all', () => undefined],
    [
      'beyond the headers',
      (_, response) => {
        response.writeHead(200);
        response.write('{');
      },
    ],
  ])('times out when nothing arrives %s', async (_, given) => {
    answer = given;

    await expect(open({ timeoutMs: 100 }).embed(['x'])).rejects.toMatchObject({
      name: 'EmbedderUnavailable',
      message: 'The embedding server gave no answer within 100 ms.',
    });
  });

  it('names the cause when the connection is refused', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    const { port } = other.address() as AddressInfo;
    other.close();
    await once(other, 'close');

    await expect(open({ url: `http://127.0.0.1:${port}` }).embed(['x'])).rejects.toMatchObject({
      name: 'EmbedderUnavailable',
      message: 'The embedding server cannot be reached (ECONNREFUSED).',
    });
  });
});

it('rejects texts with the reason of the signal when aborted', async () => {
  answer = () => undefined;
  const abort = new AbortController();
  const embedder = open({ batchSize: 1, concurrency: 1 });
  const embedding = embedder.embed(['under way', 'queued'], abort.signal);
  embedding.catch(() => undefined);
  await waitFor(() => server.requests.length === 1);

  abort.abort(new Error('the file was replaced'));

  await expect(embedding).rejects.toThrow('the file was replaced');
  answer = lengths;
  await embedder.embed(['later']);
  expect(server.requests.flatMap(inputOf)).toEqual(['under way', 'later']);
});

it('rejects pending and later texts when the remote embedder is closed', async () => {
  answer = () => undefined;
  const embedder = open();
  const embedding = embedder.embed(['x']);
  embedding.catch(() => undefined);
  await waitFor(() => server.requests.length === 1);

  await embedder.close();

  await expect(embedding).rejects.toMatchObject({ name: 'EmbedderUnavailable' });
  await expect(embedder.embed(['y'])).rejects.toMatchObject({ name: 'EmbedderUnavailable' });
});
