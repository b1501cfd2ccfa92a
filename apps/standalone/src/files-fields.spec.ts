import { maxIndexedBytes } from '@parley/contracts/files';
import { EmbeddingServer } from '@parley/testing/embedding-server';
import type { Account, Answer, FrontDoor, SendOptions } from '@parley/testing/front-door';
import { until } from '@parley/testing/until';
import { type Type, wrong } from './test/field-types';
import { startWholeDoor } from './test/whole-door';

const dayMs = 24 * 3_600_000;
const minuteMs = 60_000;

let embeddings: EmbeddingServer;
let door: FrontDoor;
let owner: Account;
let botId: string;
let botKey: string;
/** Of a bot of somebody else. */
let foreign: { botId: string; userId: string };
/** Version id of the integration that the bot has as `team`. */
let integrationId: string;
let integrationKey: string;
let userId: string;

beforeAll(async () => {
  embeddings = await EmbeddingServer.start();
  door = await startWholeDoor({ embeddingsUrl: embeddings.url });
  owner = await door.newAccount();
  botId = (await owner.client.createBot({})).bot.id;
  integrationId = (await succeed('POST /v1/admin/integrations', { json: { name: 'slack', version: '1.0.0' } }))
    .integration.id;
  integrationKey = (await succeed('POST /v1/admin/integrations/iaks', { json: { integrationId } })).value;
  botKey = (await owner.client.createBotApiKey({ botId, note: 'back end' })).value;
  await succeed(`PUT /v1/admin/bots/${botId}`, {
    headers: { 'x-multiple-integrations': 'true' },
    json: { integrations: { team: { integrationId, enabled: true } } },
  });
  userId = (await door.client(owner.token, owner.workspaceId, botId).createUser({ tags: {} })).user.id;
  const mallory = await door.newAccount();
  const bot = (await mallory.client.createBot({})).bot.id;
  const user = await door.client(mallory.token, mallory.workspaceId, bot).createUser({ tags: {} });
  foreign = { botId: bot, userId: user.user.id };
});

afterAll(async () => {
  await door?.stop();
  await embeddings?.stop();
});

/** A request of the owner to their bot. */
function send(line: string, { headers, ...options }: SendOptions = {}): Promise<Answer> {
  const own = { authorization: `Bearer ${owner.token}`, 'x-bot-id': botId, 'x-workspace-id': owner.workspaceId };
  return door.send(line, { ...options, headers: { ...own, ...headers } });
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
/** What the minute begins with that is so far ahead. */
const minuteFromNow = (ms: number) => new Date(Math.floor((Date.now() + ms) / minuteMs) * minuteMs).toISOString();
/** As JSON brings it: an own field of this name. */
const named = (name: string, value: unknown): Record<string, unknown> =>
  JSON.parse(`{${JSON.stringify(name)}:${JSON.stringify(value)}}`) as Record<string, unknown>;
const manyTags = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, n) => [`tag${n}`, 'x']));
/** Metadata of so many bytes of JSON. */
const metadataOf = (bytes: number) => ({ text: 'x'.repeat(bytes - '{"text":""}'.length) });

const fileFields: Record<string, Type> = {
  id: 'string',
  botId: 'string',
  key: 'string',
  url: 'string',
  contentType: 'string',
  tags: 'object',
  metadata: 'object',
  createdAt: 'date-time',
  updatedAt: 'date-time',
  accessPolicies: 'string[]',
  index: 'boolean',
  status: 'string',
  owner: 'object',
  'owner.type': 'string',
  'owner.id': 'string',
};

/** What every endpoint of a bot's files asks of its headers. */
function describeHeaders(ask: (headers: Record<string, string>) => Promise<Answer>): void {
  it('needs x-bot-id', async () => {
    expect(await ask({ 'x-bot-id': '' })).toEqual(refusal('InvalidPayload', /x-bot-id is missing/));
  });

  it.each(['', 'Bearer', 'Bearer none', 'Basic YTpi'])('needs a token, which %j is not', async (authorization) => {
    expect(await ask({ authorization })).toMatchObject({ status: 401, json: { type: 'Unauthorized' } });
  });

  it.each([
    ['x-bot-id', () => foreign.botId, /x-bot-id/],
    ['x-bot-id', () => 'none', /x-bot-id/],
    ['x-integration-id', () => 'intver_none', /x-integration-id/],
    ['x-integration-alias', () => 'none', /x-integration-alias/],
    ['x-integration-name', () => 'none', /x-integration-alias/],
    ['x-user-id', () => foreign.userId, /x-user-id/],
    ['x-user-id', () => 'none', /x-user-id/],
  ])('is Forbidden with an %s that is not the caller’s', async (header, value, message) => {
    expect(await ask({ [header]: value() })).toEqual(refusal('Forbidden', message));
  });

  it.each([
    ['no other header', () => ({})],
    ['x-integration-id', () => ({ 'x-integration-id': integrationId })],
    ['x-integration-alias', () => ({ 'x-integration-alias': 'team' })],
    ['x-integration-name', () => ({ 'x-integration-name': 'team' })],
    ['x-user-id', () => ({ 'x-user-id': userId })],
    ['x-user-role', () => ({ 'x-user-role': 'manager' })],
    [
      'all of them',
      () => ({
        'x-integration-id': integrationId,
        'x-integration-alias': 'team',
        'x-integration-name': 'team',
        'x-user-id': userId,
        'x-user-role': 'manager',
      }),
    ],
    ['a bot key', () => ({ authorization: `Bearer ${botKey}` })],
    ['an integration key', () => ({ authorization: `Bearer ${integrationKey}` })],
    [
      'an integration key and its id',
      () => ({ authorization: `Bearer ${integrationKey}`, 'x-integration-id': integrationId }),
    ],
  ])('takes a request with %s', async (_what, headers: () => Record<string, string>) => {
    expect(await ask(headers())).toMatchObject({ status: 200 });
  });

  it('is Forbidden to the key of a bot for another bot, and to that of an integration which is not installed', async () => {
    const { bot } = await owner.client.createBot({});
    const others = [botKey, integrationKey].map((key) =>
      ask({ authorization: `Bearer ${key}`, 'x-bot-id': bot.id, 'x-workspace-id': '' }),
    );

    for (const answer of await Promise.all(others)) expect(answer).toEqual(refusal('Forbidden', /x-bot-id/));
  });
}

describe('creating or updating a file', () => {
  const good: [field: string, sent: unknown, shown?: unknown][] = [
    ['key', 'k'],
    ['key', 'x'.repeat(1000)],
    ['key', '漢'.repeat(1000)],
    ['key', 'deep/path to/a & b ? # % é 🍎 \' " .txt'],
    ['key', '__proto__'],
    ['size', 0, null],
    ['size', 5_000_000, null],
    ['tags', {}],
    ['tags', { kind: '' }],
    ['tags', { kind: 'x'.repeat(1000) }],
    ['tags', { ['n'.repeat(200)]: '漢字 🍎' }],
    ['tags', { 'a.b': '1', "it's": '2', '%_': '3', 'two words': '4' }],
    ['tags', named('__proto__', 'x')],
    ['tags', manyTags(100)],
    ['index', true],
    ['index', false],
    ['accessPolicies', []],
    ['accessPolicies', ['public_content']],
    ['accessPolicies', ['integrations']],
    ['accessPolicies', ['integrations', 'public_content']],
    ['contentType', 'text/plain'],
    ['contentType', 'text/plain; charset=utf-8'],
    ['contentType', `a/${'b'.repeat(253)}`],
    ['contentType', 'application/vnd.oasis.opendocument.text'],
    ['publicContentImmediatelyAccessible', true, undefined],
    ['publicContentImmediatelyAccessible', false, undefined],
    ['metadata', {}],
    ['metadata', { a: 1, b: 'x', c: null, d: true, e: [1, 'x', {}], f: { g: { h: 1.5 } } }],
    ['metadata', named('__proto__', { a: 1 })],
    ['metadata', metadataOf(128 * 1024)],
  ];

  it.each(good)('takes %s and shows it', async (field, sent, ...shown) => {
    const { uploadUrl, ...file } = await upserted({ key: 'good', size: 1, [field]: sent });

    const read = (await succeed(`GET /v1/files/${file.id}`)).file;
    expect(file[field]).toEqual(shown.length > 0 ? shown[0] : sent);
    expect(JSON.stringify(Object.entries(read.tags))).toBe(JSON.stringify(Object.entries(file.tags)));
    expect(read).toEqual({ ...file, url: expect.any(String) });
    expect(uploadUrl).toMatch(/^http/);
  });

  const bad: [field: string, sent: unknown, message: RegExp][] = [
    ['key', undefined, /^key is missing/],
    ['key', null, /^key must be a string\.$/],
    ['key', 1, /key must be a string/],
    ['key', '', /^key must be longer than or equal to 1/],
    ['key', 'x'.repeat(1001), /^key must be shorter than or equal to 1000/],
    ['key', 'a\0b', /U\+0000/],
    ['key', 'a\ud800b', /surrogate|Unicode|UTF/i],
    ['size', undefined, /^size is missing/],
    ['size', null, /size must be an integer/],
    ['size', '1', /^size must be an integer number\.$/],
    ['size', 1.5, /size must be an integer/],
    ['size', -1, /^size must not be less than 0/],
    ['size', 1e300, /^size must not be greater than 9007199254740991/],
    ['tags', null, /^tags must be an object/],
    ['tags', [], /^tags must be an object/],
    ['tags', 'x', /^tags must be an object/],
    ['tags', { kind: 1 }, /^tags has an entry "kind" that must be a string/],
    ['tags', { kind: null }, /^tags has an entry "kind" that must be a string/],
    ['tags', { kind: 'x'.repeat(1001) }, /^tags has an entry "kind" that must be at most 1000/],

    ['tags', { ['n'.repeat(201)]: 'x' }, /^tags has a name "n/],
    ['tags', manyTags(101), /^tags must have at most 100/],
    ['index', 'true', /^index must be a boolean/],
    ['index', 1, /^index must be a boolean/],
    ['index', null, /^index must be a boolean/],
    ['accessPolicies', 'integrations', /accessPolicies must be an array/],
    ['accessPolicies', ['private'], /^each value in accessPolicies must be one of/],
    ['accessPolicies', [1], /^each value in accessPolicies must be one of/],
    ['accessPolicies', null, /accessPolicies must be an array/],
    ['accessPolicies', ['integrations', 'integrations'], /accessPolicies's elements must be unique/],
    ['contentType', '', /^contentType must look like type/],
    ['contentType', 'text', /^contentType must look like type\/subtype/],
    ['contentType', 'text/plain\r\nx: y', /^contentType must look like type\/subtype/],
    ['contentType', `a/${'b'.repeat(254)}`, /^contentType must be shorter than or equal to 255/],
    ['contentType', 1, /contentType must be a string/],
    ['expiresAt', 1, /^expiresAt must be/],
    ['expiresAt', null, /^expiresAt must be/],
    ['expiresAt', 'tomorrow', /^expiresAt must be/],
    ['expiresAt', '2026-13-01T00:00:00Z', /^expiresAt must be/],
    ['publicContentImmediatelyAccessible', 'true', /^publicContentImmediatelyAccessible must be a boolean/],
    ['metadata', [], /^metadata must be an object/],
    ['metadata', 'x', /^metadata must be an object/],
    ['metadata', null, /^metadata must be an object/],
    ['metadata', metadataOf(128 * 1024 + 1), /^metadata must be at most 131072 bytes/],
    ['indexing', true, /^indexing must be an object/],
    ['indexing', {}, /^indexing\.configuration is missing/],
  ];

  it.each(bad)('refuses a bad %s and changes nothing', async (field, sent, message) => {
    const before = await upserted({ key: 'bad', size: 1, tags: { a: '1' } });

    const answer = await upsert({ key: 'bad', size: 2, [field]: sent });

    expect(answer).toEqual(refusal('InvalidPayload', message));
    expect(answer.status).toBe(400);
    const read = (await succeed('GET /v1/files/bad')).file;
    expect(read).toMatchObject({ tags: { a: '1' }, updatedAt: before.updatedAt });
  });

  it.each([
    ['no object', '[]'],
    ['not JSON', '{"key"'],
    ['nothing', ''],
  ])('refuses a body that is %s', async (_what, body) => {
    const answer = await send('PUT /v1/files', { body, headers: { 'content-type': 'application/json' } });

    expect(answer).toMatchObject({ status: 400, json: { type: 'InvalidPayload' } });
  });

  it('has a default for everything but key and size', async () => {
    const file = await upserted({ key: 'plain', size: 1 });

    expect(wrong(file, { ...fileFields, uploadUrl: 'string' })).toEqual([]);
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

  it('answers the file alone, and every field of it in its type', async () => {
    const json = { key: 'full.txt', size: 3, index: true, expiresAt: fromNow(dayMs), accessPolicies: ['integrations'] };
    const answer = await succeed('PUT /v1/files', { json });
    await put(answer.file.uploadUrl, 'too long');

    const { file } = await succeed('GET /v1/files/full.txt');

    expect(Object.keys(answer)).toEqual(['file']);
    expect(
      wrong(answer.file, { ...fileFields, uploadUrl: 'string', expiresAt: 'date-time', indexingStack: 'string' }),
    ).toEqual([]);
    expect(wrong(file, { ...fileFields, failedStatusReason: 'string', expiresAt: 'date-time' })).toEqual([]);
  });

  it('counts the size once the content is there', async () => {
    const { id, uploadUrl } = await upserted({ key: 'sized', size: 5 });

    const status = (await put(uploadUrl, '12345')).status;

    const { file } = await succeed(`GET /v1/files/${id}`);
    expect(status).toBe(200);
    expect(wrong(file, { ...fileFields, size: 'integer' })).toEqual([]);
    expect(file).toMatchObject({ size: 5, status: 'upload_completed' });
  });

  it('keeps its id and place when the key comes again, and nothing else', async () => {
    const before = await upserted({ key: 'twice', size: 1, tags: { a: '1' }, metadata: { b: 2 }, index: true });

    const after = await upserted({ key: 'twice', size: 1 });

    expect(after).toMatchObject({ id: before.id, createdAt: before.createdAt, tags: {}, metadata: {}, index: false });
    expect(after.uploadUrl).not.toBe(before.uploadUrl);
  });

  it('refuses a file beyond the largest upload, and one of more than 95 MB that is to be indexed', async () => {
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

  it.each([
    ['a.txt', 'text/plain'],
    ['a.TXT', 'text/plain'],
    ['a.md', 'text/markdown'],
    ['a.html', 'text/html'],
    ['deep.pdf/path/a.htm', 'text/html'],
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
    ['a', 'application/octet-stream'],
    ['a.', 'application/octet-stream'],
    ['a.qqzz', 'application/octet-stream'],
    ['pdf', 'application/octet-stream'],
    ['a.pdf/b', 'application/octet-stream'],
    ['.html', 'application/octet-stream'],
  ])('infers the type of %s, unless it is told', async (key, contentType) => {
    const inferred = await upserted({ key, size: 1 });
    const told = await upserted({ key, size: 1, contentType: 'application/x-own' });

    expect(inferred.contentType).toMatch(contentType);
    expect(told.contentType).toBe('application/x-own');
  });

  describe('expiresAt', () => {
    it.each([
      ['two minutes', 2 * minuteMs],
      ['a day', dayMs],
      ['90 days', 90 * dayMs],
    ])('may be %s ahead, in whole minutes', async (_what, ms) => {
      const expiresAt = fromNow(ms);

      const file = await upserted({ key: 'expiring', size: 1, expiresAt });

      expect(file.expiresAt).toBe(`${expiresAt.slice(0, 16)}:00.000Z`);
    });

    it('has no seconds: those of the last minute do not count', async () => {
      const last = minuteFromNow(90 * dayMs).replace(':00.000Z', ':59.999Z');

      const file = await upserted({ key: 'expiring', size: 1, expiresAt: last });

      expect(file.expiresAt).toBe(last.replace(':59.999Z', ':00.000Z'));
    });

    it.each([
      ['with an offset', (time: string) => time.replace('Z', '+00:00')],
      ['without fraction', (time: string) => time.replace('.000', '')],
      ['without seconds', (time: string) => time.replace(':00.000', '')],
      ['without a zone, which is UTC', (time: string) => time.replace('Z', '')],
    ])('may be written %s', async (_what, written) => {
      const expiresAt = minuteFromNow(dayMs);

      const file = await upserted({ key: 'expiring', size: 1, expiresAt: written(expiresAt) });

      expect(file.expiresAt).toBe(expiresAt);
    });

    it.each([
      ['in the past', -dayMs],
      ['within this minute', 0],
      ['a minute more than 90 days ahead', 90 * dayMs + minuteMs],
      ['a century ahead', 36_525 * dayMs],
    ])('may not be %s', async (_what, ms) => {
      expect(await upsert({ key: 'expiring', size: 1, expiresAt: fromNow(ms) })).toEqual(
        refusal('InvalidPayload', /^expiresAt must be in the future and at most 90 days from now/),
      );
    });

    it('once it has come, leaves nothing to read', async () => {
      const { id } = await upserted({ key: 'expired', size: 1, expiresAt: fromNow(dayMs) });

      await door.sql(`UPDATE files.file SET expires_at = now() WHERE id = $1`, [id]);

      for (const name of [id, 'expired']) {
        expect(await send(`GET /v1/files/${name}`)).toEqual(refusal('ResourceNotFound', new RegExp(name)));
        expect(await send(`GET /v1/files/${name}/passages`)).toEqual(refusal('ResourceNotFound', new RegExp(name)));
      }
    });
  });

  describe('publicContentImmediatelyAccessible', () => {
    const json = { key: 'public.txt', size: 2, accessPolicies: ['public_content'] };
    const tagged = { 'x-amz-tagging': 'public=true' };

    it('needs the tagging header on the upload, and then gives the content to anybody', async () => {
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

    it('is not needed: public content is read by anybody without it, tagged or not', async () => {
      for (const headers of [{}, tagged]) {
        const { uploadUrl, url } = await upserted(json);

        expect((await put(uploadUrl, 'hi', headers)).status).toBe(200);
        expect(await (await fetch(url)).text()).toBe('hi');
      }
    });

    it('makes nothing public that is not public_content', async () => {
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
    // Left out: mode `agent`, smartCleanup, summarization.enable and vision, which depend on a model server.
    it.each([
      [{}],
      [{ parsing: {} }],
      [{ parsing: { mode: 'standard' } }],
      [{ parsing: { minimumParagraphLength: 50 } }],
      [{ parsing: { minimumParagraphLength: 2000 } }],
      [{ parsing: { smartCleanup: false } }],
      [{ chunking: { maximumChunkLength: 100 } }],
      [{ chunking: { maximumChunkLength: 5000 } }],
      [{ chunking: { embeddedContextLevels: 0 } }],
      [{ chunking: { embeddedContextLevels: 3 } }],
      [{ chunking: { embedBreadcrumb: true } }],
      [{ chunking: { embedBreadcrumb: false } }],
      [{ summarization: { enable: false } }],
      [{ summarization: { modelType: 'inexpensive' } }],
      [{ summarization: { modelType: 'balanced' } }],
      [{ summarization: { modelType: 'accurate' } }],
      [{ summarization: { minimumInputLength: 1000 } }],
      [{ summarization: { minimumInputLength: 10_000 } }],
      [{ summarization: { outputTokenLimit: 1000 } }],
      [{ summarization: { outputTokenLimit: 10_000 } }],
      [{ summarization: { generateMasterSummary: false } }],
      [{ stack: 'legacy' }],
      [{ stack: 'realtime-v1' }],
    ])('takes %j and keeps it', async (configuration) => {
      const { id } = await upserted({ key: 'configured', size: 1, index: true, indexing: { configuration } });

      const [row] = await door.sql<{ indexing: unknown }>('SELECT indexing FROM files.file WHERE id = $1', [id]);
      expect(row!.indexing).toEqual(configuration);
    });

    it.each([
      [{ parsing: 1 }, /^indexing\.configuration\.parsing must be an object/],
      [{ parsing: { mode: 'fast' } }, /^indexing\.configuration\.parsing\.mode must be one of/],
      [{ parsing: { minimumParagraphLength: 49 } }, /minimumParagraphLength must not be less than 50/],
      [{ parsing: { minimumParagraphLength: 2001 } }, /minimumParagraphLength must not be greater than 2000/],
      [{ parsing: { minimumParagraphLength: 99.5 } }, /minimumParagraphLength must be an integer/],
      [{ parsing: { minimumParagraphLength: '99' } }, /minimumParagraphLength must/],
      [{ parsing: { smartCleanup: 'no' } }, /smartCleanup must be a boolean/],
      [{ chunking: [] }, /^indexing\.configuration\.chunking must be an object/],
      [{ chunking: { maximumChunkLength: 99 } }, /maximumChunkLength must not be less than 100/],
      [{ chunking: { maximumChunkLength: 5001 } }, /maximumChunkLength must not be greater than 5000/],
      [{ chunking: { maximumChunkLength: null } }, /maximumChunkLength must/],
      [{ chunking: { embeddedContextLevels: -1 } }, /embeddedContextLevels must not be less than 0/],
      [{ chunking: { embeddedContextLevels: 4 } }, /embeddedContextLevels must not be greater than 3/],
      [{ chunking: { embeddedContextLevels: 1.5 } }, /embeddedContextLevels must be an integer/],
      [{ chunking: { embedBreadcrumb: 1 } }, /embedBreadcrumb must be a boolean/],
      [{ summarization: 'x' }, /^indexing\.configuration\.summarization must be an object/],
      [{ summarization: { enable: 'x' } }, /summarization\.enable must be a boolean/],
      [{ summarization: { modelType: 'best' } }, /modelType must be one of/],
      [{ summarization: { minimumInputLength: 999 } }, /minimumInputLength must not be less than 1000/],
      [{ summarization: { minimumInputLength: 10_001 } }, /minimumInputLength must not be greater than 10000/],
      [{ summarization: { outputTokenLimit: 999 } }, /outputTokenLimit must not be less than 1000/],
      [{ summarization: { outputTokenLimit: 10_001 } }, /outputTokenLimit must not be greater than 10000/],
      [{ summarization: { generateMasterSummary: 'x' } }, /generateMasterSummary must be a boolean/],
      [{ stack: 'v1' }, /^indexing\.configuration\.stack must be one of/],
      [{ vision: 'x' }, /^indexing\.configuration\.vision must be an object/],
    ])('refuses %j by name', async (configuration, message) => {
      expect(await upsert({ key: 'configured', size: 1, indexing: { configuration } })).toEqual(
        refusal('InvalidPayload', message),
      );
    });

    it.each([
      [undefined, 'v1'],
      [{ stack: 'legacy' }, 'v1'],
      [{ stack: 'realtime-v1' }, 'v2'],
    ])('%j is shown as a stack once the file is indexed', async (configuration, indexingStack) => {
      const indexing = configuration && { configuration };

      const file = await upserted({ key: 'stacked', size: 1, index: true, indexing });

      expect(file.indexingStack).toBe(indexingStack);
    });
  });

  describe('by its headers', () => {
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
    ])('belongs to %s', async (_what, headers, expected) => {
      expect((await upserted(anyFile(), headers)).owner).toEqual(expected());
    });

    it('belongs to the user that somebody acts for, whatever role they say they have', async () => {
      const file = await upserted(anyFile(), { 'x-user-id': userId, 'x-user-role': 'manager' });

      expect(file.owner).toEqual({ type: 'user', id: userId });
    });

    it('has a key of its own for the bot and for each installation', async () => {
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

  /** A file with so many passages, of which the first is a title. */
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
    await until(
      () => succeed(`GET /v1/files/${file.id}/passages`),
      (answer) => answer.passages[0]?.content === 'passage 0',
    );
    return file.id;
  }

  it('answers every field in its type', async () => {
    const answer = await list('?limit=1');

    expect(Object.keys(answer).sort()).toEqual(['meta', 'passages']);
    expect(
      wrong(answer, {
        'meta.nextToken': 'string',
        passages: 'object[]',
        'passages.0.id': 'string',
        'passages.0.content': 'string',
        'passages.0.meta': 'object',
        'passages.0.meta.type': 'string',
        'passages.0.meta.subtype': 'string',
        'passages.0.meta.pageNumber': 'number',
        'passages.0.meta.position': 'number',
      }),
    ).toEqual([]);
    expect(answer.passages[0]).toMatchObject({
      content: 'passage 0',
      meta: { type: 'chunk', subtype: 'title', pageNumber: 1, position: 0 },
    });
  });

  it('gives 20 in the order of the document, and as many as are asked for up to 200', async () => {
    expect(positionsOf(await list())).toEqual(range(0, 20));
    expect(positionsOf(await list('?limit=1'))).toEqual([0]);
    expect(positionsOf(await list('?limit=200'))).toEqual(range(0, 200));
    expect(positionsOf(await list('?pageSize=7'))).toEqual(range(0, 7));
    expect(positionsOf(await list('?limit=3&pageSize=7'))).toEqual(range(0, 3));
  });

  it('goes on where the page before ended, to the last one, by id and by a key with slashes', async () => {
    const first = await list('?limit=200');
    const second = await list(`?limit=200&nextToken=${encodeURIComponent(first.meta.nextToken)}`, encoded);
    const smaller = await list(`?limit=10&nextToken=${encodeURIComponent(first.meta.nextToken)}`);

    expect([...positionsOf(first), ...positionsOf(second)]).toEqual(range(0, 230));
    expect(second.meta).toEqual({});
    expect(positionsOf(smaller)).toEqual(range(200, 210));
  });

  it.each([
    ['limit=0', /^limit must be an integer from 1 to 200/],
    ['limit=201', /^limit must be an integer from 1 to 200/],
    ['limit=-1', /^limit must be an integer/],
    ['limit=1.5', /^limit must be an integer/],
    ['limit=x', /^limit must be an integer/],
    ['limit=', /^limit must be an integer/],
    ['limit=1&limit=2', /^limit must be given once/],
    ['pageSize=201', /^pageSize must be an integer from 1 to 200/],
    ['nextToken=x', /^nextToken is not one of this list/],
    ['nextToken=', /^nextToken is not one of this list/],
    ['nextToken=W10', /^nextToken is not one of this list/],
    [`nextToken=${'x'.repeat(8001)}`, /^nextToken must be at most 8000 characters/],
  ])('refuses %s', async (query, message) => {
    expect(await send(`GET /v1/files/${id}/passages?${query}`)).toEqual(refusal('InvalidQuery', message));
  });

  it('refuses the token of another file, and of what the file held before', async () => {
    const other = await indexed('other', 30);
    const token = (await list('', other)).meta.nextToken;
    const replaced = async () => send(`GET /v1/files/${other}/passages?nextToken=${token}`);

    expect(await send(`GET /v1/files/${id}/passages?nextToken=${token}`)).toEqual(
      refusal('InvalidQuery', /^nextToken/),
    );
    expect((await replaced()).status).toBe(200);
    await succeed(`PUT /v1/files/${other}/passages`, { json: { passages: [{ content: 'new' }] } });
    await until(replaced, ({ status }) => status === 400);
    expect(await replaced()).toEqual(refusal('InvalidQuery', /^nextToken/));
  });

  it('gives nothing of a file that has no passages', async () => {
    const { id: plain } = await upserted({ key: 'without', size: 1 });

    expect(await list('', plain)).toEqual({ passages: [], meta: {} });
  });

  it.each(['none', 'file_none', encodeURIComponent('a/b'), '%F0%9F%8D%8E'])('finds no file %s', async (name) => {
    expect(await send(`GET /v1/files/${name}/passages`)).toEqual(
      refusal('ResourceNotFound', new RegExp(decodeURIComponent(name))),
    );
  });

  it('hides the file from another bot in the words of one that does not exist', async () => {
    const { bot } = await owner.client.createBot({});

    expect(await send(`GET /v1/files/${id}/passages`, { headers: { 'x-bot-id': bot.id } })).toEqual(
      refusal('ResourceNotFound', new RegExp(id)),
    );
  });

  describe('by its headers', () => {
    describeHeaders((headers) => send(`GET /v1/files/${id}/passages`, { headers }));

    it('hides what is not for integrations or for users', async () => {
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
