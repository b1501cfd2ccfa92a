import { once } from 'node:events';
import { createServer as createHttpServer, type Server } from 'node:http';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { ApiError } from '@parley/contracts/errors';
import type { Sql } from '@parley/persistence/database';
import type { Logger } from '@parley/logging/logger';
import { json, LoopbackServer, type RequestHandler, type LoopbackRequest } from '@parley/testing/loopback-server';
import { waitFor } from '@parley/testing/wait-for';
import { IndexHealth } from './index-health';
import { queryTerms } from './lexicon';
import { PreparedIndex } from './prepared-index';
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
const name = collection.split('/').at(-1)!;
const done = json({ result: { operation_id: 1, status: 'completed' } });
const missing = json({ status: { error: `Not found: Collection \`${name}\` doesn't exist!` } }, 404);
const configured = (hnsw_config: object) => json({ result: { config: { hnsw_config } } });
const withoutGraphs = { m: 0, payload_m: 0 };

let server: LoopbackServer;
let answers: Record<string, RequestHandler>;
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
    if (/\/points\/(query\/batch|count|delete|payload|scroll)$/.test(request.path)) expectBotFilter(request);
  }
});

/** Asserts that every filter of the request, including nested ones, requires the bot. */
function expectBotFilter({ body }: LoopbackRequest): void {
  const parts = (body as { searches?: unknown[] }).searches ?? [body];
  for (const part of parts) expect(part).toMatchObject({ filter: { must: expect.arrayContaining([ofBot]) } });
  expect(body).not.toHaveProperty('points');
}

const requestsTo = (end: string) => server.requests.filter(({ path }) => path.endsWith(end));

function watched() {
  const seen = { counted: [] as string[], logged: [] as [string, object][] };
  const logger = { warn: (about: object, message: string) => void seen.logged.push([message, about]) };
  const metrics = { countDegradedSearch: (reason: string) => void seen.counted.push(reason) };
  return { seen, health: new IndexHealth(logger as Logger, metrics) };
}

/**
 * Which side closes an idle connection: the client after the 4 s of fetch, which tests cannot shorten, or Qdrant after
 * 5 s. Runs in parallel to the other tests.
 */
let idleEnd: Promise<'client' | 'server'>;

beforeAll(async () => {
  const http = createHttpServer((request, response) => {
    request.resume().on('end', () => void json({ result: { count: 7 } })(undefined as never, response));
  });
  // Like Qdrant, the server does not announce its keep-alive timeout.
  http.keepAliveTimeout = 0;
  http.listen(0, '127.0.0.1');
  await once(http, 'listening');
  const connected = once(http, 'connection') as Promise<[Socket]>;
  const { port } = http.address() as AddressInfo;
  await new QdrantIndex({ url: `http://127.0.0.1:${port}`, embedder: testEmbedder }).count(bot);
  const [socket] = await connected;
  idleEnd = new Promise((resolve) => {
    socket.once('end', () => resolve('client'));
    socket.setTimeout(8_000, () => resolve('server'));
  });
  void idleEnd.then(() => {
    http.closeAllConnections();
    http.close();
  });
});

describe('ready', () => {
  it('creates the collection of the model with vectors and payload indexes, without HNSW graphs', async () => {
    answers[`GET ${name}`] = missing;
    answers[`PUT ${name}`] = json({ result: true });

    await index.ready();

    const created = server.requests.find(({ method, path }) => method === 'PUT' && path === collection);
    expect(created?.body).toEqual({
      vectors: { dense: { size: 3, distance: 'Cosine' } },
      sparse_vectors: { sparse: { modifier: 'idf' } },
      hnsw_config: withoutGraphs,
    });
    expect(requestsTo('/index').map(({ body }) => body)).toEqual([
      { field_name: 'botId', field_schema: { type: 'keyword', is_tenant: true } },
      { field_name: 'fileId', field_schema: 'keyword' },
      { field_name: 'contentVersion', field_schema: 'keyword' },
      { field_name: 'tags', field_schema: 'keyword' },
    ]);
  });

  it('does not change a correct collection', async () => {
    answers[`GET ${name}`] = configured({ m: 0, payload_m: 0, ef_construct: 100, full_scan_threshold: 10_000 });

    await index.ready();

    const changed = server.requests.filter(({ method, path }) => method !== 'GET' && path === collection);
    expect(changed).toEqual([]);
  });

  it.each([
    ['graphs by bot, as former versions made it', { m: 0, payload_m: 16 }],
    ['one graph for all', { m: 16, payload_m: null }],
    ['the default of the server', { m: 16 }],
  ])('removes the graphs of a collection with %s', async (_, hnsw) => {
    answers[`GET ${name}`] = configured({ ...hnsw, ef_construct: 100, full_scan_threshold: 10_000 });

    await index.ready();

    const patched = server.requests.filter(({ method, path }) => method === 'PATCH' && path === collection);
    expect(patched.map(({ body }) => body)).toEqual([{ hnsw_config: withoutGraphs }]);
  });

  it('accepts a collection that another replica creates first', async () => {
    answers[`GET ${name}`] = missing;
    answers['GET exists'] = json({ result: { exists: true } });
    answers[`PUT ${name}`] = json({ status: { error: 'already exists' } }, 409);

    await expect(index.ready()).resolves.toBeUndefined();
  });

  it('reports why the collection cannot be created', async () => {
    answers[`GET ${name}`] = missing;
    answers['GET exists'] = json({ result: { exists: false } });
    answers[`PUT ${name}`] = json({ status: { error: 'Wrong input: no space' } }, 400);

    await expect(index.ready()).rejects.toThrow('Wrong input: no space');
  });

  it('prepares the collection once for concurrent callers', async () => {
    answers[`GET ${name}`] = configured(withoutGraphs);

    await Promise.all([index.ready(), index.ready(), index.ready()]);

    expect(requestsTo('/index')).toHaveLength(4);
  });

  it.each(['1.17.1', '1.18.0', '0.11.2'])('refuses Qdrant %s and reports it', async (version) => {
    answers['GET '] = json({ title: 'qdrant - vector search engine', version });
    const { health } = watched();
    const old = new QdrantIndex({ url: server.url, embedder: testEmbedder, health });

    await expect(old.ready()).rejects.toThrow('version of the passage index is too old');

    expect(health.problem).toBe(`Qdrant ${version} is too old: Parley needs 1.19 or later`);
    expect(requestsTo(name)).toEqual([]);
  });

  it.each(['1.19.0', '1.20.2-dev', '2.0.0', undefined])('accepts Qdrant %s', async (version) => {
    answers[`GET ${name}`] = configured(withoutGraphs);
    answers['GET '] = json({ title: 'qdrant - vector search engine', version });

    await expect(index.ready()).resolves.toBeUndefined();
  });

  it('separates the collections of two models with similar names', async () => {
    const models = ['a/b', 'a_b', 'a:b', 'größe', '../..', 'x'.repeat(500)];
    const opened = models.map((model) => new QdrantIndex({ url: server.url, embedder: { model, dimensions: 3 } }));

    for (const each of opened) await each.write(bot, [point()]);

    const names = requestsTo('/points').map(({ path }) => path.split('/').at(-2)!);
    expect(new Set(names).size).toBe(models.length);
    for (const each of names) expect(each).toMatch(/^[\w-]{1,200}$/);
  });
});

describe('write', () => {
  it('writes vectors, terms and payload under an id that includes the bot', async () => {
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

  it('writes points in batches and waits for each, because shards apply them independently', async () => {
    await index.write(
      bot,
      Array.from({ length: 600 }, () => point()),
    );

    expect(server.requests.map(({ body }) => (body as { points: unknown[] }).points.length)).toEqual([256, 256, 88]);
    expect(server.requests.map((request) => request.query.wait)).toEqual(['true', 'true', 'true']);
  });

  it('writes smaller batches for long vectors', async () => {
    const embedder = { model: 'long', dimensions: 100_000 };
    const vector = new Float32Array(100_000).fill(0.01);

    await new QdrantIndex({ url: server.url, embedder }).write(
      bot,
      Array.from({ length: 6 }, () => point({ vector })),
    );

    expect(server.requests.map(({ body }) => (body as { points: unknown[] }).points.length)).toEqual([5, 1]);
  });

  it('omits the sparse vector of a passage without words', async () => {
    await index.write(bot, [point({ text: '…' })]);

    expect(server.requests[0]!.body).toMatchObject({ points: [{ vector: { dense: [1, 0, 0] } }] });
    expect(server.requests[0]!.body).not.toHaveProperty('points.0.vector.sparse');
  });

  it('sends no request for an empty list of points', async () => {
    await index.write(bot, []);

    expect(server.requests).toEqual([]);
  });
});

describe('search', () => {
  const hit = (passageId: string, score = 0.5) => ({
    id: passageId,
    version: 1,
    score,
    payload: { passageId, fileId: 'file_a', contentVersion: 'v1' },
  });
  const found = (...sides: ReturnType<typeof hit>[][]) => json({ result: sides.map((points) => ({ points })) });
  const requestOf = (path: string) => server.requests.find((request) => request.path.endsWith(`/${path}`))!;
  const searchesOf = ({ body }: LoopbackRequest) => (body as { searches: Record<string, unknown>[] }).searches;
  beforeEach(() => (answers['POST count'] = json({ result: { count: 0 } })));

  it('searches vectors exactly, words by their rarity within the bot, and the cosines of the worded', async () => {
    answers['POST batch'] = found([hit('both')], [hit('both')], [hit('both')]);

    await index.search(bot, query({ text: 'hello', limit: 7 }));

    const filter = { must: [ofBot], must_not: [] };
    const either = { filter, limit: 100, with_payload: ['passageId', 'fileId', 'contentVersion'] };
    const dense = { ...either, query: [1, 0, 0], using: 'dense', params: { exact: true } };
    const sparse = {
      query: { indices: queryTerms('hello').indices, values: [1] },
      using: 'sparse',
      params: { idf: { corpus: { must: [ofBot] } } },
      filter,
      limit: 100,
    };
    expect(searchesOf(requestOf('batch'))).toEqual([dense, { ...either, ...sparse }, { ...dense, prefetch: sparse }]);
    expect(requestOf('batch')).toMatchObject({ method: 'POST', path: `${collection}/points/query/batch` });
    expect(requestOf('count')).toMatchObject({
      path: `${collection}/points/count`,
      body: { filter: { must: [ofBot] }, exact: true },
    });
  });

  it('scores by cosine and by the share of the highest BM25 score of the words among the points of the bot', async () => {
    const highest = 2.2 * Math.log(1 + 50.5 / 0.5);
    const nearest = [hit('a', 0.75), hit('b', 0.5)];
    const wordedHits = [hit('c', highest / 2), hit('b', highest / 4)];
    answers['POST batch'] = found(nearest, wordedHits, [hit('b', 0.5), hit('c', 0.25)]);
    answers['POST count'] = json({ result: { count: 50 } });

    const hits = await index.search(bot, query({ text: 'hello', limit: 2 }));

    expect(hits).toEqual([
      { id: 'a', fileId: 'file_a', contentVersion: 'v1', score: 0.75, words: 0 },
      {
        id: 'c',
        fileId: 'file_a',
        contentVersion: 'v1',
        score: expect.closeTo(1 - 0.75 * 0.5 ** 1.5, 9) as number,
        words: expect.closeTo(1 - 0.5 ** 1.5, 9) as number,
      },
    ]);
  });

  it('requests at least as many candidates as the limit of a search', async () => {
    answers['POST batch'] = found([], [], []);

    await index.search(bot, query({ text: 'hello', limit: 150 }));

    const searches = searchesOf(requestOf('batch'));
    expect(searches).toMatchObject([{ limit: 150 }, { limit: 150 }, { limit: 150, prefetch: { limit: 150 } }]);
  });

  it('requests only dense candidates, and no count, when the query has no words', async () => {
    answers['POST batch'] = found([hit('a', 0.25)]);

    const hits = await index.search(bot, query({ text: '?!' }));

    expect(server.requests).toHaveLength(1);
    expect(searchesOf(server.requests[0]!)).toMatchObject([{ using: 'dense' }]);
    expect(hits).toMatchObject([{ id: 'a', score: 0.25 }]);
  });

  it('combines tag filters of a search with the bot filter', async () => {
    answers['POST batch'] = found([]);

    await index.search(bot, query({ tags: { 'a.b': { in: ['x', 'y'], notIn: ['"'] }, empty: { in: [], notIn: [] } } }));

    expect(searchesOf(server.requests[0]!)[0]).toMatchObject({
      filter: {
        must: [ofBot, { key: 'tags', match: { any: ['["a.b","x"]', '["a.b","y"]'] } }],
        must_not: [{ key: 'tags', match: { any: ['["a.b","\\""]'] } }],
      },
    });
  });

  it('filters both sides of a search by the requested files and the bot', async () => {
    answers['POST batch'] = found([], []);

    await index.search(bot, query({ text: 'hello', fileIds: ['file_a', 'file_b'] }));
    await index.search(bot, query({ text: '?!', fileIds: [] }));

    const filterOf = (...any: string[]) => ({ must: [ofBot, { key: 'fileId', match: { any } }], must_not: [] });
    const filter = filterOf('file_a', 'file_b');
    const [both, dense] = server.requests.filter(({ path }) => path.endsWith('/batch')).map(searchesOf);
    expect(both).toMatchObject([{ filter }, { filter }, { prefetch: { filter } }]);
    expect(dense).toMatchObject([{ filter: filterOf() }]);
  });

  it('requests an uncompressed answer of a search', async () => {
    answers['POST batch'] = found([]);

    await index.search(bot, query());

    expect(server.requests[0]!.headers).toMatchObject({ 'accept-encoding': 'identity' });
  });

  describe('with incomplete dense results', () => {
    const search = async (text: string, sides: ReturnType<typeof found>, count = 0) => {
      answers['POST batch'] = sides;
      answers['POST count'] = json({ result: { count } });
      const { seen, health } = watched();
      const hits = await new QdrantIndex({ url: server.url, embedder: testEmbedder, health }).search(
        bot,
        query({ text, limit: 7 }),
      );
      return { hits: hits.length, ...seen };
    };
    const incomplete = ['dense side incomplete'];
    const full = Array.from({ length: 100 }, (_, n) => hit(`${n}`));

    it('returns incomplete dense results and reports them to the operator', async () => {
      const { hits, counted, logged } = await search('hello', found([], [hit('a')]));

      expect([hits, counted]).toEqual([1, incomplete]);
      expect(logged).toEqual([['search returned degraded results: dense side incomplete', { bot, nearest: 0 }]]);
    });

    it.each<[string, string[], string, RequestHandler, number]>([
      ['words find a point that is not among the few nearest', incomplete, 'hello', found([hit('a')], [hit('b')]), 0],
      ['nothing is near, of a bot that has points', incomplete, '?!', found([]), 3],
      ['nothing is near, of a bot that has no points', [], '?!', found([]), 0],
      ['words find some of the few nearest', [], 'hello', found([hit('a'), hit('b')], [hit('b')]), 0],
      ['words find a point behind all the nearest asked for', [], 'hello', found(full, [hit('b')]), 0],
    ])('recognises incomplete dense results: %s', async (_, expected, text, sides, count) => {
      const { counted } = await search(text, sides, count);

      expect(counted).toEqual(expected);
    });

    it('logs incomplete dense results once a minute and counts each occurrence', async () => {
      const { seen, health } = watched();

      for (let n = 0; n < 5; n++) health.degraded('index empty', { bot });

      expect([seen.counted.length, seen.logged.length]).toEqual([5, 1]);
    });
  });
});

describe('replacing terms', () => {
  const terms = { indices: [1, 7], values: [0.5, 2] };
  const ids = ['b0a2b5b3-d3a4-4cf1-a6a2-1ea2b1ab9d57', '5d2f3b0e-9d4c-47a5-8d0b-6bd0f1b3a001'];
  const points = ids.map((id) => ({ id, contentVersion: 'v1', terms }));
  const ofVersion = (value: string) => ({ must: [ofBot, { key: 'contentVersion', match: { value } }] });
  const idsIn = ({ body }: LoopbackRequest) =>
    (body as { filter: { must: { has_id?: string[] }[] } }).filter.must.at(-1)!.has_id!;

  it('updates the sparse vectors of points that are still there, in this version only', async () => {
    answers['POST scroll'] = (request, response) =>
      json({
        result: {
          points: idsIn(request)
            .slice(1)
            .map((id) => ({ id })),
        },
      })(request, response);

    await index.replaceTerms(bot, points);

    const [asked, changed] = server.requests;
    const [missingId, id] = idsIn(asked!);
    expect(asked).toMatchObject({ method: 'POST', path: `${collection}/points/scroll` });
    expect(asked!.body).toEqual({
      filter: { must: [...ofVersion('v1').must, { has_id: [missingId, id] }] },
      limit: 2,
      with_payload: false,
    });
    expect(changed).toMatchObject({ method: 'PUT', path: `${collection}/points/vectors`, query: { wait: 'true' } });
    expect(changed!.body).toEqual({ points: [{ id, vector: { sparse: terms } }], update_filter: ofVersion('v1') });
  });

  it('updates nothing when the points are gone, and each version by its own request', async () => {
    answers['POST scroll'] = json({ result: { points: [] } });

    await index.replaceTerms(bot, [points[0]!, { ...points[1]!, contentVersion: 'v2' }]);
    await index.replaceTerms(bot, []);

    expect(server.requests.map(({ method, path }) => `${method} ${path}`)).toEqual(
      Array(2).fill(`POST ${collection}/points/scroll`),
    );
  });

  it('uses the id under which the point was written', async () => {
    answers['POST scroll'] = json({ result: { points: [] } });
    await index.write(bot, [point({ id: ids[0] })]);

    await index.replaceTerms(bot, points.slice(0, 1));

    const [written, asked] = server.requests;
    expect(idsIn(asked!)).toEqual((written!.body as { points: { id: string }[] }).points.map(({ id }) => id));
  });
});

describe('retag', () => {
  it('replaces the tags of all points of the file only', async () => {
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
  it('removes the points of a file except one version', async () => {
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

  it('removes the points of several files at once', async () => {
    await index.removeFiles(bot, ['file_a', 'file_b']);

    expect(server.requests.map(({ body }) => body)).toEqual([
      { filter: { must: [ofBot, { key: 'fileId', match: { any: ['file_a', 'file_b'] } }] } },
    ]);
  });

  it('removes all points of a file or of a bot', async () => {
    await index.removeFile(bot, 'file_a', null);
    await index.dropTenant(bot);

    expect(server.requests.map(({ body }) => body)).toEqual([
      { filter: { must: [ofBot, { key: 'fileId', match: { value: 'file_a' } }], must_not: [] } },
      { filter: { must: [ofBot] } },
    ]);
  });

  it('counts points exactly', async () => {
    answers['POST count'] = json({ result: { count: 3 } });

    await expect(index.count(bot)).resolves.toBe(3);

    expect(server.requests[0]!.body).toEqual({ filter: { must: [ofBot] }, exact: true });
  });
});

describe('with points of other models', () => {
  const next = { model: 'next', dimensions: 5 };
  const nextCollection = '/collections/parley_next_5_c6c1c9a9';
  const known = () => new QdrantIndex({ url: server.url, embedder: testEmbedder, knownModels });
  const within = { query: () => Promise.resolve([]) } as unknown as Sql;
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
  ])('sends the request to each collection, of all models, to %s', async (verb, ask) => {
    await ask(known());

    expect(paths()).toEqual([`${nextCollection}/points/${verb}`, `${collection}/points/${verb}`]);
    expect(server.requests[0]!.body).toEqual(server.requests[1]!.body);
  });

  it('reads the models in the transaction of the caller', async () => {
    await known().removeFile(bot, 'file_a', null, within);
    await known().retag(bot, 'file_a', {}, within);

    expect(askedWithin).toEqual([within, within]);
  });

  it('counts points of all models, and writes and searches only the current one', async () => {
    answers['POST count'] = json({ result: { count: 3 } });
    answers['POST batch'] = json({ result: [{ points: [] }] });

    expect(await known().count(bot)).toBe(6);
    server.requests.splice(0);
    await known().write(bot, [point()]);
    await known().search(bot, query());

    expect(paths()).toEqual([`${collection}/points`, `${collection}/points/query/batch`]);
  });

  it('treats a removed collection of another model as empty', async () => {
    answers['POST count'] = (request, response) =>
      (request.path.startsWith(nextCollection) ? missing : json({ result: { count: 3 } }))(request, response);

    expect(await known().count(bot)).toBe(3);
  });

  it('drops the points of one model of the bot only', async () => {
    await index.dropModel(bot, next);

    expect(server.requests).toMatchObject([{ method: 'POST', path: `${nextCollection}/points/delete` }]);
    expect(server.requests[0]!.body).toEqual({ filter: { must: [ofBot] } });
    answers['POST delete'] = json({ status: { error: 'Not found' } }, 404);
    await expect(index.dropModel(bot, next)).resolves.toBeUndefined();
  });
});

describe('a Qdrant server that lost its data', () => {
  const vanish = () => {
    const isThere = () => server.requests.some(({ method, path }) => method === 'PUT' && path === collection);
    const unlessThere =
      (answer: RequestHandler): RequestHandler =>
      (request, response) =>
        (isThere() ? answer : missing)(request, response);
    answers[`GET ${name}`] = unlessThere(configured(withoutGraphs));
    answers[`PUT ${name}`] = json({ result: true });
    answers['PUT index'] = unlessThere(done);
    answers['PUT points'] = unlessThere(done);
    answers['POST payload'] = unlessThere(done);
    answers['POST delete'] = unlessThere(done);
    answers['POST count'] = unlessThere(json({ result: { count: 0 } }));
    answers['POST batch'] = unlessThere(json({ result: [{ points: [] }] }));
  };

  it.each<[string, (index: QdrantIndex) => Promise<unknown>, unknown]>([
    ['write', (index) => index.write(bot, [point()]), undefined],
    ['retag', (index) => index.retag(bot, 'file_a', { a: 'b' }), undefined],
    ['removeFile', (index) => index.removeFile(bot, 'file_a', 'v1'), undefined],
    ['removeFiles', (index) => index.removeFiles(bot, ['file_a']), undefined],
    ['search', (index) => index.search(bot, query()), []],
    ['dropTenant', (index) => index.dropTenant(bot), undefined],
    ['count', (index) => index.count(bot), 0],
  ])('prepares a server that lost its data again by %s, which succeeds', async (_, ask, expected) => {
    vanish();

    await expect(ask(index)).resolves.toEqual(expected);

    expect(server.requests.filter(({ method, path }) => method === 'PUT' && path === collection)).toHaveLength(1);
    expect(requestsTo('/index')).toHaveLength(4);
  });

  it('prepares a server that lost its data once for concurrent requests, and reports it', async () => {
    vanish();
    const { seen, health } = watched();
    const watchedIndex = new QdrantIndex({ url: server.url, embedder: testEmbedder, health });

    await Promise.all(Array.from({ length: 5 }, () => watchedIndex.search(bot, query())));

    expect(server.requests.filter(({ method, path }) => method === 'PUT' && path === collection)).toHaveLength(1);
    expect(seen.counted).toContain('collection missing');
    expect(seen.logged).toContainEqual(['search returned degraded results: collection missing', { collection: name }]);
  });

  it('sends at most two requests when the collection disappears again', async () => {
    vanish();
    answers['POST batch'] = missing;

    await expect(index.search(bot, query())).rejects.toThrow('Qdrant answered 404');

    expect(requestsTo('/batch')).toHaveLength(2);
  });
});

describe('a Qdrant server that refuses the key', () => {
  it.each([401, 403])(
    'returns 503 and a reason for the operator when Qdrant refuses the key with status %d',
    async (status) => {
      const { seen, health } = watched();
      const watchedIndex = new QdrantIndex({ url: server.url, apiKey: 'sk-secret', embedder: testEmbedder, health });
      answers['POST batch'] = json({ status: { error: 'Invalid API key' } }, status);
      answers['POST count'] = json({ result: { count: 0 } });

      const error = await watchedIndex.search(bot, query()).catch((thrown: unknown) => thrown);

      expect(error).toMatchObject({ type: 'Internal', code: 503, retryAfterSeconds: 1 });
      expect((error as Error).message).toContain('refuses the key');
      expect(health.problem).toBe(`Qdrant refuses the key in QDRANT_API_KEY (${status})`);
      expect(seen.logged).toEqual([[`the passage index cannot be used: ${health.problem}`, {}]]);
      expect(JSON.stringify([error, (error as Error).message, seen])).not.toContain('sk-secret');
      await watchedIndex.count(bot);
      expect(health.problem).toBeUndefined();
    },
  );

  it('reports a missing key of Qdrant', async () => {
    const { health } = watched();
    answers['POST count'] = json({ status: { error: 'Must provide an API key' } }, 401);

    const counted = new QdrantIndex({ url: server.url, embedder: testEmbedder, health }).count(bot);

    await expect(counted).rejects.toMatchObject({ code: 503 });
    expect(health.problem).toBe('Qdrant requires a key: set QDRANT_API_KEY');
  });
});

describe('connections', () => {
  const servers: Server[] = [];
  afterEach(() => {
    for (const http of servers.splice(0)) {
      http.closeAllConnections();
      http.close();
    }
  });

  async function startServer(handle: (count: number, socket: Socket) => boolean) {
    let count = 0;
    const http = createHttpServer((request, response) => {
      request.resume().on('end', () => {
        if (handle(++count, request.socket)) return;
        json({ result: { count: 7 } })(undefined as never, response) as void;
      });
    });
    servers.push(http.listen(0, '127.0.0.1'));
    await once(http, 'listening');
    const { port } = http.address() as AddressInfo;
    return {
      index: new QdrantIndex({ url: `http://127.0.0.1:${port}`, embedder: testEmbedder }),
      asked: () => count,
    };
  }

  it('retries requests once that failed before an answer', async () => {
    const { index: counted, asked } = await startServer((count, socket) => {
      if (count !== 2) return false;
      socket.destroy();
      return true;
    });

    await counted.count(bot);

    await expect(counted.count(bot)).resolves.toBe(7);
    expect(asked()).toBe(3);
  });

  it('returns 503 for requests that failed twice', async () => {
    const { index: counted, asked } = await startServer((_, socket) => Boolean(socket.destroy()));

    await expect(counted.count(bot)).rejects.toMatchObject({ code: 503 });

    expect(asked()).toBe(2);
  });

  it('does not retry requests that broke off in mid-response', async () => {
    const { index: counted, asked } = await startServer((_, socket) => {
      socket.write('HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{"res', () => {
        socket.destroy();
      });
      return true;
    });

    await expect(counted.count(bot)).rejects.toMatchObject({ code: 503 });

    expect(asked()).toBe(1);
  });
});

describe('a search in a Qdrant server that hangs', () => {
  const deadlineMs = 300;
  const searchOf = (url: string) =>
    new PreparedIndex(new QdrantIndex({ url, embedder: testEmbedder }), () => Promise.resolve(), deadlineMs);
  const late = {
    type: 'Internal',
    code: 503,
    retryAfterSeconds: 1,
    message: expect.stringContaining('in time') as string,
  };

  /** Searches, and lets the deadline pass when the server has been reached. */
  async function searchUntil(hasReached: () => boolean, url = server.url): Promise<unknown> {
    const deadline = new AbortController();
    const timeout = jest.spyOn(AbortSignal, 'timeout').mockReturnValueOnce(deadline.signal);
    const search = searchOf(url)
      .search(bot, query())
      .catch((error: unknown) => error);
    expect(timeout).toHaveBeenLastCalledWith(deadlineMs);
    await waitFor(hasReached);
    deadline.abort();
    return search;
  }

  afterEach(() => jest.restoreAllMocks());

  it('returns 503 when a search times out during the preparation', async () => {
    answers[`GET ${name}`] = () => undefined;

    expect(await searchUntil(() => requestsTo(name).length > 0)).toMatchObject(late);
  });

  it('returns 503 when a search times out', async () => {
    answers[`GET ${name}`] = configured(withoutGraphs);
    answers['POST batch'] = () => undefined;

    expect(await searchUntil(() => requestsTo('/batch').length > 0)).toMatchObject(late);

    expect(requestsTo('/batch')).toHaveLength(1);
  });

  it('returns 503 when a search times out during the connection setup', async () => {
    const sockets = new Set<Socket>();
    const silent = createServer((socket) => void sockets.add(socket.on('error', () => undefined)));
    silent.listen(0, '127.0.0.1');
    await once(silent, 'listening');
    const { port } = silent.address() as AddressInfo;

    expect(await searchUntil(() => sockets.size > 0, `https://127.0.0.1:${port}`)).toMatchObject(late);

    expect(sockets.size).toBe(1);
    sockets.forEach((socket) => socket.destroy());
    silent.close();
  });

  it('throws the reason of the caller when a search is aborted earlier', async () => {
    answers[`GET ${name}`] = configured(withoutGraphs);
    answers['POST batch'] = () => undefined;
    const left = new AbortController();
    const search = searchOf(server.url).search(bot, { ...query(), signal: left.signal });

    left.abort(new Error('the caller left'));

    await expect(search).rejects.toThrow('the caller left');
  });
});

describe('a Qdrant server with wrong answers', () => {
  it('sends the API key to Qdrant, with the path of its address kept', async () => {
    answers['POST count'] = json({ result: { count: 0 } });
    const behindProxy = new QdrantIndex({ url: `${server.url}/qdrant/`, apiKey: 'secret', embedder: testEmbedder });

    await behindProxy.count(bot);

    const [request] = server.requests.splice(0);
    expect(request).toMatchObject({ path: `/qdrant${collection}/points/count`, headers: { 'api-key': 'secret' } });
  });

  it.each([500, 502, 503, 429])('returns a retryable 503 for status %d of Qdrant', async (status) => {
    answers['POST count'] = json({ status: { error: 'not now' } }, status, { 'retry-after': '1' });

    const error = await index.count(bot).catch((thrown: unknown) => thrown);

    expect(error).toBeInstanceOf(ApiError);
    expect(error).toMatchObject({ type: 'Internal', code: 503, retryAfterSeconds: 1 });
  });

  it.each<[string, RequestHandler]>([
    ['garbage', json('<html>')],
    ['a cut connection', (_, response) => void response.destroy()],
    ['silence', () => undefined],
  ])('returns 503 for %s of Qdrant', async (_, answer) => {
    answers['POST count'] = answer;
    const impatient = new QdrantIndex({ url: server.url, embedder: testEmbedder, timeoutMs: 200 });

    await expect(impatient.count(bot)).rejects.toMatchObject({ type: 'Internal', code: 503 });
  });

  it('distinguishes a server with wrong answers from one that refuses a request', async () => {
    answers['POST count'] = json({ status: { error: 'Wrong input: bad filter' } }, 400);

    const error = await index.count(bot).catch((thrown: unknown) => thrown);

    expect(error).not.toBeInstanceOf(ApiError);
    expect((error as Error).message).toContain('Qdrant answered 400');
    expect((error as Error).message).toContain('Wrong input: bad filter');
  });
});

it('closes an idle connection before Qdrant does', async () => {
  await expect(idleEnd).resolves.toBe('client');
});
