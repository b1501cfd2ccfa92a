import { maxIndexedBytes } from '@parley/contracts/files';
import { EmbeddingServer } from '@parley/testing/embedding-server';
import type { Account, TestResponse, PublicApi, SendOptions } from '@parley/testing/public-api';
import { waitFor } from '@parley/testing/wait-for';
import { type Fields, wrong } from '../support/field-types';
import { startAllServices } from '../support/all-services';

const dayMs = 24 * 3_600_000;
const minuteMs = 60_000;

let embeddings: EmbeddingServer;
let api: PublicApi;
let owner: Account;
let botId: string;
let botKey: string;
let foreign: { botId: string; userId: string };
/** Id of the integration version that is installed under the alias `team`. */
let integrationId: string;
let integrationKey: string;
let userId: string;

beforeAll(async () => {
  embeddings = await EmbeddingServer.start();
  api = await startAllServices({ embeddingsUrl: embeddings.url });
  owner = await api.newAccount();
  botId = (await owner.client.createBot({})).bot.id;
  integrationId = (await succeed('POST /v1/admin/integrations', { json: { name: 'slack', version: '1.0.0' } }))
    .integration.id;
  integrationKey = (await succeed('POST /v1/admin/integrations/iaks', { json: { integrationId } })).value;
  botKey = (await owner.client.createBotApiKey({ botId, note: 'back end' })).value;
  await succeed(`PUT /v1/admin/bots/${botId}`, {
    headers: { 'x-multiple-integrations': 'true' },
    json: { integrations: { team: { integrationId, enabled: true } } },
  });
  userId = (await api.client(owner.token, owner.workspaceId, botId).createUser({ tags: {} })).user.id;
  const mallory = await api.newAccount();
  const bot = (await mallory.client.createBot({})).bot.id;
  const user = await api.client(mallory.token, mallory.workspaceId, bot).createUser({ tags: {} });
  foreign = { botId: bot, userId: user.user.id };
});

afterAll(async () => {
  await api?.stop();
  await embeddings?.stop();
});

function send(line: string, { headers, ...options }: SendOptions = {}): Promise<TestResponse> {
  const own = { authorization: `Bearer ${owner.token}`, 'x-bot-id': botId, 'x-workspace-id': owner.workspaceId };
  return api.send(line, { ...options, headers: { ...own, ...headers } });
}

async function succeed(line: string, options?: SendOptions) {
  const answer = await send(line, options);
  if (answer.status > 201) throw new Error(`${line} was answered with ${answer.status} ${answer.text}`);
  return answer.json;
}

function refusal(type: string, message: RegExp) {
  return expect.objectContaining({ json: expect.objectContaining({ type, message: expect.stringMatching(message) }) });
}

const upsert = (json: unknown, headers?: Record<string, string>) => send('PUT /v1/files', { json, headers });
const upserted = async (json: object, headers?: Record<string, string>) =>
  (await succeed('PUT /v1/files', { json, headers })).file;
const put = (url: string, content: string, headers: Record<string, string> = {}) =>
  fetch(url, { method: 'PUT', body: Buffer.from(content), headers });
const fromNow = (ms: number) => new Date(Date.now() + ms).toISOString();
/** Start of the minute that is `ms` from now. */
const minuteFromNow = (ms: number) => new Date(Math.floor((Date.now() + ms) / minuteMs) * minuteMs).toISOString();
/** Object with an own field of this name, even for `__proto__`, as in parsed JSON. */
const named = (name: string, value: unknown): Record<string, unknown> =>
  JSON.parse(`{${JSON.stringify(name)}:${JSON.stringify(value)}}`) as Record<string, unknown>;
const manyTags = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, n) => [`tag${n}`, 'x']));
const metadataOf = (bytes: number) => ({ text: 'x'.repeat(bytes - '{"text":""}'.length) });

const fileFields: Fields = {
  string: 'id botId key url contentType status owner.type owner.id',
  object: 'tags metadata owner',
  'date-time': 'createdAt updatedAt',
  'string[]': 'accessPolicies',
  boolean: 'index',
};

function describeHeaders(ask: (headers: Record<string, string>) => Promise<TestResponse>): void {
  it('requires a bot and a token to create a file', async () => {
    expect(await ask({ 'x-bot-id': '' })).toEqual(refusal('InvalidPayload', /x-bot-id is missing/));
    for (const authorization of ['', 'Bearer', 'Bearer none', 'Basic YTpi'])
      expect(await ask({ authorization })).toMatchObject({ status: 401, json: { type: 'Unauthorized' } });
  });

  it('returns 403 for an unknown or foreign id in a context header of a file', async () => {
    const headers = [
      ['x-bot-id', foreign.botId],
      ['x-bot-id', 'none'],
      ['x-integration-id', 'intver_none'],
      ['x-integration-alias', 'none'],
      ['x-integration-name', 'none'],
      ['x-user-id', foreign.userId],
      ['x-user-id', 'none'],
    ] as const;

    for (const [header, value] of headers) {
      const told = header === 'x-integration-name' ? 'x-integration-alias' : header;
      expect(await ask({ [header]: value })).toEqual(refusal('Forbidden', new RegExp(told)));
    }
  });

  it('accepts each context header of a file, all together, and keys of the bot and its integration', async () => {
    const each: Record<string, string>[] = [
      { 'x-integration-id': integrationId },
      { 'x-integration-alias': 'team' },
      { 'x-integration-name': 'team' },
      { 'x-user-id': userId },
      { 'x-user-role': 'manager' },
    ];
    const asIntegration = { authorization: `Bearer ${integrationKey}` };
    const keys = [
      { authorization: `Bearer ${botKey}` },
      asIntegration,
      { ...asIntegration, 'x-integration-id': integrationId },
    ];

    for (const headers of [{}, ...each, Object.assign({}, ...each) as Record<string, string>, ...keys])
      expect(await ask(headers)).toMatchObject({ status: 200 });
  });

  it('returns 403 for a bot key in another bot, and for the key of an integration that is not installed', async () => {
    const { bot } = await owner.client.createBot({});
    const others = [botKey, integrationKey].map((key) =>
      ask({ authorization: `Bearer ${key}`, 'x-bot-id': bot.id, 'x-workspace-id': '' }),
    );

    for (const answer of await Promise.all(others)) expect(answer).toEqual(refusal('Forbidden', /x-bot-id/));
  });
}

describe('creating or updating a file', () => {
  it.each([
    {
      key: 'deep/path to/a & b ? # % é 🍎 \' " .txt',
      size: 0,
      tags: { kind: '', 'a.b': '1', "it's": '2', '%_': '3', 'two words': '漢字 🍎' },
      accessPolicies: ['integrations', 'public_content'],
      contentType: 'text/plain; charset=utf-8',
      index: false,
      metadata: { a: 1, b: 'x', c: null, d: true, e: [1, 'x', {}], f: { g: { h: 1.5 } } },
    },
    {
      key: '漢'.repeat(1000),
      size: 5_000_000,
      tags: { ...manyTags(99), ['n'.repeat(200)]: 'x'.repeat(1000) },
      accessPolicies: ['public_content'],
      contentType: `a/${'b'.repeat(253)}`,
      index: true,
      metadata: metadataOf(128 * 1024),
    },
    {
      key: '__proto__',
      size: 1,
      tags: named('__proto__', 'x'),
      accessPolicies: [],
      contentType: 'application/vnd.oasis.opendocument.text',
      metadata: named('__proto__', { a: 1 }),
    },
  ])('accepts and shows every field of a file: $contentType', async ({ size: _size, ...fields }) => {
    const { uploadUrl, ...file } = await upserted({ ...fields, size: _size, publicContentImmediatelyAccessible: true });

    const read = (await succeed(`GET /v1/files/${file.id}`)).file;
    expect(file).toMatchObject({ ...fields, size: null });
    expect(JSON.stringify(Object.entries(read.tags).sort())).toBe(JSON.stringify(Object.entries(fields.tags).sort()));
    expect(read).toEqual({ ...file, url: expect.any(String) });
    expect(uploadUrl).toMatch(/^http/);
  });

  it('changes nothing when it refuses a field of a file', async () => {
    const before = await upserted({ key: 'bad', size: 1, tags: { a: '1' } });

    expect(await upsert({ key: 'bad', size: 2, tags: null })).toEqual(refusal('InvalidPayload', /^tags must be/));
    expect((await succeed('GET /v1/files/bad')).file).toMatchObject({ tags: { a: '1' }, updatedAt: before.updatedAt });
  });

  it('sets a default for every field of a file but key and size', async () => {
    const file = await upserted({ key: 'plain', size: 1 });

    expect(wrong(file, fileFields, { string: 'uploadUrl' })).toEqual([]);
    expect(file).toMatchObject({
      botId,
      key: 'plain',
      size: null,
      contentType: 'application/octet-stream',
      tags: {},
      metadata: {},
      accessPolicies: [],
      index: false,
      status: 'upload_pending',
      owner: { type: 'bot', id: botId },
    });
    for (const field of ['failedStatusReason', 'expiresAt', 'indexingStack']) expect(file).not.toHaveProperty(field);
  });

  it('returns only the file, with the declared type in every field', async () => {
    const json = { key: 'full.txt', size: 3, index: true, expiresAt: fromNow(dayMs), accessPolicies: ['integrations'] };
    const answer = await succeed('PUT /v1/files', { json });
    await put(answer.file.uploadUrl, 'too long');

    const { file } = await succeed('GET /v1/files/full.txt');

    expect(Object.keys(answer)).toEqual(['file']);
    expect(wrong(answer.file, fileFields, { string: 'uploadUrl indexingStack', 'date-time': 'expiresAt' })).toEqual([]);
    expect(wrong(file, fileFields, { string: 'failedStatusReason', 'date-time': 'expiresAt' })).toEqual([]);
  });

  it('shows the size of a file after the upload', async () => {
    const { id, uploadUrl } = await upserted({ key: 'sized', size: 5 });

    const status = (await put(uploadUrl, '12345')).status;

    const { file } = await succeed(`GET /v1/files/${id}`);
    expect(status).toBe(200);
    expect(wrong(file, fileFields, { integer: 'size' })).toEqual([]);
    expect(file).toMatchObject({ size: 5, status: 'upload_completed' });
  });

  it('keeps id and creation time on a repeated key, and replaces everything else', async () => {
    const before = await upserted({ key: 'twice', size: 1, tags: { a: '1' }, metadata: { b: 2 }, index: true });

    const after = await upserted({ key: 'twice', size: 1 });

    expect(after).toMatchObject({ id: before.id, createdAt: before.createdAt, tags: {}, metadata: {}, index: false });
    expect(after.uploadUrl).not.toBe(before.uploadUrl);
  });

  it('refuses a file over the largest upload, and one over 95 MB with index: true', async () => {
    const tooLarge = await upsert({ key: 'large', size: 5_000_000_001 });
    const tooLargeToIndex = await upsert({ key: 'large', size: maxIndexedBytes + 1, index: true });
    const notIndexed = await upsert({ key: 'large', size: maxIndexedBytes + 1 });

    expect(maxIndexedBytes).toBe(95 * 1024 * 1024);
    expect(tooLarge).toEqual(refusal('LimitExceeded', /^size must be at most 5000000000 bytes/));
    expect(tooLargeToIndex).toEqual(refusal('LimitExceeded', /^size must be at most 99614720 bytes .*index: true/));
    expect(tooLargeToIndex.status).toBe(413);
    expect(notIndexed.status).toBe(200);
    expect((await upsert({ key: 'large', size: maxIndexedBytes, index: true })).status).toBe(200);
  });

  it.each<[keys: string, contentType: string | RegExp]>([
    ['a.txt a.TXT', 'text/plain'],
    ['a.md', 'text/markdown'],
    ['a.html deep.pdf/path/a.htm', 'text/html'],
    ['a.pdf', 'application/pdf'],
    ['a.csv', 'text/csv'],
    ['a.tsv', 'text/tab-separated-values'],
    ['a.json', 'application/json'],
    ['a.xml', /xml$/],
    ['a.docx', 'application/vnd.openxmlformats-officedocument.wordprocessingml.document'],
    ['a.xlsx', 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet'],
    ['a.pptx', 'application/vnd.openxmlformats-officedocument.presentationml.presentation'],
    ['a.odt', 'application/vnd.oasis.opendocument.text'],
    ['a.rtf', /rtf$/],
    ['a.epub', 'application/epub+zip'],
    ['a.eml', 'message/rfc822'],
    ['a.png', 'image/png'],
    ['a.jpeg', 'image/jpeg'],
    ['a.svg', 'image/svg+xml'],
    ['a.mp3', 'audio/mpeg'],
    ['a.tar.gz', 'application/gzip'],
    ['a a. a.qqzz pdf a.pdf/b .html', 'application/octet-stream'],
  ])('infers the type of the file %s, unless contentType is given', async (keys, contentType) => {
    for (const key of keys.split(' ')) {
      const inferred = await upserted({ key, size: 1 });
      const told = await upserted({ key, size: 1, contentType: 'application/x-own' });

      expect(inferred.contentType).toMatch(contentType);
      expect(told.contentType).toBe('application/x-own');
    }
  });

  describe('expiresAt', () => {
    it.each([
      ['two minutes', 2 * minuteMs],
      ['a day', dayMs],
      ['90 days', 90 * dayMs],
    ])('accepts expiresAt %s ahead, in whole minutes', async (_what, ms) => {
      const expiresAt = fromNow(ms);

      const file = await upserted({ key: 'expiring', size: 1, expiresAt });

      expect(file.expiresAt).toBe(`${expiresAt.slice(0, 16)}:00.000Z`);
    });

    it('rounds expiresAt down to the minute, also in the last allowed minute', async () => {
      const last = minuteFromNow(90 * dayMs).replace(':00.000Z', ':59.999Z');

      const file = await upserted({ key: 'expiring', size: 1, expiresAt: last });

      expect(file.expiresAt).toBe(last.replace(':59.999Z', ':00.000Z'));
    });

    it.each([
      ['with an offset', (time: string) => time.replace('Z', '+00:00')],
      ['without fraction', (time: string) => time.replace('.000', '')],
      ['without seconds', (time: string) => time.replace(':00.000', '')],
      ['without a zone, which is UTC', (time: string) => time.replace('Z', '')],
    ])('accepts expiresAt %s', async (_what, written) => {
      const expiresAt = minuteFromNow(dayMs);

      const file = await upserted({ key: 'expiring', size: 1, expiresAt: written(expiresAt) });

      expect(file.expiresAt).toBe(expiresAt);
    });

    it.each([
      ['in the past', -dayMs],
      ['within this minute', 0],
      ['a minute more than 90 days ahead', 90 * dayMs + minuteMs],
      ['a century ahead', 36_525 * dayMs],
    ])('rejects expiresAt %s', async (_what, ms) => {
      expect(await upsert({ key: 'expiring', size: 1, expiresAt: fromNow(ms) })).toEqual(
        refusal('InvalidPayload', /^expiresAt must be in the future and at most 90 days from now/),
      );
    });

    it('hides a file once expiresAt has passed', async () => {
      const { id } = await upserted({ key: 'expired', size: 1, expiresAt: fromNow(dayMs) });

      await api.sql(`UPDATE files.file SET expires_at = now() - interval '1 ms' WHERE id = $1`, [id]);

      for (const name of [id, 'expired']) {
        expect(await send(`GET /v1/files/${name}`)).toEqual(refusal('ResourceNotFound', new RegExp(name)));
        expect(await send(`GET /v1/files/${name}/passages`)).toEqual(refusal('ResourceNotFound', new RegExp(name)));
      }
    });
  });

  describe('publicContentImmediatelyAccessible', () => {
    const json = { key: 'public.txt', size: 2, accessPolicies: ['public_content'] };
    const tagged = { 'x-amz-tagging': 'public=true' };

    it('requires the tagging header on the upload, and then publishes the content', async () => {
      const { uploadUrl, url } = await upserted({ ...json, publicContentImmediatelyAccessible: true });

      const without = await put(uploadUrl, 'hi');
      const other = await put(uploadUrl, 'hi', { 'x-amz-tagging': 'public=false' });
      const before = await fetch(url);
      const right = await put(uploadUrl, 'hi', tagged);

      expect([without.status, other.status, before.status, right.status]).toEqual([400, 400, 403, 200]);
      expect(await without.json()).toMatchObject({
        type: 'InvalidPayload',
        message: expect.stringMatching(/x-amz-tagging must be public=true/),
      });
      expect(await (await fetch(url)).text()).toBe('hi');
    });

    it('serves public content without publicContentImmediatelyAccessible, with or without the tagging header', async () => {
      for (const headers of [{}, tagged]) {
        const { uploadUrl, url } = await upserted(json);

        expect((await put(uploadUrl, 'hi', headers)).status).toBe(200);
        expect(await (await fetch(url)).text()).toBe('hi');
      }
    });

    it('does not publish a file without public_content', async () => {
      const { id, uploadUrl } = await upserted({
        key: 'private.txt',
        size: 2,
        publicContentImmediatelyAccessible: true,
      });
      await put(uploadUrl, 'hi', tagged);

      const { url } = (await succeed(`GET /v1/files/${id}`)).file;

      expect((await fetch(url.replace(/\?.*/, ''))).status).toBe(403);
      expect(await (await fetch(url)).text()).toBe('hi');
    });
  });

  describe('indexing.configuration', () => {
    // Mode `agent`, smartCleanup, summarization.enable and vision are not tested here: they depend on a model server.
    it.each([
      {
        parsing: { mode: 'standard', minimumParagraphLength: 50, smartCleanup: false },
        chunking: { maximumChunkLength: 100, embeddedContextLevels: 0, embedBreadcrumb: true },
        summarization: {
          enable: false,
          modelType: 'inexpensive',
          minimumInputLength: 1000,
          outputTokenLimit: 1000,
          generateMasterSummary: false,
        },
        stack: 'legacy',
      },
      {
        parsing: { minimumParagraphLength: 2000 },
        chunking: { maximumChunkLength: 5000, embeddedContextLevels: 3, embedBreadcrumb: false },
        summarization: { modelType: 'accurate', minimumInputLength: 10_000, outputTokenLimit: 10_000 },
        stack: 'realtime-v1',
      },
      { parsing: {} },
      {},
    ])('accepts and stores the indexing configuration %j', async (configuration) => {
      const { id } = await upserted({ key: 'configured', size: 1, index: true, indexing: { configuration } });

      const [row] = await api.sql<{ indexing: unknown }>('SELECT indexing FROM files.file WHERE id = $1', [id]);
      expect(row!.indexing).toEqual(configuration);
    });

    it.each([
      [undefined, 'v1'],
      [{ stack: 'legacy' }, 'v1'],
      [{ stack: 'realtime-v1' }, 'v2'],
    ])('shows the indexing stack for the configuration %j', async (configuration, indexingStack) => {
      const indexing = configuration && { configuration };

      const file = await upserted({ key: 'stacked', size: 1, index: true, indexing });

      expect(file.indexingStack).toBe(indexingStack);
    });
  });

  describe('with context headers', () => {
    let n = 0;
    const anyFile = () => ({ key: `by-headers-${(n += 1)}`, size: 1 });

    describeHeaders((headers) => upsert(anyFile(), headers));

    it.each([
      ['the bot', {}, () => ({ type: 'bot', id: botId })],
      [
        'the installation that acts',
        { 'x-integration-alias': 'team' },
        () => ({ type: 'integration', id: integrationId, alias: 'team' }),
      ],
    ])('assigns a file with context headers to %s', async (_what, headers, expected) => {
      expect((await upserted(anyFile(), headers)).owner).toEqual(expected());
    });

    it('assigns a file to the user in x-user-id, whatever the x-user-role', async () => {
      const file = await upserted(anyFile(), { 'x-user-id': userId, 'x-user-role': 'manager' });

      expect(file.owner).toEqual({ type: 'user', id: userId });
    });

    it('separates keys of files for the bot and for each installation', async () => {
      const json = { key: 'shared', size: 1 };

      const [ofBot, ofTeam, again] = [
        await upserted(json),
        await upserted(json, { 'x-integration-alias': 'team' }),
        await upserted(json, { authorization: `Bearer ${integrationKey}` }),
      ];

      expect(ofTeam.id).not.toBe(ofBot.id);
      expect(again.id).toBe(ofTeam.id);
    });
  });
});

describe('listing the passages of a file', () => {
  const key = 'deep/path/of passages.txt';
  const encoded = encodeURIComponent(key);
  let id: string;

  const list = (query = '', name = id) => succeed(`GET /v1/files/${name}/passages${query}`);
  const positionsOf = ({ passages }: { passages: { meta: { position: number } }[] }) =>
    passages.map(({ meta }) => meta.position);
  const range = (start: number, end: number) => Array.from({ length: end - start }, (_, n) => start + n);

  beforeAll(async () => {
    id = await indexed(key, 230);
  });

  /** Creates an indexed file with `count` passages. The type of the first one is title. */
  async function indexed(name: string, count: number, headers: Record<string, string> = {}): Promise<string> {
    const file = await upserted(
      { key: name, size: 2, index: true, accessPolicies: ['integrations', 'public_content'] },
      headers,
    );
    await put(file.uploadUrl, 'hi');
    const passages = range(0, count).map((n) => ({
      content: `passage ${n}`,
      type: n === 0 ? 'title' : 'paragraph',
      pageNumber: 1 + Math.floor(n / 100),
    }));
    await succeed(`PUT /v1/files/${file.id}/passages`, { json: { passages } });
    await waitFor(
      () => succeed(`GET /v1/files/${file.id}/passages`),
      (answer) => answer.passages[0]?.content === 'passage 0',
    );
    return file.id;
  }

  it('returns passages of a file with the declared type in every field', async () => {
    const answer = await list('?limit=1');

    expect(Object.keys(answer).sort()).toEqual(['meta', 'passages']);
    expect(
      wrong(answer, {
        string: 'meta.nextToken passages.0.id passages.0.content passages.0.meta.type passages.0.meta.subtype',
        'object[]': 'passages',
        object: 'passages.0.meta',
        number: 'passages.0.meta.pageNumber passages.0.meta.position',
      }),
    ).toEqual([]);
    expect(answer.passages[0]).toMatchObject({
      content: 'passage 0',
      meta: { type: 'chunk', subtype: 'title', pageNumber: 1, position: 0 },
    });
  });

  it('lists 20 passages in document order by default, and at most 200', async () => {
    expect(positionsOf(await list())).toEqual(range(0, 20));
    expect(positionsOf(await list('?limit=1'))).toEqual([0]);
    expect(positionsOf(await list('?limit=200'))).toEqual(range(0, 200));
    expect(positionsOf(await list('?pageSize=7'))).toEqual(range(0, 7));
    expect(positionsOf(await list('?limit=3&pageSize=7'))).toEqual(range(0, 3));
  });

  it('continues to list passages after the previous page up to the last, by id and by key', async () => {
    const first = await list('?limit=200');
    const second = await list(`?limit=200&nextToken=${encodeURIComponent(first.meta.nextToken)}`, encoded);
    const smaller = await list(`?limit=10&nextToken=${encodeURIComponent(first.meta.nextToken)}`);

    expect([...positionsOf(first), ...positionsOf(second)]).toEqual(range(0, 230));
    expect(second.meta).toEqual({});
    expect(positionsOf(smaller)).toEqual(range(200, 210));
  });

  it.each(['x', 'W10'])('refuses the nextToken %j of passages', async (nextToken) => {
    expect(await send(`GET /v1/files/${id}/passages?nextToken=${nextToken}`)).toEqual(
      refusal('InvalidQuery', /^nextToken is not valid for this list/),
    );
  });

  it('refuses the nextToken of passages of another file, and of replaced passages', async () => {
    const other = await indexed('other', 30);
    const token = (await list('', other)).meta.nextToken;
    const replaced = async () => send(`GET /v1/files/${other}/passages?nextToken=${token}`);

    expect(await send(`GET /v1/files/${id}/passages?nextToken=${token}`)).toEqual(
      refusal('InvalidQuery', /^nextToken/),
    );
    expect((await replaced()).status).toBe(200);
    await succeed(`PUT /v1/files/${other}/passages`, { json: { passages: [{ content: 'new' }] } });
    await waitFor(replaced, ({ status }) => status === 400);
    expect(await replaced()).toEqual(refusal('InvalidQuery', /^nextToken/));
  });

  it('returns an empty page of passages for a file without any', async () => {
    const { id: plain } = await upserted({ key: 'without', size: 1 });

    expect(await list('', plain)).toEqual({ passages: [], meta: {} });
  });

  it.each(['none', 'file_none', encodeURIComponent('a/b'), '%F0%9F%8D%8E'])(
    'returns 404 for passages of the file %s',
    async (name) => {
      expect(await send(`GET /v1/files/${name}/passages`)).toEqual(
        refusal('ResourceNotFound', new RegExp(decodeURIComponent(name))),
      );
    },
  );

  it('returns 404 for passages of a file of another bot', async () => {
    const { bot } = await owner.client.createBot({});

    expect(await send(`GET /v1/files/${id}/passages`, { headers: { 'x-bot-id': bot.id } })).toEqual(
      refusal('ResourceNotFound', new RegExp(id)),
    );
  });

  describe('with context headers', () => {
    describeHeaders((headers) => send(`GET /v1/files/${id}/passages`, { headers }));

    it('hides passages of a file that is not accessible to integrations or users', async () => {
      const { id: hidden } = await upserted({ key: 'hidden', size: 1 });

      for (const headers of [
        { 'x-integration-alias': 'team' },
        { authorization: `Bearer ${integrationKey}` },
        { 'x-user-id': userId },
      ] as Record<string, string>[]) {
        expect(await send(`GET /v1/files/${hidden}/passages`, { headers })).toEqual(
          refusal('ResourceNotFound', new RegExp(hidden)),
        );
      }
    });
  });
});
