import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ReadableStream } from 'node:stream/web';
import { isDeepStrictEqual } from 'node:util';
import { botDeleted } from '@parley/contracts/admin/bots';
import { files, fileUploaded } from '@parley/contracts/files';
import type { SupervisedChild } from '@parley/child-processes/supervised-child';
import { Database } from '@parley/persistence/database';
import { Outbox } from '@parley/events/outbox';
import { BotFiles, put } from '@parley/testing/bot-files';
import { waitFor } from '@parley/testing/wait-for';
import { EmbeddingServer } from '@parley/testing/embedding-server';
import { joinService } from '@parley/testing/joined-service';
import { type RunningService, startService } from '@parley/testing/running-service';
import { FilesModule } from '../../../files/src/files.module';
import { FilesWorkerConfig } from '../config';
import { FilesWorkerModule } from '../files-worker.module';
import type { Batch } from './document.child';
import { DocumentReaderService } from './document-reader.service';
import { ReaderFailed, ReaderStarved } from './reader-errors';

const apiKey = 'sk-very-secret';

let service: RunningService;
let embeddings: EmbeddingServer;
let blobsDir: string;
let sql: Database;

const workerConfig = (databaseUrl: string) =>
  Object.assign(new FilesWorkerConfig(), {
    databaseUrl,
    databasePoolSize: 4,
    blobsDir,
    embeddingsUrl: embeddings.url,
    embeddingsApiKey: apiKey,
    embeddingsTimeoutMs: 60_000,
    indexingAttempts: 2,
    heartbeatMs: 50,
  });

beforeAll(async () => {
  blobsDir = await mkdtemp(join(tmpdir(), 'parley-worker-'));
  embeddings = await EmbeddingServer.start();
  service = await startService(
    (databaseUrl, platform, contentUrl) =>
      FilesModule.register(
        Object.assign(workerConfig(databaseUrl), {
          contentUrl,
          secretKey: 's'.repeat(32),
          sweepIntervalMs: 100,
          maxUploadBytes: 100_000_000,
        }),
        platform,
      ),
    (databaseUrl, platform) => FilesWorkerModule.register(workerConfig(databaseUrl), platform),
  );
  sql = service.apps[0]!.get(Database, { strict: false });
});
afterAll(async () => {
  // fetch opens connections ahead of need, and a shutdown waits for those without a request.
  service?.apps[0]?.getHttpServer()?.closeAllConnections();
  await service?.stop();
  await embeddings?.stop();
  await rm(blobsDir, { recursive: true, force: true });
});

const newBot = () => new BotFiles(service);
const newMarker = () => `marker${randomBytes(6).toString('hex')}`;
const index = { index: true };
const paragraphs = (count: number, word: string) =>
  Array.from({ length: count }, (_, n) => `${word} paragraph ${n}. ${'Some words that fill it up. '.repeat(30)}`).join(
    '\n\n',
  );
const contents = async (bot: BotFiles, id: string) => (await bot.passages(id)).map(({ content }) => content);
const rows = (text: string, ...values: unknown[]) => sql.query<Record<string, string>>(text, values);
const jobsOf = (bot: BotFiles) => rows('SELECT * FROM indexing_job WHERE bot_id = $1', bot.id);
const versionOf = async (bot: BotFiles, fileId: string) => {
  const [row] = await rows('SELECT content_version FROM file WHERE id = $1', fileId);
  return { botId: bot.id, fileId, contentVersion: row!['content_version']! };
};
const announce = (versions: { botId: string; fileId: string; contentVersion: string }[]) =>
  sql.transaction((tx) => service.apps[0]!.get(Outbox, { strict: false }).addAll(tx, fileUploaded, versions));
const settledSoon = (bot: BotFiles, id: string) =>
  waitFor(
    async () => {
      await rows('UPDATE indexing_job SET due_at = now() WHERE bot_id = $1 AND due_at > now()', bot.id);
      return bot.get(id);
    },
    ({ status }) => status !== 'indexing_pending',
  );
async function tidied(bot: BotFiles) {
  await waitFor(
    () => rows('SELECT 1 FROM work WHERE tenant = $1 UNION ALL SELECT 1 FROM indexing_job WHERE bot_id = $1', bot.id),
    ({ length }) => length === 0,
  );
  return bot.leftovers();
}

describe('a document', () => {
  it.each([
    ['notes.txt', 'First thing.\n\nSecond thing.\n\nThird thing.'],
    ['notes.md', '# First\n\nSecond *thing*.\n\n- Third\n'],
    ['notes.html', '<h1>First</h1><script>alert("evil")</script><p>Second <b>thing</b></p><ul><li>Third</li></ul>'],
  ])('splits a document named %s into passages in document order', async (key, content) => {
    const bot = newBot();
    const { id } = await bot.upload(key, content, index);

    expect(await bot.settled(id)).toMatchObject({ status: 'indexing_completed', indexingStack: 'v1' });
    const passages = await bot.passages(key);
    const text = passages.map((passage) => passage.content).join('\n');
    expect(text).toMatch(/First[\s\S]*Second[\s\S]*Third/);
    expect(text).not.toMatch(/evil|<|alert/);
    expect(passages.map(({ meta }) => meta.position)).toEqual(passages.map((_, n) => n));
    expect(await tidied(bot)).toEqual({ files: 1, passages: passages.length, blobs: 1, points: passages.length });
  });

  it('lists passages of a document 20 at a time, at most 200, by id and by key', async () => {
    const bot = newBot();
    const { id } = await bot.upload('deep/long.txt', paragraphs(230, 'long'), index);
    await bot.settled(id);

    const first = await bot.listPassages(id);
    const second = await bot.listPassages('deep/long.txt', { nextToken: first.meta.nextToken });
    const most = await bot.listPassages(id, { limit: 200 });
    const rest = await bot.listPassages(id, { limit: 200, nextToken: most.meta.nextToken });

    expect([first, second, most, rest].map(({ passages }) => passages.length)).toEqual([
      20,
      20,
      200,
      expect.any(Number),
    ]);
    expect(second.passages[0]!.meta.position).toBe(20);
    const all = [...most.passages, ...rest.passages];
    expect(rest.meta.nextToken).toBeUndefined();
    expect(new Set(all.map((passage) => passage.id)).size).toBe(all.length);
    for (let n = 0; n < 230; n += 1)
      expect(all.filter(({ content }) => content.includes(`paragraph ${n}.`))).toHaveLength(1);
    await expect(bot.listPassages(id, { nextToken: 'x' })).rejects.toMatchObject({ type: 'InvalidQuery' });
  });

  it.each([
    ['empty', 'a.txt', '', /No text found/],
    ['blank', 'a.md', ' \n\t\n ', /text found/],
    ['a binary that calls itself text', 'a.txt', randomBytes(20_000), /./],
    ['a page of nothing but scripts', 'a.html', '<script>let x = 1</script><style>b {}</style>', /text found/],
    ['of a type that is not read', 'a.zip', 'PK\u0003\u0004', /application\/zip cannot be indexed/],
  ])('fails a document that is %s with a reason and without passages', async (_name, key, content, reason) => {
    const bot = newBot();
    const { id } = await bot.upload(key, content, index);

    expect(await bot.settled(id)).toMatchObject({
      status: 'indexing_failed',
      failedStatusReason: expect.stringMatching(reason),
    });
    expect(await bot.passages(id)).toEqual([]);
    expect(await tidied(bot)).toMatchObject({ passages: 0, points: 0, blobs: 1 });
  });

  it('reads a document in invalid UTF-8 as far as possible', async () => {
    const bot = newBot();
    const { id } = await bot.upload(
      'a.txt',
      Buffer.concat([Buffer.from('Good words. '), Buffer.from([0xc3, 0x28]), Buffer.from(' More good words.')]),
      index,
    );

    expect((await bot.settled(id)).status).toBe('indexing_completed');
    expect((await contents(bot, id)).join('')).toMatch(/Good words\.[\s\S]*More good words\./);
  });

  it('splits one 5 MB line into passages of the configured length, while the service stays responsive', async () => {
    const bot = newBot();
    const { id } = await bot.upload('a.txt', 'word '.repeat(1_000_000), {
      ...index,
      indexing: { configuration: { chunking: { maximumChunkLength: 5000 } } },
    });
    let answers = 0;

    const file = await waitFor(
      async () => {
        const answer = await bot.get(id);
        answers++;
        return answer;
      },
      ({ status }) => status !== 'indexing_pending',
    );

    expect(file.status).toBe('indexing_completed');
    expect((await bot.passages(id)).every(({ content }) => content.length <= 5000)).toBe(true);
    const [{ length }] = (await rows(
      'SELECT sum(length(content)) AS length FROM passage WHERE bot_id = $1',
      bot.id,
    )) as [{ length: string }];
    expect(Number(length)).toBeGreaterThan(4_900_000);
    expect(answers).toBeGreaterThan(10);
  });

  it('embeds passages with the configured number of neighbours, across batches', async () => {
    const [bot, marker] = [newBot(), newMarker()];
    const passages = Array.from(
      { length: 70 },
      (_, n) => `${marker} passage ${n}. ${'Filled up to the brim. '.repeat(2)}`,
    );
    const configuration = {
      parsing: { minimumParagraphLength: 50 },
      chunking: { maximumChunkLength: 100, embeddedContextLevels: 2 },
    };
    const { id } = await bot.upload('near.txt', passages.join('\n\n'), { ...index, indexing: { configuration } });
    await bot.settled(id);

    const embedded = embeddings.requests.flat().filter((text) => text.includes(marker));

    const numbers = embedded.map((text) => Array.from(text.matchAll(/passage (\d+)/g), ([, n]) => Number(n)));
    expect(numbers).toEqual(
      passages.map((_, n) => [n - 2, n - 1, n, n + 1, n + 2].filter((near) => near >= 0 && near < 70)),
    );
  });

  it('shows the progress of indexing a document', async () => {
    const [bot, first, middle] = [newBot(), newMarker(), newMarker()];
    const [held, heldInTheMiddle] = [embeddings.hold(first), embeddings.hold(middle)];
    const half = paragraphs(800, 'half');
    const { id } = await bot.upload('half.txt', [first, half, middle, half].join('\n\n'), index);
    await held.reached;

    const before = (await jobsOf(bot))[0]!['part'];
    held.release();
    await heldInTheMiddle.reached;
    const [during] = await waitFor(
      () => jobsOf(bot),
      ([job]) => Number(job!['part']) > 0,
    );
    heldInTheMiddle.release();

    expect(Number(before)).toBe(0);
    expect(Number(during!['part'])).toBeLessThan(1);
    expect(await bot.settled(id)).toMatchObject({ status: 'indexing_completed' });
  });
});

describe('a file that changes while it is indexed', () => {
  it('shows nothing of the content before a new declaration, and all of the new content', async () => {
    const [bot, marker] = [newBot(), newMarker()];
    const held = embeddings.hold(marker);
    const old = await bot.upload('a.txt', paragraphs(40, `${marker} old`), index);
    await held.reached;

    const file = await bot.upload('a.txt', paragraphs(3, 'new'), index);
    expect(file.id).toBe(old.id);
    await bot.settled(file.id);
    held.release();

    const passages = await contents(bot, 'a.txt');
    expect(passages.every((content) => content.includes('new'))).toBe(true);
    expect(await tidied(bot)).toEqual({ files: 1, passages: passages.length, blobs: 1, points: passages.length });
  });

  it('keeps the old passages of a file readable until the new ones are complete, and never mixes them', async () => {
    const [bot, marker] = [newBot(), newMarker()];
    const file = await bot.upload('a.txt', paragraphs(5, 'aaaa'), index);
    await bot.settled(file.id);
    const size = Buffer.byteLength(paragraphs(5, 'aaaa'));
    const held = embeddings.hold(marker);
    const next = paragraphs(5, 'aaaa')
      .replaceAll('aaaa', 'bbbb')
      .replace('Some words that fill it up. ', `${marker} `.padEnd(28));
    expect(Buffer.byteLength(next)).toBe(size);
    const seen = new Set<string>();
    let reading = true;
    const reader = (async () => {
      while (reading) seen.add((await contents(bot, file.id)).map((content) => content.match(/aaaa|bbbb/)?.[0]).join());
    })();

    await put(file.uploadUrl, next);
    await held.reached;
    expect(await bot.get(file.id)).toMatchObject({ status: 'indexing_pending' });
    expect((await contents(bot, file.id)).join()).toContain('aaaa');
    held.release();
    await bot.settled(file.id);
    expect(await tidied(bot)).toMatchObject({ blobs: 1 });
    reading = false;
    await reader;

    const [first, second, ...others] = [...seen];
    expect(others).toEqual([]);
    expect(first).toMatch(/^aaaa(,aaaa)*$/);
    expect(second).toMatch(/^bbbb(,bbbb)*$/);
    const { passages, points } = await bot.leftovers();
    expect(points).toBe(passages);
  });

  it('writes the newest tags to every point of a file, also to points written after the change', async () => {
    const [bot, marker] = [newBot(), newMarker()];
    const tagsOfPoints = async () =>
      (await rows('SELECT DISTINCT tags FROM local_index_point WHERE bot_id = $1', bot.id)).map(({ tags }) => tags);
    const held = embeddings.hold(marker);
    const { id } = await bot.upload('a.txt', `${paragraphs(60, 'first')}\n\n${marker}`, {
      ...index,
      tags: { kept: '1', state: 'old' },
    });
    await held.reached;
    await waitFor(tagsOfPoints, ([tags]) => isDeepStrictEqual(tags, { kept: '1', state: 'old' }));

    await bot.ask(files.update, { id, tags: { state: 'new' } });
    await waitFor(tagsOfPoints, ([tags]) => isDeepStrictEqual(tags, { kept: '1', state: 'new' }));
    held.release();
    await bot.settled(id);

    await tidied(bot);
    expect(await tagsOfPoints()).toEqual([{ kept: '1', state: 'new' }]);
    await bot.ask(files.update, { id, tags: { kept: null, state: 'newest' } });
    await tidied(bot);
    expect(await tagsOfPoints()).toEqual([{ state: 'newest' }]);
    expect(await bot.get(id)).toMatchObject({ status: 'indexing_completed' });
  });

  it('leaves no passage, point or blob of a file that is deleted while it is indexed', async () => {
    const [bot, marker] = [newBot(), newMarker()];
    const content = `${paragraphs(60, 'first')}\n\n${marker}`;
    const held = embeddings.hold(marker);
    const { id } = await bot.upload('a.txt', content, index);
    await held.reached;
    await waitFor(
      () => bot.leftovers(),
      ({ points }) => points > 0,
    );

    await bot.delete(id);
    await waitFor(
      () => bot.leftovers(),
      ({ blobs, passages }) => blobs + passages === 0,
    );
    held.release();

    expect(await tidied(bot)).toEqual({ files: 0, passages: 0, blobs: 0, points: 0 });
  });

  it('leaves nothing of a file whose bot is deleted while it is indexed', async () => {
    const [bot, marker] = [newBot(), newMarker()];
    const held = embeddings.hold(marker);
    await bot.upload('a.txt', `${paragraphs(60, 'first')}\n\n${marker}`, index);
    await held.reached;

    await sql.transaction((tx) =>
      service.apps[0]!.get(Outbox, { strict: false }).add(tx, botDeleted, {
        botId: bot.id,
        workspaceId: 'wkspace_test',
      }),
    );
    await waitFor(
      () => bot.leftovers(),
      ({ files, blobs }) => files + blobs === 0,
    );
    held.release();

    await waitFor(
      () => rows('SELECT 1 FROM deleted_bot WHERE bot_id = $1 AND erased_at IS NOT NULL', bot.id),
      ({ length }) => length === 1,
    );
    await waitFor(
      () => bot.leftovers(),
      (left) => Object.values(left).every((count) => count === 0),
    );
    expect(await tidied(bot)).toEqual({ files: 0, passages: 0, blobs: 0, points: 0 });
  });
});

describe('a job', () => {
  it('runs an indexing job once for repeated and reordered events', async () => {
    const [bot, marker] = [newBot(), newMarker()];
    const file = await bot.upload('a.txt', '1111', index);
    await bot.settled(file.id);
    const old = await versionOf(bot, file.id);
    await put(file.uploadUrl, '2222');
    await bot.settled(file.id);
    const marked = await bot.upload('b.txt', marker, index);
    await bot.settled(marked.id);
    const before = await rows('SELECT * FROM file WHERE bot_id = $1 ORDER BY id', bot.id);

    await announce([await versionOf(bot, marked.id), old, await versionOf(bot, file.id), old]);
    await announce([{ botId: bot.id, fileId: 'file_none', contentVersion: 'none' }]);
    await waitFor(
      () => rows('SELECT 1 FROM outbox WHERE published_at IS NULL UNION ALL SELECT 1 FROM events.work'),
      ({ length }) => length === 0,
    );

    expect(await rows('SELECT * FROM file WHERE bot_id = $1 ORDER BY id', bot.id)).toEqual(before);
    expect(await contents(bot, file.id)).toEqual(['2222']);
    expect(embeddings.countRequests(marker)).toBe(1);
  });

  it('gives a job to one of two workers that receive its event at the same time', async () => {
    const [bot, marker] = [newBot(), newMarker()];
    const held = embeddings.hold(marker);
    const { id } = await bot.upload('a.txt', marker, index);
    await held.reached;

    await announce(Array(4).fill(await versionOf(bot, id)) as Awaited<ReturnType<typeof versionOf>>[]);
    await waitFor(
      () => rows("SELECT 1 FROM events.work WHERE payload->'data'->>'fileId' = $1", id),
      ({ length }) => length === 1,
    );
    held.release();

    expect((await bot.settled(id)).status).toBe('indexing_completed');
    expect(embeddings.countRequests(marker)).toBe(1);
  });

  it('gives the job of a silent worker to another one, as the same attempt if the first one lives', async () => {
    const [bot, marker] = [newBot(), newMarker()];
    const held = embeddings.hold(marker);
    const { id } = await bot.upload('a.txt', marker, index);
    await held.reached;
    // Simulates a worker that was too slow: its lease is no longer valid, and its heartbeat is stale.
    await sql.query(
      "UPDATE indexing_job SET lease = 'vanished', heartbeat_at = now() - interval '16 seconds' WHERE file_id = $1",
      [id],
    );

    await waitFor(
      () => jobsOf(bot),
      ([job]) => job?.['lease'] != null && job['lease'] !== 'vanished',
    );
    await waitFor(
      () => jobsOf(bot),
      ([job]) => job!['attempts'] === (1 as unknown),
    );
    held.release();

    expect((await bot.settled(id)).status).toBe('indexing_completed');
    expect(await contents(bot, id)).toEqual([marker]);
    expect(await tidied(bot)).toEqual({ files: 1, passages: 1, blobs: 1, points: 1 });
  });

  it('keeps a job with its new worker when the old one resumes and finds its lease lost', async () => {
    const [bot, marker] = [newBot(), newMarker()];
    const held = embeddings.hold(marker);
    const { id } = await bot.upload('a.txt', marker, index);
    await held.reached;

    await sql.query("UPDATE indexing_job SET lease = 'of another', taken_by = 'another' WHERE file_id = $1", [id]);
    await waitFor(
      () => rows("SELECT 1 FROM events.work WHERE payload->'data'->>'fileId' = $1", id),
      ({ length }) => length === 0,
    );

    expect(await jobsOf(bot)).toMatchObject([{ lease: 'of another' }]);
    held.release();
    await sql.query("UPDATE indexing_job SET heartbeat_at = now() - interval '16 seconds' WHERE file_id = $1", [id]);
    expect((await bot.settled(id)).status).toBe('indexing_completed');
  });

  it('returns a job at once when its worker is stopped, and another worker completes it', async () => {
    const [bot, marker] = [newBot(), newMarker()];
    const first = await joinService(service, 'first', (platform) =>
      FilesWorkerModule.register(workerConfig(service.databaseUrl), platform),
    );
    const held = embeddings.hold(marker);
    const ids: string[] = [];
    for (let n = 0; n < 4; n += 1) ids.push((await bot.upload(`${n}.txt`, `${marker} ${n}`, index)).id);
    await waitFor(
      () => jobsOf(bot),
      (all) => all.filter((job) => job['taken_by'] === 'first').length === 2,
    );

    const stopping = first.stop();
    const given = await waitFor(
      () => jobsOf(bot),
      (all) => all.every((job) => job['taken_by'] !== 'first'),
    );
    held.release();
    await stopping;

    // The sweeper, which takes a job from a silent worker, would count the attempt.
    expect(given.filter((job) => job['attempts'] === (0 as unknown)).length).toBe(2);
    for (const id of ids) expect((await bot.settled(id)).status).toBe('indexing_completed');
    expect(await jobsOf(bot)).toEqual([]);
  });

  it('completes a job although the database connections are cut in the middle', async () => {
    const [bot, marker] = [newBot(), newMarker()];
    const held = embeddings.hold(marker);
    const { id } = await bot.upload('a.txt', `${paragraphs(60, 'cut')}\n\n${marker}`, index);
    await held.reached;

    held.release();
    await sql
      .query(
        'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()',
      )
      .catch(() => undefined);

    // Simulates a longer silence of the worker, for jobs whose end was lost with a connection.
    const silent = `UPDATE indexing_job SET heartbeat_at = now() - interval '16 seconds'
      WHERE bot_id = $1 AND heartbeat_at < now() - interval '2 seconds'`;
    const file = await waitFor(
      () =>
        rows(silent, bot.id)
          .then(() => bot.get(id))
          .catch(() => undefined),
      (answer) => answer !== undefined && answer.status !== 'indexing_pending',
    );
    expect(file).toMatchObject({ status: 'indexing_completed' });
    const { passages, points } = await tidied(bot);
    expect(points).toBe(passages);
  });
});

describe('an embedding server', () => {
  it('waits for an embedding server that asks to slow down, without counting an attempt', async () => {
    const [bot, marker] = [newBot(), newMarker()];
    const busy = { status: 429, message: 'slow down', headers: { 'retry-after': '0' } };
    embeddings.order(marker, busy, busy, busy, { ...busy, headers: { 'retry-after': '1' } }, 'well');
    const { id } = await bot.upload('a.txt', marker, index);

    await waitFor(
      () => embeddings.countRequests(marker),
      (count) => count === 4,
    );
    expect(await jobsOf(bot)).toMatchObject([{ attempts: 1 }]);

    expect((await bot.settled(id)).status).toBe('indexing_completed');
    expect(embeddings.countRequests(marker)).toBe(5);
  });

  it.each([
    [
      '500',
      { status: 500, message: 'out of memory' },
      /tried 2 times\. The embedding server answered 500: out of memory$/,
    ],
    ['garbage', 'garbage' as const, /tried 2 times\. The embedding server answered with something that is not a list/],
  ])(
    'repeats requests to an embedding server that answers %s, and fails with its last answer',
    async (_name, answer, reason) => {
      const [bot, marker] = [newBot(), newMarker()];
      embeddings.order(marker, answer);
      const { id } = await bot.upload('a.txt', marker, index);

      expect(await settledSoon(bot, id)).toMatchObject({
        status: 'indexing_failed',
        failedStatusReason: expect.stringMatching(reason),
      });
      expect(embeddings.countRequests(marker)).toBe(2);
      expect(await tidied(bot)).toEqual({ files: 1, passages: 0, blobs: 1, points: 0 });
    },
  );

  it('delays indexing when an embedding server recovers before the last attempt', async () => {
    const [bot, marker] = [newBot(), newMarker()];
    embeddings.order(marker, { status: 500, message: 'oops' }, 'well');

    const { id } = await bot.upload('a.txt', marker, index);

    const file = await settledSoon(bot, id);
    expect(file.status).toBe('indexing_completed');
    expect(file.failedStatusReason).toBeUndefined();
  });

  it.each([400, 413, 422])(
    'ends the job at once when an embedding server rejects a text with %d, with its message',
    async (status) => {
      const [bot, marker] = [newBot(), newMarker()];
      embeddings.order(marker, { status, message: 'the text is too long' });
      const { id } = await bot.upload('a.txt', marker, index);

      expect(await bot.settled(id)).toMatchObject({
        status: 'indexing_failed',
        failedStatusReason: `The embedding server answered ${status}: the text is too long`,
      });
      expect(embeddings.countRequests(marker)).toBe(1);
    },
  );

  it('repeats requests to an embedding server that rejects its key, and hides the key in the message', async () => {
    const [bot, marker] = [newBot(), newMarker()];
    embeddings.order(marker, { status: 401, message: `Incorrect API key provided: ${apiKey}` });
    const { id } = await bot.upload('a.txt', marker, index);

    const { indexing } = await waitFor(
      () => bot.get(id),
      (file) => file.indexing?.lastError !== undefined,
    );
    embeddings.order(marker, 'well');

    expect(indexing!.lastError).toBe('The embedding server answered 401: Incorrect API key provided: ***');
    expect(await settledSoon(bot, id)).toMatchObject({ status: 'indexing_completed' });
  });

  it('does not embed content that was replaced while it waited for the embedding server', async () => {
    const [bot, marker] = [newBot(), newMarker()];
    embeddings.order(marker, { status: 429, message: 'later', headers: { 'retry-after': '60' } });
    const file = await bot.upload('a.txt', marker, index);
    await waitFor(
      () => embeddings.countRequests(marker),
      (count) => count === 1,
    );

    await put(file.uploadUrl, 'x'.repeat(marker.length));

    expect((await bot.settled(file.id)).status).toBe('indexing_completed');
    await tidied(bot);
    expect(embeddings.countRequests(marker)).toBe(1);
  });
});

describe('a document reader that dies', () => {
  async function killReader(marker: string): Promise<void> {
    const held = embeddings.hold(marker);
    await held.reached;
    const [reader] = busyReaders();
    reader!.kill();
    await reader!.ended;
    held.release();
  }

  function busyReaders(): SupervisedChild[] {
    interface Pool {
      all: Set<SupervisedChild>;
      idle: { child: SupervisedChild }[];
    }
    const { pool } = service.apps[1]!.get<{ pool: Pool }>(DocumentReaderService, { strict: false });
    const idle = pool.idle.map(({ child }) => child);
    return [...pool.all].filter((child) => !idle.includes(child));
  }

  it('replaces a document reader that dies, and indexes the document', async () => {
    const [bot, marker] = [newBot(), newMarker()];
    const killed = killReader(marker);
    const { id } = await bot.upload('a.txt', paragraphs(400, marker), index);

    await killed;

    expect(await bot.settled(id)).toMatchObject({ status: 'indexing_completed' });
  });

  it('fails a document with a reason when its reader dies a second time', async () => {
    const [bot, marker] = [newBot(), newMarker()];
    const killedTwice = killReader(marker).then(() => killReader(marker));
    const { id } = await bot.upload('a.txt', paragraphs(400, marker), index);

    await killedTwice;

    expect(await bot.settled(id)).toMatchObject({
      status: 'indexing_failed',
      failedStatusReason: expect.stringMatching(/^The document crashed its reader: save it again/),
    });
  });
});

describe('a document reader that does not end as it should', () => {
  const html = `<h1>Tides</h1>${'<p>Some words that fill it up.</p>'.repeat(2_000)}`;
  const failure = { reader: 'HTML', exception: 'RangeError', place: 'writeLine, block-writer.js:82', stack: '' };

  afterEach(() => jest.restoreAllMocks());

  /** Readings with structure end with this error after their first batch; all if `times` is absent. */
  function failReadings(error: Error, times = Infinity) {
    const documents = service.apps[1]!.get(DocumentReaderService, { strict: false });
    const read = documents.read.bind(documents);
    let left = times;
    async function* cut(batches: AsyncIterable<Batch>) {
      for await (const batch of batches) {
        yield batch;
        throw error;
      }
    }
    return jest.spyOn(documents, 'read').mockImplementation((task, ...others) => {
      const batches = read(task, ...others);
      return task.asPlainText || left-- <= 0 ? batches : ReadableStream.from(cut(batches));
    });
  }

  it('indexes the plain text of a document whose reader has a defect, with a warning', async () => {
    const bot = newBot();
    const readings = failReadings(new ReaderFailed({ ...failure, hasPlainText: true }));
    const { id } = await bot.upload('a.html', html, index);

    expect(await bot.settled(id)).toMatchObject({
      status: 'indexing_completed',
      failedStatusReason:
        'The HTML reader failed on this document (RangeError in writeLine, block-writer.js:82). ' +
        'Only its plain text is indexed, without headings, lists and tables. ' +
        'Save it with another program or in another format, and upload the new file.',
    });
    const passages = await bot.passages(id);
    expect(passages[0]!.content).toMatch(/^Tides\n\nSome words/);
    expect(new Set(passages.map(({ meta }) => meta.subtype))).toEqual(new Set(['paragraph']));
    expect(await tidied(bot)).toMatchObject({ passages: passages.length, points: passages.length });
    expect(readings).toHaveBeenCalledTimes(2);
  });

  it('removes the warning of a file that is indexed again without a defect', async () => {
    const bot = newBot();
    failReadings(new ReaderFailed({ ...failure, hasPlainText: true }), 1);
    const { id } = await bot.upload('a.html', html, index);
    await bot.settled(id);

    await bot.ask(files.indexAgain, { id });

    const file = await bot.settled(id);
    expect(file).toMatchObject({ status: 'indexing_completed' });
    expect(file.failedStatusReason).toBeUndefined();
  });

  it('fails a document without plain text at once, with the place of the defect', async () => {
    const bot = newBot();
    const readings = failReadings(new ReaderFailed({ ...failure, reader: 'PDF', hasPlainText: false }));
    const { id } = await bot.upload('a.html', html, index);

    expect(await bot.settled(id)).toMatchObject({
      status: 'indexing_failed',
      failedStatusReason: expect.stringMatching(
        /^The PDF reader failed.*writeLine, block-writer\.js:82\)\. Save it with/,
      ),
    });
    expect(readings).toHaveBeenCalledTimes(1);
    expect(await tidied(bot)).toMatchObject({ passages: 0, points: 0 });
  });

  it('reads a document again when the machine is busy, without counting an attempt', async () => {
    const bot = newBot();
    failReadings(new ReaderStarved(), 3);
    const { id } = await bot.upload('a.html', html, index);

    const waiting = await waitFor(
      () => bot.get(id),
      ({ indexing }) => indexing?.lastError !== undefined,
    );
    expect(waiting.indexing).toMatchObject({
      attempts: 0,
      lastError: expect.stringMatching(/^The server is too busy/),
    });
    expect(await settledSoon(bot, id)).toMatchObject({ status: 'indexing_completed' });
  });
});

it('indexes the file of another bot while all documents of one bot wait', async () => {
  const [busy, other, marker] = [newBot(), newBot(), newMarker()];
  const held = embeddings.hold(marker);
  const texts = ['a.txt', 'b.txt', 'c.txt', 'd.txt'];
  const waiting = await Promise.all(texts.map((key) => busy.upload(key, paragraphs(100, marker), index)));
  await held.reached;

  const { id } = await other.upload('small.txt', 'A few words.', index);

  expect(await other.settled(id)).toMatchObject({ status: 'indexing_completed' });
  expect(await Promise.all(waiting.map(async ({ id }) => (await busy.get(id)).status))).toEqual(
    waiting.map(() => 'indexing_pending'),
  );
  held.release();
  for (const { id } of waiting) expect(await busy.settled(id)).toMatchObject({ status: 'indexing_completed' });
});

it('indexes the small text of another bot while the documents of several bots hold all readers', async () => {
  const { readers } = service.apps[1]!.get(DocumentReaderService, { strict: false });
  const [long, other, marker] = [newBot(), newBot(), newMarker()];
  const held = embeddings.hold(marker);
  const busy = Array.from({ length: readers }, newBot);
  const waiting = await Promise.all(busy.map((bot) => bot.upload('a.txt', paragraphs(100, marker), index)));
  await waitFor(
    () => embeddings.countRequests(marker),
    (count) => count === readers,
  );

  const { id: longId } = await long.upload('long.txt', paragraphs(100, 'long'), index);
  const { id } = await other.upload('small.txt', 'A few words.', index);

  expect(await other.settled(id)).toMatchObject({ status: 'indexing_completed' });
  expect(await jobsOf(long)).toMatchObject([{ attempts: 0, lease: null }]);
  expect(await Promise.all(waiting.map(async ({ id }, i) => (await busy[i]!.get(id)).status))).toEqual(
    waiting.map(() => 'indexing_pending'),
  );
  held.release();
  for (const [i, { id }] of waiting.entries()) await busy[i]!.settled(id);
  expect(await long.settled(longId)).toMatchObject({ status: 'indexing_completed' });
});

it('exposes no internals when a content cannot be read', async () => {
  const bot = newBot();
  const marker = newMarker();
  const held = embeddings.hold(marker);
  const busy = [await bot.upload('busy1.txt', marker, index), await bot.upload('busy2.txt', marker, index)];
  await waitFor(
    () => embeddings.countRequests(marker),
    (count) => count === 2,
  );
  const { id } = await bot.upload('a.txt', 'x', index);
  await rm(join(blobsDir, bot.id, id), { recursive: true });
  held.release();

  const file = await settledSoon(bot, id);

  expect(file.status).toBe('indexing_failed');
  expect(file.failedStatusReason).toBe('Indexing was tried 2 times. Internal error: upload the file again later.');
  for (const other of busy) expect((await bot.settled(other.id)).status).toBe('indexing_completed');
});
