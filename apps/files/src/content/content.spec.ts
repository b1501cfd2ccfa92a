import { once } from 'node:events';
import fs from 'node:fs/promises';
import { mkdtemp, readdir, readlink, rm, stat } from 'node:fs/promises';
import { type ClientRequest, type IncomingMessage, request as httpRequest, type RequestOptions } from 'node:http';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { cleanupQueue, cleanupsOf } from '../store/cleanup-queue';
import type { FileRef } from '../store/file.entity';
import { Database } from '@parley/persistence/database';
import { SecretKeys } from '@parley/secrets/secret-keys';
import { BotFiles, put } from '@parley/testing/bot-files';
import { fakeClock, realClock } from '@parley/testing/fake-clock';
import { waitFor } from '@parley/testing/wait-for';
import { type RunningService, startService } from '@parley/testing/running-service';
import { WorkQueue } from '@parley/work-queue/work-queue.service';
import { FilesConfig } from '../config';
import { ContentUrlsService } from './content-urls.service';
import { FilesModule } from '../files.module';

const secretKey = 's'.repeat(32);
const slowUploads = 50;
/** A bot alone may use half of the slots. */
const maxUploads = 2 * slowUploads;

let service: RunningService;
let blobsDir: string;
let sql: Database;

beforeAll(async () => {
  blobsDir = await mkdtemp(join(tmpdir(), 'parley-content-'));
  service = await startService((databaseUrl, platform, contentUrl) =>
    FilesModule.register(
      Object.assign(new FilesConfig(), {
        databaseUrl,
        databasePoolSize: 5,
        blobsDir,
        contentUrl,
        secretKey,
        sweepIntervalMs: 100,
        contentMaxUploads: maxUploads,
      }),
      platform,
    ),
  );
  sql = service.apps[0]!.get(Database, { strict: false });
});
afterAll(async () => {
  await service?.stop();
  await rm(blobsDir, { recursive: true, force: true });
});

const newBot = () => new BotFiles(service);
const urls = () => new ContentUrlsService(service.url, new SecretKeys({ secretKey }));
const blobsOf = async (bot: BotFiles) => (await bot.leftovers()).blobs;
const errorOf = async (response: Response) => ({
  status: response.status,
  ...((await response.json()) as { type: string; message: string }),
});

function openPut(url: string, headers: RequestOptions['headers'] = {}): ClientRequest {
  const request = httpRequest(url, { method: 'PUT', headers, agent: false });
  request.on('error', () => undefined);
  request.flushHeaders();
  return request;
}

async function answerOf(request: ClientRequest): Promise<{ status: number; body: string }> {
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  return { status: response.statusCode!, body: await text(response) };
}

async function incomingBytes(): Promise<number> {
  const folder = join(blobsDir, 'incoming');
  const files = await Promise.all((await readdir(folder)).map((name) => stat(join(folder, name)).catch(() => null)));
  return files.reduce((sum, file) => sum + (file?.size ?? 0), 0);
}

async function halfway(bot: BotFiles, key: string, { size = 10, index }: { size?: number; index?: boolean } = {}) {
  const file = await bot.upsert({ key, size, index });
  const request = openPut(file.uploadUrl, { 'content-length': size });
  request.write('12345');
  await waitFor(incomingBytes, (bytes) => bytes === 5);
  return { file, request };
}

function uploadsUnderWay(fileId: string, wanted: number) {
  return waitFor(
    async () => (await sql.query('SELECT 1 FROM upload WHERE file_id = $1', [fileId])).length,
    (uploads) => uploads === wanted,
  );
}

describe('an upload', () => {
  it('stores an upload unchanged, readable once it is answered', async () => {
    const bot = newBot();
    const file = await bot.upsert({ key: 'a.txt', size: 5 });

    const response = await put(file.uploadUrl, 'hello', { 'content-type': 'text/plain' });

    expect(response.status).toBe(200);
    const stored = await bot.get(file.id);
    expect(stored).toMatchObject({ status: 'upload_completed', size: 5 });
    expect(stored.failedStatusReason).toBeUndefined();
    expect(await (await fetch(stored.url)).text()).toBe('hello');
  });

  it('refuses an upload with 503 when its bot has half of the slots, and accepts it once one has ended', async () => {
    const bot = newBot();
    const [file, other] = [await bot.upsert({ key: 'a.txt', size: 5 }), await bot.upsert({ key: 'b.txt', size: 5 })];
    const open = Array.from({ length: maxUploads / 2 }, () => openPut(file.uploadUrl, { 'content-length': 5 }));
    await uploadsUnderWay(file.id, maxUploads / 2);

    const refused = await put(other.uploadUrl, 'hello');
    await newBot().upload('of-another', 'hello');

    expect(refused.headers.get('retry-after')).toBe('1');
    expect(await errorOf(refused)).toMatchObject({
      status: 503,
      type: 'Internal',
      message: expect.stringContaining('was not processed') as string,
    });
    open[0]!.destroy();
    await waitFor(async () => (await put(other.uploadUrl, 'hello')).status === 200);
    open.forEach((request) => request.destroy());
    await uploadsUnderWay(file.id, 0);
  });

  it('refuses an upload with 503 while the disk is full, and still serves stored content', async () => {
    const bot = newBot();
    const there = await bot.get((await bot.upload('there.txt', 'there')).id);
    const file = await bot.upsert({ key: 'a.txt', size: 5 });
    const open = fs.open;
    const full = jest
      .spyOn(fs, 'open')
      .mockImplementation((path, ...rest) =>
        String(path).includes('/incoming/') ? open('/dev/full', 'w') : open(path, ...rest),
      );

    const refused = await put(file.uploadUrl, 'hello');
    const [read, ready] = [await fetch(there.url), await fetch(`${service.url}/readyz`)];
    full.mockRestore();

    expect(refused.headers.get('retry-after')).toBe('30');
    expect(await errorOf(refused)).toMatchObject({
      status: 503,
      type: 'Internal',
      message: 'The content store does not accept writes at present; nothing was stored. Try again later.',
    });
    expect([await read.text(), ready.status]).toEqual(['there', 200]);
    const measured = await (await fetch(`${service.url}/metrics`)).text();
    expect(measured).toMatch(/^parley_writes_refused_total\{store="content store"\} 1$/m);
    expect(measured).toMatch(/^parley_writes_refused_total\{store="database"\} 0$/m);
    expect((await put(file.uploadUrl, 'hello')).status).toBe(200);
  });

  it('counts an upload in metrics, with a request id like any other request', async () => {
    const file = await newBot().upsert({ key: 'a.txt', size: 5 });

    const { headers } = await put(file.uploadUrl, 'hello', { 'x-request-id': 'upload-1' });

    const measured = await (await fetch(`${service.url}/metrics`)).text();
    expect(headers.get('x-request-id')).toBe('upload-1');
    expect(measured).toMatch(/parley_http_request_seconds_count\{route="PUT \/content\/:fileId",status="200"\} \d/);
  });

  it('accepts an upload without a length and without a content type', async () => {
    const bot = newBot();
    const file = await bot.upsert({ key: 'a.txt', size: 10 });
    const request = openPut(file.uploadUrl);
    request.write('hello');
    request.end('there');

    expect((await answerOf(request)).status).toBe(200);
    expect(await (await fetch((await bot.get('a.txt')).url)).text()).toBe('hellothere');
  });

  it.each(['with', 'without'])('accepts an empty upload %s a content-length', async (length) => {
    const bot = newBot();
    const file = await bot.upsert({ key: 'empty', size: 0 });
    const request = openPut(file.uploadUrl, length === 'with' ? { 'content-length': 0 } : {});
    request.end();

    expect((await answerOf(request)).status).toBe(200);
    const stored = await bot.get('empty');
    expect(stored).toMatchObject({ status: 'upload_completed', size: 0 });
    const got = await fetch(stored.url);
    expect([got.status, got.headers.get('content-length'), await got.text()]).toEqual([200, '0', '']);
  });

  it.each([
    ['shorter, and says so', 4, { 'content-length': 4 }, /carries 4 bytes.*declared as 5/],
    ['shorter, in chunks', 4, {}, /only 4 bytes.*declared as 5/],
    ['longer, and says so', 6, { 'content-length': 6 }, /carries 6 bytes.*declared as 5/],
    ['longer, in chunks', 6, {}, /more than 5 bytes.*declared as 5/],
    ['much longer, and says so', 3_000_000, { 'content-length': 3_000_000 }, /declared as 5/],
    ['much longer, in chunks', 3_000_000, {}, /more than 5 bytes/],
    ['empty', 0, { 'content-length': 0 }, /carries 0 bytes/],
  ])(
    'refuses an upload that is %s than declared with a reason, and stores nothing',
    async (_name, size, headers, reason) => {
      const bot = newBot();
      const file = await bot.upsert({ key: 'a', size: 5 });
      const request = openPut(file.uploadUrl, headers);
      request.end(Buffer.alloc(size));

      const { status, body } = await answerOf(request);

      expect([status, JSON.parse(body)]).toEqual([
        400,
        expect.objectContaining({ type: 'InvalidPayload', message: expect.stringMatching(reason) }),
      ]);
      expect(await bot.get('a')).toMatchObject({
        status: 'upload_pending',
        size: null,
        failedStatusReason: expect.stringMatching(reason),
      });
      expect(await blobsOf(bot)).toBe(0);
      expect((await put(file.uploadUrl, 'right')).status).toBe(200);
      expect((await bot.get('a')).failedStatusReason).toBeUndefined();
    },
  );

  it('cuts off an upload that never ends after it was refused', async () => {
    const bot = newBot();
    const file = await bot.upsert({ key: 'a', size: 5 });
    const request = openPut(file.uploadUrl, { connection: 'keep-alive' });
    // Not `once` of node:events, which rejects when the cut shows as a reset: that counts as a cut as well.
    const closed = new Promise<void>((resolve) => request.once('close', () => resolve()));
    fakeClock('setTimeout', 'clearTimeout');
    request.write('too many bytes');

    expect((await answerOf(request)).status).toBe(400);
    const feeding = setInterval(() => {
      request.write('more');
      jest.advanceTimersByTime(1_000);
    }, 50);
    await closed;
    clearInterval(feeding);
    realClock();

    expect(request.destroyed).toBe(true);
  });

  it('refuses an upload with a wrong content type before its first byte', async () => {
    const bot = newBot();
    const file = await bot.upsert({ key: 'a.txt', size: 1 });

    const error = await errorOf(await put(file.uploadUrl, 'x', { 'content-type': 'text/html' }));

    expect(error).toMatchObject({
      status: 400,
      type: 'InvalidPayload',
      message: 'content-type must be text/plain, as declared.',
    });
    expect((await bot.get(file.id)).status).toBe('upload_pending');
  });

  it('requires the tagging header when immediate public access was requested', async () => {
    const bot = newBot();
    const file = await bot.upsert({ key: 'a', size: 1, publicContentImmediatelyAccessible: true });

    const without = await errorOf(await put(file.uploadUrl, 'x'));
    const wrong = await errorOf(await put(file.uploadUrl, 'x', { 'x-amz-tagging': 'public=false' }));

    expect(without).toMatchObject({
      status: 400,
      message: expect.stringContaining('x-amz-tagging must be public=true'),
    });
    expect(wrong).toMatchObject({ status: 400, type: 'InvalidPayload' });
    expect((await put(file.uploadUrl, 'x', { 'x-amz-tagging': 'public=true' })).status).toBe(200);
  });

  it('leaves a reason, no blob, and a URL that still works for an upload that is cut in the middle', async () => {
    const bot = newBot();
    const { file, request } = await halfway(bot, 'a');

    request.destroy();

    const cut = await waitFor(
      () => bot.get(file.id),
      ({ failedStatusReason }) => failedStatusReason !== undefined,
    );
    expect(cut).toMatchObject({
      status: 'upload_pending',
      size: null,
      failedStatusReason: expect.stringMatching(/cut after 5 of 10 bytes/),
    });
    expect(await blobsOf(bot)).toBe(0);
    expect(await readdir(join(blobsDir, 'incoming'))).toEqual([]);
    expect((await put(file.uploadUrl, '1234567890')).status).toBe(200);
    expect(await bot.get(file.id)).toMatchObject({ status: 'upload_completed', size: 10 });
  });

  describe('that takes minutes', () => {
    const minuteMs = 60_000;

    beforeEach(() => {
      fakeClock('setInterval', 'clearInterval');
    });
    afterEach(realClock);

    it('waits for an upload that takes minutes while it makes progress', async () => {
      const { file, request } = await halfway(newBot(), 'a');
      const answered = answerOf(request);
      await sql.query(`UPDATE upload SET touched_at = now() - interval '9 minutes' WHERE file_id = $1`, [file.id]);

      jest.advanceTimersByTime(minuteMs);
      await waitFor(
        () =>
          sql.query(`SELECT 1 FROM upload WHERE file_id = $1 AND touched_at > now() - interval '1 minute'`, [file.id]),
        (rows) => rows.length === 1,
      );
      request.end('67890');

      expect((await answered).status).toBe(200);
    });

    it('refuses an upload in the middle when its file is declared again meanwhile', async () => {
      const bot = newBot();
      const { request } = await halfway(bot, 'a', { size: 100_000 });
      await bot.upsert({ key: 'a', size: 10 });

      jest.advanceTimersByTime(minuteMs);
      let isAnswered = false;
      const answering = answerOf(request).finally(() => (isAnswered = true));
      await waitFor(() => isAnswered || (request.write('6'), false));
      const { status, body } = await answering;
      request.destroy();

      expect(status).toBe(403);
      expect(body).toContain('declared again');
    });
  });

  it('keeps the previous content when an upload is cut', async () => {
    const bot = newBot();
    const file = await bot.upload('a', '0123456789');
    const request = openPut(file.uploadUrl, { 'content-length': 10 });
    request.write('new');
    await uploadsUnderWay(file.id, 1);

    request.destroy();
    await uploadsUnderWay(file.id, 0);

    const stored = await bot.get('a');
    expect(stored).toMatchObject({ status: 'upload_completed' });
    expect(stored.failedStatusReason).toBeUndefined();
    expect(await (await fetch(stored.url)).text()).toBe('0123456789');
    expect(await blobsOf(bot)).toBe(1);
  });

  it.each([
    ['declared anew', (bot: BotFiles) => bot.upsert({ key: 'a', size: 3 })],
    ['deleted', (bot: BotFiles) => bot.delete('a')],
  ])('forbids an upload of a file that is %s meanwhile, and stores nothing', async (_name, change) => {
    const bot = newBot();
    const { request } = await halfway(bot, 'a');

    await change(bot);
    request.end('67890');

    const { status, body } = await answerOf(request);
    expect([status, JSON.parse(body)]).toEqual([
      403,
      expect.objectContaining({ type: 'Forbidden', message: expect.stringMatching(/deleted or declared again/) }),
    ]);
    expect((await bot.list()).files.filter(({ size }) => size !== null)).toEqual([]);
    await waitFor(
      () => blobsOf(bot),
      (blobs) => blobs === 0,
    );
  });

  it('replaces the content when an upload is sent a second time to the same URL', async () => {
    const bot = newBot();
    const file = await bot.upload('a', 'first');
    const { url: firstUrl } = await bot.get('a');

    expect((await put(file.uploadUrl, 'other')).status).toBe(200);

    expect((await fetch(firstUrl)).status).toBe(404);
    expect(await (await fetch((await bot.get('a')).url)).text()).toBe('other');
    await waitFor(
      () => blobsOf(bot),
      (blobs) => blobs === 1,
    );
  });

  it('stores or drops each upload as a whole when several are sent to one URL at once', async () => {
    const bot = newBot();
    const file = await bot.upsert({ key: 'a', size: 100_000 });
    const contents = Array.from({ length: 10 }, (_, n) => Buffer.alloc(100_000, n + 65));

    const answers = await Promise.all(contents.map(async (content) => (await put(file.uploadUrl, content)).status));

    expect(answers).toEqual(Array(10).fill(200));
    const { url } = await bot.get('a');
    const stored = await (await fetch(url)).text();
    expect(stored).toBe(stored[0]!.repeat(100_000));
    await waitFor(
      () => blobsOf(bot),
      (blobs) => blobs === 1,
    );
    expect(await (await fetch(url)).text()).toBe(stored);
  });

  it('loses no upload to the sweeper that cleans up its file at the same time', async () => {
    const bot = newBot();
    const lost: string[] = [];
    let running = true;
    const work = service.apps[0]!.get(WorkQueue, { strict: false });
    const cleaning = (async () => {
      while (running) {
        const stored = await sql.query<FileRef>(
          'SELECT bot_id AS "botId", id AS "fileId" FROM file WHERE bot_id = $1',
          [bot.id],
        );
        await work.addNow(cleanupQueue, cleanupsOf(...stored));
      }
    })();

    const writers = Array.from({ length: 6 }, async (_, n) => {
      for (let round = 0; round < 15; round += 1) {
        const file = await bot.upload(`f${n}`, `content ${n} ${round}`);
        const { url } = await bot.get(file.id);
        const got = await (await fetch(url)).text();
        if (got !== `content ${n} ${round}`) lost.push(got);
      }
    });
    await Promise.all(writers);
    running = false;
    await cleaning;

    expect(lost).toEqual([]);
    await waitFor(
      () => blobsOf(bot),
      (blobs) => blobs === 6,
    );
  });

  it(`delays nobody when ${slowUploads} uploads are slow`, async () => {
    const bot = newBot();
    const declared = await Promise.all(
      Array.from({ length: slowUploads }, (_, n) => bot.upsert({ key: `slow${n}`, size: 4 })),
    );
    const requests = declared.map(({ uploadUrl }) => openPut(uploadUrl, { 'content-length': 4 }));
    const answers = requests.map(answerOf);
    for (const request of requests) request.write('ab');
    await waitFor(
      async () => (await sql.query('SELECT 1 FROM upload WHERE bot_id = $1', [bot.id])).length,
      (uploads) => uploads === slowUploads,
    );

    // A request that waited for the slow uploads would wait forever.
    for (let n = 0; n < 10; n += 1) await newBot().upload('quick', 'x'.repeat(10_000));
    for (const request of requests) request.end('cd');

    expect((await Promise.all(answers)).map(({ status }) => status)).toEqual(Array(slowUploads).fill(200));
    expect(await blobsOf(bot)).toBe(slowUploads);
  });

  it('does not hold an upload of 200 MB in memory', async () => {
    const bot = newBot();
    const [chunk, chunks] = [Buffer.alloc(1_000_000, 'x'), 200];
    const file = await bot.upsert({ key: 'large.bin', size: chunk.length * chunks });
    global.gc?.();
    const before = process.memoryUsage().rss;
    let peak = before;
    const watching = setInterval(() => (peak = Math.max(peak, process.memoryUsage().rss)), 10);
    const request = openPut(file.uploadUrl, { 'content-length': chunk.length * chunks });
    const answered = answerOf(request);
    Readable.from(Array<Buffer>(chunks).fill(chunk)).pipe(request);

    const { status } = await answered;
    clearInterval(watching);

    expect(status).toBe(200);
    expect((await bot.get(file.id)).size).toBe(200_000_000);
    expect((peak - before) / 1_000_000).toBeLessThan(120);
    await bot.delete(file.id);
  });
});

describe('a signed URL', () => {
  it.each(['PUT', 'GET'])('forbids %s with any parameter of a signed URL altered or missing', async (method) => {
    const bot = newBot();
    const file = await bot.upload('a', 'x');
    const other = await bot.upload('b', 'y');
    const { url: downloadUrl } = await bot.get(file.id);
    const original = new URL(method === 'PUT' ? file.uploadUrl : downloadUrl);
    const altered: [string, URL][] = [];
    for (const name of original.searchParams.keys()) {
      const value = original.searchParams.get(name)!;
      const end = value.at(-1) === '0' ? '1' : '0';
      for (const [how, replacement] of Object.entries({
        altered: value.slice(0, -1) + end,
        longer: `${value}0`,
        empty: '',
        none: null,
      })) {
        const url = new URL(original);
        if (replacement === null) url.searchParams.delete(name);
        else url.searchParams.set(name, replacement);
        altered.push([`${name} ${how}`, url]);
      }
      const twice = new URL(original);
      twice.searchParams.append(name, value);
      altered.push([`${name} twice`, twice]);
    }
    const ofOther = new URL(original);
    ofOther.pathname = `/content/${other.id}`;
    altered.push(['another file', ofOther]);

    const answers = await Promise.all(
      altered.map(async ([name, url]) => {
        const response = await fetch(url, method === 'PUT' ? { method, body: 'x' } : {});
        return [name, response.status, ((await response.json()) as { type: string }).type];
      }),
    );

    expect(answers).toEqual(altered.map(([name]) => [name, 403, 'Forbidden']));
    expect(altered.length).toBeGreaterThanOrEqual(16);
  });

  it.each(['GET', 'HEAD', 'PUT'])('forbids %s with an invalid id in a signed URL', async (method) => {
    const ids = [
      '%00',
      'file_%00',
      '%00?signature=x',
      'x'.repeat(2_000),
      '__proto__',
      '%0d%0a',
      '%2e%2e%2f',
      '%E2%80%A8',
    ];

    const statuses = await Promise.all(
      ids.map(async (id) => (await fetch(`${service.url}/content/${id}`, { method })).status),
    );

    expect(statuses).toEqual(ids.map(() => 403));
  });

  it('accepts a signed URL only for its own method', async () => {
    const bot = newBot();
    const file = await bot.upload('a', 'x');
    const { url } = await bot.get('a');

    expect((await put(url, 'x')).status).toBe(403);
    expect((await fetch(file.uploadUrl)).status).toBe(403);
    expect((await fetch(url, { method: 'DELETE' })).status).toBe(404);
  });

  it('forbids a signed URL once it has expired', async () => {
    const bot = newBot();
    const { id } = await bot.upsert({ key: 'a', size: 1 });
    const [{ upload_id: uploadId }] = (await sql.query<{ upload_id: string }>(
      'SELECT upload_id FROM file WHERE id = $1',
      [id],
    )) as [{ upload_id: string }];
    const grant = { fileId: id, uploadId, size: 1, contentType: 'application/octet-stream', tagged: false };
    const [late, inTime] = [new Date(Date.now() - 1_000), new Date(Date.now() + 60_000)].map((expiry) =>
      urls().upload(grant, expiry),
    );

    const error = await errorOf(await put(late!, 'x'));

    expect(error).toMatchObject({ status: 403, type: 'Forbidden', message: expect.stringContaining('expired') });
    expect((await bot.get(id)).status).toBe('upload_pending');
    expect((await put(inTime!, 'x')).status).toBe(200);
    const { url } = await bot.get(id);
    const blobVersion = new URL(url).searchParams.get('version')!;
    const lateDownload = urls().download(id, blobVersion, Date.now() - 15 * 60_000 - 1_000);
    expect(await errorOf(await fetch(lateDownload))).toMatchObject({
      status: 403,
      message: expect.stringContaining('expired'),
    });
  });

  it('forbids a URL that was signed with another key', async () => {
    const bot = newBot();
    const file = await bot.upload('a', 'x');
    const blobVersion = new URL((await bot.get('a')).url).searchParams.get('version')!;

    const forged = new ContentUrlsService(service.url, new SecretKeys({ secretKey: 't'.repeat(32) })).download(
      file.id,
      blobVersion,
    );

    expect((await fetch(forged)).status).toBe(403);
  });
});

describe('a download', () => {
  const content = Buffer.from(Array.from({ length: 1000 }, (_, n) => n % 251));

  async function stored(key = 'a.bin', bytes: Uint8Array = content) {
    const bot = newBot();
    const file = await bot.upload(key, bytes);
    const { url } = await bot.get(file.id);
    const get = (headers: Record<string, string> = {}, method = 'GET') => fetch(url, { headers, method });
    const etag = (await get({}, 'HEAD')).headers.get('etag')!;
    return { bot, file, url, get, etag };
  }
  const bytesOf = async (response: Response) => Buffer.from(await response.arrayBuffer());

  it('serves the whole content with its type, length and version', async () => {
    const { get, etag } = await stored();

    const response = await get();

    expect(response.status).toBe(200);
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'content-type': 'application/octet-stream',
      'content-length': '1000',
      'accept-ranges': 'bytes',
      etag,
    });
    expect((await bytesOf(response)).equals(content)).toBe(true);
  });

  it.each([
    ['bytes=0-0', 0, 0],
    ['bytes=0-99', 0, 99],
    ['bytes=500-', 500, 999],
    ['bytes=999-999', 999, 999],
    ['bytes=990-5000', 990, 999],
    ['bytes=-1', 999, 999],
    ['bytes=-100', 900, 999],
    ['bytes=-5000', 0, 999],
  ])('serves the range %s', async (range, start, end) => {
    const { get } = await stored();

    const response = await get({ range });

    expect([response.status, response.headers.get('content-range')]).toEqual([206, `bytes ${start}-${end}/1000`]);
    expect(response.headers.get('content-length')).toBe(String(end - start + 1));
    expect((await bytesOf(response)).equals(content.subarray(start, end + 1))).toBe(true);
  });

  it.each(['bytes=1000-', 'bytes=5000-6000', 'bytes=-0'])(
    'returns 416 for the unsatisfiable range %s',
    async (range) => {
      const { get } = await stored();

      const response = await get({ range });

      expect([response.status, response.headers.get('content-range')]).toEqual([416, 'bytes */1000']);
    },
  );

  it.each(['bytes=0-0,5-9', 'bytes=9-5', 'bytes=abc', 'bytes=-', 'lines=0-5', 'bytes=1.5-3'])(
    'serves the whole content to a request with %s',
    async (range) => {
      const { get } = await stored();

      const response = await get({ range });

      expect([response.status, response.headers.get('content-range')]).toEqual([200, null]);
      expect((await bytesOf(response)).equals(content)).toBe(true);
    },
  );

  it('returns 304 to a client that has this version of a content', async () => {
    const { get, etag } = await stored();

    const statuses = await Promise.all(
      [etag, `W/${etag}`, `"other", ${etag}`, '*', '"other"', etag.slice(1, -1)].map(
        async (known) => (await get({ 'if-none-match': known })).status,
      ),
    );

    expect(statuses).toEqual([304, 304, 304, 304, 200, 200]);
  });

  it('serves a range only of the version in If-Range', async () => {
    const { get, etag } = await stored();

    expect((await get({ range: 'bytes=0-9', 'if-range': etag })).status).toBe(206);
    expect((await get({ range: 'bytes=0-9', 'if-range': '"other"' })).status).toBe(200);
    expect((await get({ range: 'bytes=0-9', 'if-range': `W/${etag}` })).status).toBe(200);
  });

  it('answers HEAD of a content without a body', async () => {
    const { get } = await stored();

    const [head, ranged] = await Promise.all([get({}, 'HEAD'), get({ range: 'bytes=0-9' }, 'HEAD')]);

    expect([head.status, head.headers.get('content-length'), await head.text()]).toEqual([200, '1000', '']);
    expect([ranged.status, ranged.headers.get('content-length')]).toEqual([200, '1000']);
  });

  it('lets no browser run what somebody uploaded', async () => {
    const types = {
      'page.html': 'attachment',
      'image.svg': 'attachment',
      'code.js': 'attachment',
      'photo.png': 'inline',
      'note.txt': 'inline',
    };

    for (const [key, disposition] of Object.entries(types)) {
      const { get } = await stored(`deep/it's (${key}`, Buffer.from('<script>alert(1)</script>'));
      expect(Object.fromEntries((await get()).headers)).toMatchObject({
        'content-disposition': `${disposition}; filename*=UTF-8''it%27s%20%28${key}`,
        'content-security-policy': "sandbox; default-src 'none'",
        'x-content-type-options': 'nosniff',
      });
    }
  });

  it.each(['image/SVG+xml', 'Image/Svg+xml', 'IMAGE/svg+XML', 'Text/HTML'])(
    'lets no browser run %s',
    async (contentType) => {
      const bot = newBot();
      const { id } = await bot.upload('a', '<svg/>', { contentType });

      const response = await fetch((await bot.get(id)).url);

      expect(response.headers.get('content-disposition')).toMatch(/^attachment/);
    },
  );

  it.each([
    ['1 day', 60],
    ['40 seconds', 40],
  ])('limits caching of a public file that expires in %s to its remaining time', async (left, mostSeconds) => {
    const bot = newBot();
    const { id } = await bot.upload('a', 'x', { accessPolicies: ['public_content'] });
    await sql.query('UPDATE file SET expires_at = now() + $2::interval WHERE id = $1', [id, left]);

    const caching = (await fetch((await bot.get(id)).url)).headers.get('cache-control');

    const [, seconds] = /^public, max-age=(\d+)$/.exec(caching ?? '') ?? [];
    expect(Number(seconds)).toBeLessThanOrEqual(mostSeconds);
  });

  it('returns 404 at once for deleted, replaced and expired content', async () => {
    const [deleted, replaced, again, expired] = await Promise.all([stored(), stored(), stored(), stored()]);

    await deleted.bot.delete(deleted.file.id);
    await replaced.bot.upsert({ key: 'a.bin', size: 1000 });
    await put(again.file.uploadUrl, content);
    await sql.query("UPDATE file SET expires_at = now() - interval '1 second' WHERE id = $1", [expired.file.id]);

    for (const { get } of [deleted, replaced, again, expired]) {
      expect(await errorOf(await get())).toMatchObject({ status: 404, type: 'ResourceNotFound' });
      expect((await get({ range: 'bytes=0-1' })).status).toBe(404);
    }
  });

  it('serves only content of its own upload for a file that was just declared', async () => {
    const bot = newBot();
    await bot.upload('a', 'former');

    const file = await bot.upsert({ key: 'a', size: 4 });
    expect(await errorOf(await fetch(file.url))).toMatchObject({ status: 404, type: 'ResourceNotFound' });
    await put(file.uploadUrl, 'here');
    expect(await (await fetch(file.url)).text()).toBe('here');
    await bot.upload('a', 'next');
    expect((await fetch(file.url)).status).toBe(404);
  });

  it('leaves nothing open when the client of a download disconnects in the middle', async () => {
    const { url } = await stored('large.bin', Buffer.alloc(20_000_000, 'x'));
    const { hostname, port, pathname, search } = new URL(url);
    const openBlobs = async () => {
      const links = await Promise.all(
        (await readdir('/proc/self/fd')).map((fd) => readlink(`/proc/self/fd/${fd}`).catch(() => '')),
      );
      return links.filter((link) => link.startsWith(blobsDir)).length;
    };

    const sockets = await Promise.all(
      Array.from({ length: 20 }, async () => {
        const socket = connect(Number(port), hostname);
        socket.write(`GET ${pathname}${search} HTTP/1.1\r\nhost: x\r\n\r\n`);
        await once(socket, 'readable');
        return socket;
      }),
    );
    expect(await openBlobs()).toBe(20);
    sockets.forEach((socket) => socket.destroy());

    await waitFor(openBlobs, (open) => open === 0);
    expect((await fetch(url, { headers: { range: 'bytes=0-9' } })).status).toBe(206);
  });

  it('accepts downloads and uploads over one connection any number of times', async () => {
    const warnings: Error[] = [];
    const onWarning = (warning: Error) => warnings.push(warning);
    process.on('warning', onWarning);
    const bot = newBot();

    for (let n = 0; n < 15; n += 1) {
      const file = await bot.upload('a', `content ${n}`);
      expect(await (await fetch((await bot.get(file.id)).url)).text()).toBe(`content ${n}`);
    }
    process.off('warning', onWarning);

    expect(warnings).toEqual([]);
  });
});
