import { ApiError } from '@parley/contracts/errors';
import type { Sql } from '@parley/database/database';
import { json, LoopbackServer, type Answer, type LoopbackRequest } from '@parley/testing/loopback-server';
import { queryTerms } from './lexicon';
import { QdrantIndex } from './qdrant-index';
import { OpenApiDocument } from './test/openapi-document';
import { point, query, testEmbedder } from './test/passage-index.behaviour';

const documentPath = process.env.QDRANT_OPENAPI;
if (!documentPath) {
  process.stderr.write('SKIPPED: validation of the requests to Qdrant. Set QDRANT_OPENAPI to its OpenAPI document.\n');
}
const document = documentPath ? new OpenApiDocument(documentPath) : null;

const bot = '1b4e28ba-2fa1-41d2-883f-0016d3cca427';
const ofBot = { key: 'botId', match: { value: bot } };
const collection = '/collections/parley_test_three-dimensions_3_e1747522';
const done = json({ result: { operation_id: 1, status: 'completed' } });

let server: LoopbackServer;
/** By method and last part of the path; what is not named here succeeds. */
let answers: Record<string, Answer>;
let index: QdrantIndex;

beforeEach(async () => {
  answers = {};
  server = await LoopbackServer.start((request, response) => {
    const answer = answers[`${request.method} ${request.path.split('/').at(-1)}`] ?? done;
    return answer(request, response);
  });
  index = new QdrantIndex({ url: server.url, embedder: testEmbedder });
});

afterEach(async () => {
  await server.close();
  for (const request of server.requests) {
    if (document) expect([request.path, ...document.complaints(request)]).toEqual([request.path]);
    if (/\/points\/(query|count|delete|payload)$/.test(request.path)) expectBotFilter(request);
  }
});

/** Every filter of the request, those of its parts too, must ask for the bot, whatever else it asks for. */
function expectBotFilter({ body }: LoopbackRequest): void {
  const parts = [body, ...((body as { prefetch?: unknown[] }).prefetch ?? [])];
  for (const part of parts) expect(part).toMatchObject({ filter: { must: expect.arrayContaining([ofBot]) } });
  expect(body).not.toHaveProperty('points');
}

const requestsTo = (end: string) => server.requests.filter(({ path }) => path.endsWith(end));

describe('ready', () => {
  const exists = (value: boolean) => json({ result: { exists: value } });

  it('makes the collection of the model with its vectors and payload indexes', async () => {
    answers['GET exists'] = exists(false);
    answers[`PUT ${collection.split('/').at(-1)}`] = json({ result: true });

    await index.ready();

    const created = server.requests.find(({ method, path }) => method === 'PUT' && path === collection);
    expect(created?.body).toEqual({
      vectors: { dense: { size: 3, distance: 'Cosine' } },
      sparse_vectors: { sparse: { modifier: 'idf' } },
      hnsw_config: { m: 0, payload_m: 16 },
    });
    expect(requestsTo('/index').map(({ body }) => body)).toEqual([
      { field_name: 'botId', field_schema: { type: 'keyword', is_tenant: true } },
      { field_name: 'fileId', field_schema: 'keyword' },
      { field_name: 'contentVersion', field_schema: 'keyword' },
      { field_name: 'tags', field_schema: 'keyword' },
    ]);
  });

  it('leaves a collection alone that is there', async () => {
    answers['GET exists'] = exists(true);

    await index.ready();

    expect(server.requests.filter(({ method, path }) => method === 'PUT' && path === collection)).toEqual([]);
  });

  it('is content when another replica makes the collection first', async () => {
    answers['GET exists'] = (request, response) => exists(requestsTo('/exists').length > 1)(request, response);
    answers[`PUT ${collection.split('/').at(-1)}`] = json({ status: { error: 'already exists' } }, 409);

    await expect(index.ready()).resolves.toBeUndefined();
  });

  it('says why when the collection cannot be made', async () => {
    answers['GET exists'] = exists(false);
    answers[`PUT ${collection.split('/').at(-1)}`] = json({ status: { error: 'Wrong input: no space' } }, 400);

    await expect(index.ready()).rejects.toThrow('Wrong input: no space');
  });

  it('keeps the collections of two models apart, whatever their names', async () => {
    answers['GET exists'] = exists(true);
    const models = ['a/b', 'a_b', 'a:b', 'größe', '../..', 'x'.repeat(500)];

    for (const model of models) {
      await new QdrantIndex({ url: server.url, embedder: { model, dimensions: 3 } }).ready();
    }

    const names = requestsTo('/exists').map(({ path }) => path.split('/').at(-2)!);
    expect(new Set(names).size).toBe(models.length);
    for (const name of names) expect(name).toMatch(/^[\w-]{1,200}$/);
  });
});

describe('write', () => {
  it('stores vectors, terms and payload under an id that belongs to the bot', async () => {
    const tagged = point({ text: 'hello', tags: { 'a.b': '"x"' } });

    await index.write(bot, [tagged]);
    await index.write('another-bot', [tagged]);

    const [mine, theirs] = server.requests.map(({ body }) => (body as { points: { id: string }[] }).points[0]!);
    expect(mine).toEqual({
      id: expect.stringMatching(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/),
      vector: { dense: [1, 0, 0], sparse: { indices: queryTerms('hello').indices, values: [expect.any(Number)] } },
      payload: {
        botId: bot,
        fileId: 'file_a',
        contentVersion: 'v1',
        passageId: tagged.id,
        tags: ['["a.b","\\"x\\""]'],
      },
    });
    expect(mine!.id).not.toBe(theirs!.id);
  });

  it('sends batches and waits for the last', async () => {
    await index.write(
      bot,
      Array.from({ length: 600 }, () => point()),
    );

    expect(server.requests.map(({ body }) => (body as { points: unknown[] }).points.length)).toEqual([256, 256, 88]);
    expect(server.requests.map((request) => request.query.wait)).toEqual(['false', 'false', 'true']);
  });

  it('sends smaller batches of long vectors', async () => {
    const embedder = { model: 'long', dimensions: 100_000 };
    const vector = new Float32Array(100_000).fill(0.01);

    await new QdrantIndex({ url: server.url, embedder }).write(
      bot,
      Array.from({ length: 6 }, () => point({ vector })),
    );

    expect(server.requests.map(({ body }) => (body as { points: unknown[] }).points.length)).toEqual([5, 1]);
  });

  it('leaves out the sparse vector of a passage without words', async () => {
    await index.write(bot, [point({ text: '…' })]);

    expect(server.requests[0]!.body).toMatchObject({ points: [{ vector: { dense: [1, 0, 0] } }] });
    expect(server.requests[0]!.body).not.toHaveProperty('points.0.vector.sparse');
  });

  it('asks nothing for no points', async () => {
    await index.write(bot, []);

    expect(server.requests).toEqual([]);
  });
});

describe('search', () => {
  const found = (...points: unknown[]) => json({ result: { points } });

  it('fuses dense and sparse candidates of the bot by reciprocal rank', async () => {
    answers['POST query'] = found({
      id: 'point',
      version: 1,
      score: 0.5,
      payload: { passageId: 'passage', fileId: 'file_a', contentVersion: 'v1' },
    });

    const hits = await index.search(bot, query({ text: 'hello', limit: 7 }));

    const filter = { must: [ofBot], must_not: [] };
    expect(hits).toEqual([{ id: 'passage', fileId: 'file_a', contentVersion: 'v1', score: 0.5 }]);
    expect(server.requests).toMatchObject([{ method: 'POST', path: `${collection}/points/query` }]);
    expect(server.requests[0]!.body).toEqual({
      prefetch: [
        { query: [1, 0, 0], using: 'dense', filter, limit: 100 },
        { query: { indices: queryTerms('hello').indices, values: [1] }, using: 'sparse', filter, limit: 100 },
      ],
      query: { rrf: { k: 60 } },
      filter,
      limit: 7,
      with_payload: ['passageId', 'fileId', 'contentVersion'],
    });
  });

  it('asks for as many candidates as it may return', async () => {
    answers['POST query'] = found();

    await index.search(bot, query({ text: 'hello', limit: 150 }));

    expect(server.requests[0]!.body).toMatchObject({ prefetch: [{ limit: 150 }, { limit: 150 }], limit: 150 });
  });

  it('asks for dense candidates alone when the query has no words', async () => {
    answers['POST query'] = found();

    await index.search(bot, query({ text: '?!' }));

    expect(server.requests[0]!.body).toMatchObject({ prefetch: [{ using: 'dense' }] });
  });

  it('asks for the nearest alone, whose score is the cosine, without terms', async () => {
    answers['POST query'] = found({
      id: 'point',
      version: 1,
      score: 0.75,
      payload: { passageId: 'passage', fileId: 'file_a', contentVersion: 'v1' },
    });

    const hits = await index.search(bot, { vector: Float32Array.of(1, 0, 0), limit: 7 });

    expect(hits).toMatchObject([{ id: 'passage', score: 0.75 }]);
    expect(server.requests[0]!.body).toEqual({
      query: [1, 0, 0],
      using: 'dense',
      filter: { must: [ofBot], must_not: [] },
      limit: 7,
      with_payload: ['passageId', 'fileId', 'contentVersion'],
    });
  });

  it('puts tag filters next to that of the bot', async () => {
    answers['POST query'] = found();

    await index.search(bot, query({ tags: { 'a.b': { in: ['x', 'y'], notIn: ['"'] }, empty: { in: [], notIn: [] } } }));

    expect(server.requests[0]!.body).toMatchObject({
      filter: {
        must: [ofBot, { key: 'tags', match: { any: ['["a.b","x"]', '["a.b","y"]'] } }],
        must_not: [{ key: 'tags', match: { any: ['["a.b","\\""]'] } }],
      },
    });
  });

  it('puts the files that are asked for next to the bot, in every part', async () => {
    answers['POST query'] = found();

    await index.search(bot, query({ text: 'hello', fileIds: ['file_a', 'file_b'] }));
    await index.search(bot, query({ terms: undefined, fileIds: [] }));

    const filterOf = (...any: string[]) => ({ must: [ofBot, { key: 'fileId', match: { any } }], must_not: [] });
    const filter = filterOf('file_a', 'file_b');
    expect(server.requests[0]!.body).toMatchObject({ prefetch: [{ filter }, { filter }], filter });
    expect(server.requests[1]!.body).toMatchObject({ filter: filterOf() });
  });
});

describe('retag', () => {
  it('replaces the tags of every point of the file, and nothing else', async () => {
    await index.retag(bot, 'file_a', { 'a.b': '"x"', c: '' });
    await index.retag(bot, 'file_a', {});

    const filter = { must: [ofBot, { key: 'fileId', match: { value: 'file_a' } }] };
    expect(server.requests).toMatchObject([
      { method: 'POST', path: `${collection}/points/payload`, query: { wait: 'true' } },
      { method: 'POST', path: `${collection}/points/payload`, query: { wait: 'true' } },
    ]);
    expect(server.requests.map(({ body }) => body)).toEqual([
      { payload: { tags: ['["a.b","\\"x\\""]', '["c",""]'] }, filter },
      { payload: { tags: [] }, filter },
    ]);
  });
});

describe('removal and count', () => {
  it('removes the points of a file but those of one version', async () => {
    await index.removeFile(bot, 'file_a', 'v2');

    expect(server.requests).toMatchObject([
      {
        method: 'POST',
        path: `${collection}/points/delete`,
        query: { wait: 'true' },
        body: {
          filter: {
            must: [ofBot, { key: 'fileId', match: { value: 'file_a' } }],
            must_not: [{ key: 'contentVersion', match: { value: 'v2' } }],
          },
        },
      },
    ]);
  });

  it('removes several files at once', async () => {
    await index.removeFiles(bot, ['file_a', 'file_b']);

    expect(server.requests.map(({ body }) => body)).toEqual([
      { filter: { must: [ofBot, { key: 'fileId', match: { any: ['file_a', 'file_b'] } }] } },
    ]);
  });

  it('removes a whole file, and a whole bot', async () => {
    await index.removeFile(bot, 'file_a', null);
    await index.dropTenant(bot);

    expect(server.requests.map(({ body }) => body)).toEqual([
      { filter: { must: [ofBot, { key: 'fileId', match: { value: 'file_a' } }], must_not: [] } },
      { filter: { must: [ofBot] } },
    ]);
  });

  it('counts exactly', async () => {
    answers['POST count'] = json({ result: { count: 3 } });

    await expect(index.count(bot)).resolves.toBe(3);

    expect(server.requests[0]!.body).toEqual({ filter: { must: [ofBot] }, exact: true });
  });
});

describe('with points of other models', () => {
  const next = { model: 'next', dimensions: 5 };
  const nextCollection = '/collections/parley_next_5_c6c1c9a9';
  const known = () => new QdrantIndex({ url: server.url, embedder: testEmbedder, knownModels });
  const within = { query: () => Promise.resolve([]) };
  let askedWithin: (Sql | undefined)[];
  const knownModels = (sql?: Sql) => {
    askedWithin.push(sql);
    return Promise.resolve([testEmbedder, next]);
  };
  beforeEach(() => (askedWithin = []));
  const paths = () => server.requests.map(({ path }) => path).sort();

  it.each<[string, (index: QdrantIndex) => Promise<unknown>]>([
    ['delete', (index) => index.removeFile(bot, 'file_a', null, within)],
    ['delete', (index) => index.removeFiles(bot, ['file_a'])],
    ['delete', (index) => index.dropTenant(bot)],
    ['payload', (index) => index.retag(bot, 'file_a', { a: 'b' }, within)],
  ])('asks each collection to %s', async (verb, ask) => {
    await ask(known());

    expect(paths()).toEqual([`${nextCollection}/points/${verb}`, `${collection}/points/${verb}`]);
    expect(server.requests[0]!.body).toEqual(server.requests[1]!.body);
  });

  it('asks for the models within the transaction of the caller', async () => {
    await known().removeFile(bot, 'file_a', null, within);
    await known().retag(bot, 'file_a', {}, within);

    expect(askedWithin).toEqual([within, within]);
  });

  it('counts all, and writes and searches its own', async () => {
    answers['POST count'] = json({ result: { count: 3 } });
    answers['POST query'] = json({ result: { points: [] } });

    expect(await known().count(bot)).toBe(6);
    server.requests.splice(0);
    await known().write(bot, [point()]);
    await known().search(bot, query());

    expect(paths()).toEqual([`${collection}/points`, `${collection}/points/query`]);
  });

  it('takes a collection that was removed for an empty one, unless it is its own', async () => {
    answers['POST count'] = (request, response) =>
      (request.path.startsWith(nextCollection)
        ? json({ status: { error: 'Not found' } }, 404)
        : json({ result: { count: 3 } }))(request, response);

    expect(await known().count(bot)).toBe(3);
    answers['POST count'] = json({ status: { error: 'Not found' } }, 404);
    await expect(known().count(bot)).rejects.toThrow('404');
  });

  it('drops those of one model, of the bot alone', async () => {
    await index.dropModel(bot, next);

    expect(server.requests).toMatchObject([{ method: 'POST', path: `${nextCollection}/points/delete` }]);
    expect(server.requests[0]!.body).toEqual({ filter: { must: [ofBot] } });
    answers['POST delete'] = json({ status: { error: 'Not found' } }, 404);
    await expect(index.dropModel(bot, next)).resolves.toBeUndefined();
  });
});

describe('a Qdrant that does not answer as it should', () => {
  it('gets the API key, and keeps the path of its address', async () => {
    answers['POST count'] = json({ result: { count: 0 } });
    const behindProxy = new QdrantIndex({ url: `${server.url}/qdrant/`, apiKey: 'secret', embedder: testEmbedder });

    await behindProxy.count(bot);

    const [request] = server.requests.splice(0);
    expect(request).toMatchObject({ path: `/qdrant${collection}/points/count`, headers: { 'api-key': 'secret' } });
  });

  it.each([500, 502, 503, 429])('is a 503 that may be repeated, for status %d', async (status) => {
    answers['POST count'] = json({ status: { error: 'not now' } }, status, { 'retry-after': '1' });

    const error = await index.count(bot).catch((thrown: unknown) => thrown);

    expect(error).toBeInstanceOf(ApiError);
    expect(error).toMatchObject({ type: 'Internal', code: 503, retryAfterSeconds: 1 });
  });

  it.each<[string, Answer]>([
    ['garbage', json('<html>')],
    ['a cut connection', (_, response) => void response.destroy()],
    ['silence', () => undefined],
  ])('is a 503 as well, for %s', async (_, answer) => {
    answers['POST count'] = answer;
    const impatient = new QdrantIndex({ url: server.url, embedder: testEmbedder, timeoutMs: 200 });

    await expect(impatient.count(bot)).rejects.toMatchObject({ type: 'Internal', code: 503 });
  });

  it('is told apart from one that refuses', async () => {
    answers['POST count'] = json({ status: { error: 'Wrong input: bad filter' } }, 400);

    const error = await index.count(bot).catch((thrown: unknown) => thrown);

    expect(error).not.toBeInstanceOf(ApiError);
    expect((error as Error).message).toContain('Qdrant answered 400');
    expect((error as Error).message).toContain('Wrong input: bad filter');
  });
});
