import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { request as httpRequest } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Caller } from '@parley/contracts/caller';
import { files as operations } from '@parley/contracts/files';
import type { FailedFile, StuckFile } from '@parley/contracts/indexing-work';
import { Database } from '@parley/persistence/database';
import { BotFiles, put } from '@parley/testing/bot-files';
import { type EmbeddingResponse, EmbeddingServer } from '@parley/testing/embedding-server';
import { metricValue } from '@parley/testing/metric-value';
import { type RunningService, startService } from '@parley/testing/running-service';
import { waitFor } from '@parley/testing/wait-for';
import { FilesWorkerConfig } from '../../../files-worker/src/config';
import { FilesWorkerModule } from '../../../files-worker/src/files-worker.module';
import { FilesConfig } from '../config';
import { FilesModule } from '../files.module';

let service: RunningService;
let embeddings: EmbeddingServer;
let blobsDir: string;
let sql: Database;

beforeAll(async () => {
  blobsDir = await mkdtemp(join(tmpdir(), 'parley-visible-'));
  embeddings = await EmbeddingServer.start();
  const shared = { databasePoolSize: 5, blobsDir, embeddingsUrl: embeddings.url, embeddingsTimeoutMs: 20_000 };
  const ofFiles = { ...shared, secretKey: 's'.repeat(32), sweepIntervalMs: 50 };
  const ofWorker = { ...shared, indexingAttempts: 3, heartbeatMs: 50 };
  service = await startService(
    (databaseUrl, platform, contentUrl) =>
      FilesModule.register(Object.assign(new FilesConfig(), ofFiles, { databaseUrl, contentUrl }), platform),
    (databaseUrl, platform) =>
      FilesWorkerModule.register(Object.assign(new FilesWorkerConfig(), ofWorker, { databaseUrl }), platform),
  );
  sql = service.apps[0]!.get(Database, { strict: false });
});
afterAll(async () => {
  service?.apps[0]?.getHttpServer()?.closeAllConnections();
  await service?.stop();
  await embeddings?.stop();
  await rm(blobsDir, { recursive: true, force: true });
});

const operator: Caller = { requestId: 'test', credential: 'operator' };
const index = { index: true };
const newBot = () => new BotFiles(service);
const newMarker = () => `marker${randomBytes(6).toString('hex')}`;
/** Text of several passages: the worker embeds 32 per batch. */
const paragraphs = (count: number, word: string) =>
  Array.from({ length: count }, (_, n) => `${word} ${n}. ${'Some words that fill it up. '.repeat(30)}`).join('\n\n');
const contents = async (bot: BotFiles, id: string) => (await bot.passages(id)).map(({ content }) => content);
const search = async (bot: BotFiles, query: string) =>
  (await bot.ask(operations.search, { query, limit: 50 })).passages.map(({ content }) => content);
const tidied = (id: string) =>
  waitFor(
    () => sql.query('SELECT 1 FROM work WHERE key = $1', [id]),
    ({ length }) => length === 0,
  );
const retry = (...fileIds: string[]) => service.call(operations.indexing.retry, operator, { fileIds });
const refuses = { status: 400, message: 'this text is not for me' };

async function listStuck(olderThanMinutes?: number): Promise<StuckFile[]> {
  const found: StuckFile[] = [];
  let nextToken: string | undefined;
  do {
    const page = await service.call(operations.indexing.listStuck, operator, { olderThanMinutes, nextToken, limit: 1 });
    found.push(...page.files);
    nextToken = page.meta.nextToken;
  } while (nextToken !== undefined);
  return found;
}

async function listFailed(botId?: string): Promise<FailedFile[]> {
  const found: FailedFile[] = [];
  let nextToken: string | undefined;
  do {
    const page = await service.call(operations.indexing.listFailed, operator, { botId, nextToken, limit: 1 });
    found.push(...page.files);
    nextToken = page.meta.nextToken;
  } while (nextToken !== undefined);
  return found;
}

async function failing(bot: BotFiles, key: string, marker = newMarker()) {
  embeddings.order(marker, refuses);
  const file = await bot.upload(key, `It says ${marker}.`, index);
  await waitFor(
    () => bot.get(file.id),
    ({ status }) => status === 'indexing_failed',
  );
  return { file, accept: () => embeddings.order(marker, 'well') };
}

describe('a file that is being indexed', () => {
  it('shows progress of a file that is being indexed, until the indexing has ended', async () => {
    const bot = newBot();
    const [first, last] = [newMarker(), newMarker()];
    const heldAtFirst = embeddings.hold(first);
    const heldAtLast = embeddings.hold(last);
    const text = [first, paragraphs(60, 'a'), last, paragraphs(60, 'b')].join('\n\n');
    const { id } = await bot.upload('a.html', text.replaceAll(/(.+)\n*/g, '<p>$1</p>'), index);

    await heldAtFirst.reached;
    const atFirst = await bot.get(id);
    heldAtFirst.release();
    await heldAtLast.reached;
    const percentages: number[] = [];
    const atLast = await waitFor(
      async () => {
        const [file] = (await bot.list()).files;
        percentages.push(file!.indexing!.percentage);
        return file!;
      },
      ({ indexing }) => indexing?.stage === 'embedding' && indexing.percentage > 0,
    );
    heldAtLast.release();
    const settled = await bot.settled(id);

    expect(atFirst).toMatchObject({
      status: 'indexing_pending',
      indexing: { stage: 'parsed', percentage: 0, attempts: 1 },
    });
    expect(atLast.indexing).toEqual({
      stage: 'embedding',
      percentage: expect.any(Number),
      secondsLeft: expect.any(Number),
      attempts: 1,
    });
    expect(percentages).toEqual(percentages.toSorted((a, b) => a - b));
    expect(atLast.indexing!.percentage).toBeLessThan(100);
    expect(settled.status).toBe('indexing_completed');
    expect(settled.indexing).toBeUndefined();
  });

  it('shows its place in line while it waits behind other files of its bot', async () => {
    const bot = newBot();
    const markers = Array.from({ length: 6 }, newMarker);
    const held = markers.map((marker) => embeddings.hold(marker));
    const uploaded: { id: string }[] = [];
    for (const [n, marker] of markers.entries()) uploaded.push(await bot.upload(`${n}.txt`, marker, index));

    const waiting = await waitFor(
      async () => {
        const all = await Promise.all(uploaded.map(({ id }) => bot.get(id)));
        return all.filter(({ indexing }) => indexing?.stage === 'announced');
      },
      (files) => files.length > 0 && files.length < uploaded.length,
    );
    held.forEach(({ release }) => release());
    for (const { id } of uploaded) await bot.settled(id);

    expect(waiting.map(({ indexing }) => indexing!.placeInLine)).toEqual(waiting.map((_, place) => place + 1));
    expect(waiting.every(({ indexing }) => indexing!.secondsLeft === undefined)).toBe(true);
  });

  it('shows why the previous attempt of a file failed, until it succeeds', async () => {
    const bot = newBot();
    const marker = newMarker();
    embeddings.order(marker, { status: 500, message: 'out of order' });
    const { id } = await bot.upload('a.txt', marker, index);

    const { indexing } = await waitFor(
      () => bot.get(id),
      (file) => file.indexing?.lastError !== undefined,
    );
    embeddings.order(marker, 'well');

    expect(indexing!.lastError).toMatch(/embedding/i);
    expect(await bot.settled(id, 30_000)).not.toHaveProperty('indexing', expect.anything());
  });
});

describe('the list of stuck files', () => {
  it('lists as stuck only files that wait for long or were retried, oldest first', async () => {
    const bot = newBot();
    const marker = newMarker();
    const held = embeddings.hold(marker);
    const [fresh, old] = [await bot.upload('fresh', marker, index), await bot.upload('old', marker, index)];
    const [older, done] = [await bot.upload('older', marker, index), await bot.upload('done', 'x')];
    const makeOlder = (id: string, minutes: number) =>
      sql.query('UPDATE indexing_job SET created_at = now() - make_interval(mins => $2) WHERE file_id = $1', [
        id,
        minutes,
      ]);
    await makeOlder(old.id, 30);
    await makeOlder(older.id, 60);
    await held.reached;
    const stuck = async (minutes?: number) =>
      (await listStuck(minutes)).filter(({ botId }) => botId === bot.id).map(({ fileId }) => fileId);

    const [byDefault, afterAnHour, atOnce] = [await stuck(), await stuck(59), await stuck(0)];
    await sql.query("UPDATE indexing_job SET last_error = 'broken' WHERE file_id = $1", [fresh.id]);
    const withError = (await listStuck()).find(({ fileId }) => fileId === fresh.id);
    held.release();
    for (const { id } of [fresh, old, older]) await bot.settled(id);

    expect(byDefault).toEqual([older.id, old.id]);
    expect(afterAnHour).toEqual([older.id]);
    expect(atOnce).toEqual([older.id, old.id, fresh.id]);
    expect(atOnce).not.toContain(done.id);
    expect(withError).toMatchObject({
      botId: bot.id,
      key: 'fresh',
      lastError: 'broken',
      ageSeconds: expect.any(Number),
    });
    expect(await stuck(0)).toEqual([]);
  });

  it('rejects the page token of another list of stuck files', async () => {
    await expect(service.call(operations.indexing.listStuck, operator, { nextToken: 'x' })).rejects.toMatchObject({
      type: 'InvalidQuery',
    });
  });
});

describe('the list of failed files', () => {
  it('lists each failed file with its reason, newest first, of all bots or of one', async () => {
    const [bot, other] = [newBot(), newBot()];
    const first = await failing(bot, 'first');
    const second = await failing(bot, 'second');
    const foreign = await failing(other, 'foreign');
    await bot.upload('good', 'Nothing is wrong.', index);

    const ofBot = await listFailed(bot.id);
    const ofAll = (await listFailed()).map(({ fileId }) => fileId);

    expect(ofBot.map(({ fileId }) => fileId)).toEqual([second.file.id, first.file.id]);
    expect(ofBot[0]).toEqual({
      fileId: second.file.id,
      key: 'second',
      botId: bot.id,
      reason: expect.stringContaining('this text is not for me'),
      failedAt: (await bot.get(second.file.id)).updatedAt,
    });
    expect(ofAll.slice(0, 3)).toEqual([foreign, second, first].map(({ file }) => file.id));
  });
});

describe('a retry', () => {
  it('indexes a failed file from its stored content', async () => {
    const bot = newBot();
    const { file, accept } = await failing(bot, 'a.txt');
    accept();

    expect(await retry(file.id)).toEqual({ retried: [file.id], refused: [] });

    expect(await bot.settled(file.id)).toMatchObject({ status: 'indexing_completed' });
    expect(await contents(bot, file.id)).toHaveLength(1);
    expect(await listFailed(bot.id)).toEqual([]);
  });

  it('retries a failed file of its own bot, but no file of another bot or without content', async () => {
    const bot = newBot();
    const { file, accept } = await failing(bot, 'a.txt');
    accept();
    const empty = await bot.upsert({ key: 'empty', size: 1, ...index });
    const again = (of: BotFiles, id: string) => of.ask(operations.indexAgain, { id });

    await again(bot, file.id);
    await again(bot, file.id);

    expect(await bot.settled(file.id)).toMatchObject({ status: 'indexing_completed' });
    await expect(again(newBot(), file.id)).rejects.toMatchObject({ type: 'ResourceNotFound' });
    await expect(again(bot, empty.id)).rejects.toMatchObject({
      type: 'RelationConflict',
      message: 'The file has no content yet.',
    });
  });

  it('indexes passages that were set, not the content that they replaced', async () => {
    const bot = newBot();
    const marker = newMarker();
    const { id } = await bot.upload('a.txt', 'The content.', index);
    await bot.settled(id);
    embeddings.order(marker, refuses);
    const passages = [{ content: `One ${marker}.` }, { content: 'Two.', type: 'code' as const, pageNumber: 2 }];
    await bot.ask(operations.setPassages, { id, passages });
    await bot.settled(id);
    await tidied(id);
    embeddings.order(marker, 'well');

    await retry(id);

    expect(await bot.settled(id)).toMatchObject({ status: 'indexing_completed' });
    expect(await bot.passages(id)).toMatchObject([
      { content: `One ${marker}.` },
      { content: 'Two.', meta: { subtype: 'code', pageNumber: 2, position: 1 } },
    ]);
    await waitFor(
      () => bot.leftovers(),
      (left) => left.passages === 2 && left.points === 2,
    );
  });

  it('keeps the active passages searchable until a retry has ended', async () => {
    const bot = newBot();
    const marker = newMarker();
    const { id } = await bot.upload('a.txt', marker, index);
    await bot.settled(id);
    const held = embeddings.hold(marker);

    await retry(id);
    await held.reached;
    const meanwhile = await contents(bot, id);
    held.release();

    expect(meanwhile).toEqual([marker]);
    expect((await bot.settled(id)).status).toBe('indexing_completed');
    expect(await contents(bot, id)).toEqual([marker]);
  });

  it.each<[string, EmbeddingResponse]>([
    ['for its text', refuses],
    ['for the key', { status: 401, message: 'the key is revoked' }],
  ])('keeps the active passages searchable when the embedding server rejects a retry %s', async (_what, answer) => {
    const bot = newBot();
    const marker = newMarker();
    const { id } = await bot.upload('a.txt', `${marker}\n\n${paragraphs(60, 'a')}`, index);
    await bot.settled(id);
    const before = await bot.passages(id);
    embeddings.order(marker, answer);

    await retry(id);
    const failed = await waitFor(
      () => bot.get(id),
      ({ status }) => status === 'indexing_failed',
      30_000,
    );
    await tidied(id);

    const message = (answer as { message: string }).message;
    expect(failed.failedStatusReason).toMatch(new RegExp(`${message} The passages indexed before remain searchable.$`));
    expect(await bot.passages(id)).toEqual(before);
    expect(await search(bot, 'a 7.')).toContainEqual(expect.stringMatching(/^a 7\./));
    expect((await bot.list({ indexed: true })).files).toHaveLength(1);
    expect(await bot.leftovers()).toEqual({ files: 1, passages: before.length, blobs: 1, points: before.length });

    embeddings.order(marker, 'well');
    expect(await retry(id)).toEqual({ retried: [id], refused: [] });
    const settled = await bot.settled(id);
    await tidied(id);
    expect(settled.status).toBe('indexing_completed');
    expect(settled.failedStatusReason).toBeUndefined();
    expect(await bot.leftovers()).toEqual({ files: 1, passages: before.length, blobs: 1, points: before.length });
  });

  it('keeps set passages when a retry of them fails, and retries them again', async () => {
    const bot = newBot();
    const marker = newMarker();
    const { id } = await bot.upload('a.txt', 'The content.', index);
    await bot.settled(id);
    await bot.ask(operations.setPassages, { id, passages: [{ content: `One ${marker}.` }, { content: 'Two.' }] });
    await bot.settled(id);
    embeddings.order(marker, refuses);

    for (let times = 0; times < 2; times++) {
      await retry(id);
      expect((await bot.settled(id)).status).toBe('indexing_failed');
      await tidied(id);
      expect(await bot.leftovers()).toEqual({ files: 1, passages: 2, blobs: 1, points: 2 });
    }

    expect(await contents(bot, id)).toEqual([`One ${marker}.`, 'Two.']);
    embeddings.order(marker, 'well');
    await retry(id);
    expect((await bot.settled(id)).status).toBe('indexing_completed');
    expect(await contents(bot, id)).toEqual([`One ${marker}.`, 'Two.']);
  });

  it('removes content that the file no longer holds when a retry fails', async () => {
    const bot = newBot();
    const [old, marker] = [newMarker(), newMarker()];
    embeddings.order(marker, refuses);
    const { id, uploadUrl } = await bot.upload('a.txt', `${old} and so on`, index);
    await bot.settled(id);

    await put(uploadUrl, `${marker} and so on`);
    const replaced = await bot.settled(id);
    const afterUpload = await contents(bot, id);
    await retry(id);
    const retried = await bot.settled(id);

    for (const { status, failedStatusReason } of [replaced, retried]) {
      expect({ status, failedStatusReason }).toEqual({
        status: 'indexing_failed',
        failedStatusReason: 'The embedding server answered 400: this text is not for me',
      });
    }
    expect([afterUpload, await contents(bot, id)]).toEqual([[], []]);
    await tidied(id);
    expect(await bot.leftovers()).toEqual({ files: 1, passages: 0, blobs: 1, points: 0 });
  });

  it('does not bring back content whose passages were replaced when a retry fails', async () => {
    const bot = newBot();
    const marker = newMarker();
    const { id } = await bot.upload('a.txt', 'The content.', index);
    await bot.settled(id);
    embeddings.order(marker, refuses);

    await bot.ask(operations.setPassages, { id, passages: [{ content: marker }] });

    expect((await bot.settled(id)).status).toBe('indexing_failed');
    expect(await contents(bot, id)).toEqual([]);
  });

  it('refuses a retry of files that cannot be indexed or are being indexed, and runs the others', async () => {
    const bot = newBot();
    const marker = newMarker();
    const held = embeddings.hold(marker);
    const plain = await bot.upload('plain', 'x');
    const empty = await bot.upsert({ key: 'empty', size: 1, index: true });
    const pending = await bot.upload('pending', marker, index);
    const good = await failing(bot, 'good');
    const absent = `file_${randomUUID()}`;
    good.accept();

    const { retried, refused } = await retry(plain.id, empty.id, pending.id, absent, good.file.id);
    held.release();

    expect(retried).toEqual([good.file.id]);
    expect(Object.fromEntries(refused.map(({ fileId, reason }) => [fileId, reason]))).toEqual({
      [plain.id]: expect.stringMatching(/without index: true/),
      [empty.id]: expect.stringMatching(/no content yet/),
      [pending.id]: expect.stringMatching(/being indexed already/),
      [absent]: expect.stringMatching(/File not found/),
    });
    expect((await bot.settled(good.file.id)).status).toBe('indexing_completed');
  });

  it('runs a retry once for two concurrent requests', async () => {
    const bot = newBot();
    const { file, accept } = await failing(bot, 'a.txt');
    accept();
    const held = embeddings.hold('It says');

    const answers = await Promise.all([retry(file.id), retry(file.id), retry(file.id)]);
    held.release();

    expect(answers.flatMap(({ retried }) => retried)).toEqual([file.id]);
    expect(answers.flatMap(({ refused }) => refused)).toHaveLength(2);
    expect((await bot.settled(file.id)).status).toBe('indexing_completed');
  });
});

describe('the metrics', () => {
  const read = async (): Promise<Map<string, number>> => {
    const text = await (await fetch(`${service.url}/metrics`)).text();
    const lines = text.split('\n').filter((line) => line.startsWith('parley_files_'));
    return new Map(lines.map((line) => [line.split(' ')[0]!, Number(line.split(' ')[1])]));
  };
  const jobsAt = (stage: string) => `parley_files_indexing_jobs{stage="${stage}"}`;

  it('shows waiting, running and failed jobs in the metrics', async () => {
    const bot = newBot();
    const marker = newMarker();
    const held = embeddings.hold(marker);
    await failing(bot, 'bad');
    const uploaded = await Promise.all(['a', 'b', 'c'].map((key) => bot.upload(key, marker, index)));
    await held.reached;
    await sql.query("UPDATE indexing_job SET created_at = now() - interval '1 hour' WHERE bot_id = $1", [bot.id]);
    const receiving = await bot.upsert({ key: 'half', size: 10 });
    const upload = httpRequest(receiving.uploadUrl, { method: 'PUT', headers: { 'content-length': 10 }, agent: false });
    upload.on('error', () => undefined);
    upload.write('12345');

    const busy = await waitFor(
      read,
      (figures) =>
        figures.get(jobsAt('announced')) === 1 &&
        figures.get(jobsAt('parsed')) === 2 &&
        figures.get('parley_files_uploads_under_way') === 1,
    );
    upload.destroy();
    held.release();
    for (const { id } of uploaded) await bot.settled(id);
    const idle = await waitFor(
      read,
      (figures) =>
        figures.get('parley_files_indexing_oldest_waiting_seconds') === 0 &&
        figures.get('parley_files_indexing_most_attempts') === 0,
    );

    expect(busy.get('parley_files_indexing_oldest_waiting_seconds')).toBeGreaterThanOrEqual(3_600);
    expect(busy.get('parley_files_indexing_most_attempts')).toBe(1);
    expect(busy.get('parley_files_indexing_failed_last_hour')).toBe((await listFailed()).length);
    expect(idle.get(jobsAt('parsed'))).toBe(0);
  });

  it('serves metrics while the database does not answer', async () => {
    await sql.transaction(async (tx) => {
      await tx.query('LOCK TABLE indexing_job, upload IN ACCESS EXCLUSIVE MODE');

      expect((await read()).has(jobsAt('announced'))).toBe(true);
    });
  });

  it('counts the passages that a worker has indexed in the metrics', async () => {
    const count = async () => {
      const { payload } = await service.apps[1]!.inject('/metrics');
      return metricValue(payload, 'parley_files_passages_indexed_total');
    };
    const bot = newBot();
    const before = await count();

    await bot.settled((await bot.upload('a.txt', paragraphs(3, newMarker()), index)).id);

    expect((await count()) - before).toBe((await bot.passages('a.txt')).length);
  });
});
