import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { files } from '@parley/contracts/files';
import { Database } from '@parley/persistence/database';
import { BotFiles, put } from '@parley/testing/bot-files';
import { EmbeddingServer } from '@parley/testing/embedding-server';
import { json, LoopbackServer } from '@parley/testing/loopback-server';
import { type RunningService, startService } from '@parley/testing/running-service';
import { S3Server } from '@parley/testing/s3-server';
import { waitFor } from '@parley/testing/wait-for';
import { FilesModule } from '../../../files/src/files.module';
import { FilesWorkerConfig } from '../config';
import { FilesWorkerModule } from '../files-worker.module';

const timeoutMs = 1_500;
const index = { index: true };
const ourSide = 'Internal error: upload the file again later.';
const undo: (() => Promise<unknown>)[] = [];
let embeddings: EmbeddingServer;

async function start(changes: Partial<FilesWorkerConfig>): Promise<RunningService> {
  const config = (databaseUrl: string) =>
    Object.assign(new FilesWorkerConfig(), {
      databaseUrl,
      databasePoolSize: 4,
      embeddingsUrl: embeddings.url,
      embeddingsTimeoutMs: timeoutMs,
      indexingAttempts: 2,
      heartbeatMs: 50,
      ...changes,
    });
  const service = await startService(
    (databaseUrl, platform, contentUrl) =>
      FilesModule.register(
        Object.assign(config(databaseUrl), {
          contentUrl,
          secretKey: 's'.repeat(32),
          sweepIntervalMs: 100,
          maxUploadBytes: 100_000_000,
        }),
        platform,
      ),
    (databaseUrl, platform) => FilesWorkerModule.register(config(databaseUrl), platform),
  );
  await sqlOf(service).query(`
    CREATE TABLE status_given (number serial, file_id text, status text);
    CREATE FUNCTION note_status() RETURNS trigger LANGUAGE plpgsql AS
      $$ BEGIN INSERT INTO files.status_given (file_id, status) VALUES (NEW.id, NEW.status); RETURN NULL; END $$;
    CREATE TRIGGER note_status AFTER INSERT OR UPDATE OF status ON file FOR EACH ROW EXECUTE FUNCTION note_status();
  `);
  return service;
}

async function stop(service: RunningService): Promise<void> {
  service?.apps[0]?.getHttpServer()?.closeAllConnections();
  await service?.stop();
}

beforeAll(async () => {
  embeddings = await EmbeddingServer.start();
});
afterEach(async () => {
  for (const step of undo.splice(0).reverse()) await step();
});
afterAll(() => embeddings.stop());

const sqlOf = (service: RunningService) => service.apps[0]!.get(Database, { strict: false });
const paragraphs = (count: number, word: string) =>
  Array.from({ length: count }, (_, n) => `${word} paragraph ${n}. ${'Some words that fill it up. '.repeat(30)}`).join(
    '\n\n',
  );

/** All statuses that the file had, and whether each passage has exactly one point. Skips the pauses between attempts. */
async function outcome(service: RunningService, bot: BotFiles, id: string) {
  const { status, failedStatusReason } = await waitFor(
    async () => {
      await sqlOf(service).query('UPDATE indexing_job SET due_at = now() WHERE file_id = $1 AND due_at > now()', [id]);
      return bot.get(id);
    },
    (file) => file.status !== 'indexing_pending',
  );
  await waitFor(
    () =>
      sqlOf(service).query(
        'SELECT 1 FROM work WHERE key = $1 UNION ALL SELECT 1 FROM indexing_job WHERE file_id = $1',
        [id],
      ),
    ({ length }) => length === 0,
  );
  const [row] = await sqlOf(service).query<{ statuses: string; passages: number; versions: number; points: number }>(
    `SELECT (SELECT string_agg(given.status, ' ' ORDER BY number) FROM status_given given WHERE file_id = $1) AS statuses,
       (SELECT count(*)::int FROM passage WHERE file_id = $1) AS passages,
       (SELECT count(DISTINCT content_version)::int FROM passage WHERE file_id = $1) AS versions,
       (SELECT count(*)::int FROM local_index_point WHERE file_id = $1) AS points`,
    [id],
  );
  return { status, reason: failedStatusReason, ...row! };
}
const once = 'upload_pending indexing_pending indexing_completed';
const completed = { status: 'indexing_completed', reason: undefined, statuses: once, versions: 1 };

describe('contents in S3', () => {
  let s3: S3Server;
  let service: RunningService;
  let bot: BotFiles;
  const large = `${paragraphs(20, 'harbour')}${'\n'.repeat(5_250_000)}${paragraphs(20, 'harbour')}`;

  beforeAll(async () => {
    s3 = await S3Server.start();
    const { S3_ENDPOINT, S3_BUCKET, S3_ACCESS_KEY_ID, S3_SECRET_ACCESS_KEY } = s3.env;
    service = await start({
      s3Endpoint: S3_ENDPOINT,
      s3Bucket: S3_BUCKET,
      s3AccessKeyId: S3_ACCESS_KEY_ID,
      s3SecretAccessKey: S3_SECRET_ACCESS_KEY,
    });
  });
  beforeEach(() => {
    s3.order('get');
    s3.order('put');
    s3.objects.clear();
    s3.asked.get = 0;
    bot = new BotFiles(service);
  });
  afterAll(async () => {
    await stop(service);
    await s3.stop();
  });

  it('indexes contents although S3 cuts one download and refuses others', async () => {
    s3.order('get', 'cut', 500, 503);

    const { id } = await bot.upload('a.txt', paragraphs(100, 'quay'), index);

    const { passages, points, ...rest } = await outcome(service, bot, id);
    expect(rest).toEqual(completed);
    expect(points).toBe(passages);
    expect(s3.asked.get).toBeGreaterThanOrEqual(4);
  });

  it('fails with a reason that exposes no internals when S3 cuts each download', async () => {
    s3.order('get', ...Array<'cut'>(20).fill('cut'));

    const { id } = await bot.upload('a.txt', paragraphs(100, 'quay'), index);

    expect(await outcome(service, bot, id)).toMatchObject({
      status: 'indexing_failed',
      reason: expect.stringMatching(/^Indexing was tried 2 times\. /),
      statuses: 'upload_pending indexing_pending indexing_failed',
      passages: 0,
      points: 0,
    });
  });

  it('stores contents although S3 cuts or refuses some of their parts, and leaves nothing else', async () => {
    s3.order('put', 'cut', 500, 503);

    const file = await bot.upload('large.txt', large);

    expect([...s3.objects.values()].map(({ length }) => length)).toEqual([large.length]);
    expect(s3.unfinished).toBe(0);
    expect(await (await fetch((await bot.get(file.id)).url)).text()).toBe(large);
  });

  it('refuses contents temporarily, and leaves no part, while S3 accepts no part of them', async () => {
    s3.order('put', ...Array<503>(40).fill(503));
    const declared = await bot.upsert({ key: 'large.txt', size: large.length, ...index });

    const refused = await put(declared.uploadUrl, large);

    expect(refused.status).toBe(503);
    expect(s3.objects.size).toBe(0);
    expect(s3.unfinished).toBe(0);
    expect((await bot.get(declared.id)).status).toBe('upload_pending');
    s3.order('put');
    expect((await put(declared.uploadUrl, large)).status).toBe(200);
    expect(await outcome(service, bot, declared.id)).toMatchObject(completed);
  });

  it('aborts the download of a reader when S3 cuts it, instead of ending as if complete', async () => {
    const { id } = await bot.upload('a.txt', large);
    const { url } = await bot.get(id);
    s3.order('get', 'cut');

    const read = fetch(url).then((response) => response.text());

    await expect(read).rejects.toThrow();
    expect(await (await fetch(url)).text()).toBe(large);
  });
});

describe('contents in a folder', () => {
  it('fails only the file of contents that are missing or unreadable in a folder', async () => {
    const blobsDir = await mkdtemp(join(tmpdir(), 'parley-faults-'));
    undo.push(() => rm(blobsDir, { recursive: true, force: true }));
    const service = await start({ blobsDir });
    undo.push(() => stop(service));
    const bot = new BotFiles(service);
    const [missing, unreadable, good] = await Promise.all(
      ['missing.txt', 'unreadable.txt', 'good.txt'].map((key) => bot.upload(key, paragraphs(3, 'crane'), index)),
    );
    await Promise.all([missing, unreadable, good].map((file) => bot.settled(file!.id)));
    const pathOf = async (id: string) => {
      const [row] = await sqlOf(service).query<{ blob_version: string }>(
        'SELECT blob_version FROM file WHERE id = $1',
        [id],
      );
      return join(blobsDir, bot.id, id, row!.blob_version);
    };
    await rm(await pathOf(missing!.id));
    // A folder in its place, since root can read files without permissions.
    await rm(await pathOf(unreadable!.id));
    await mkdir(await pathOf(unreadable!.id));

    await again(service, bot, [missing!.id, unreadable!.id, good!.id]);

    for (const { id } of [missing!, unreadable!]) {
      expect(await outcome(service, bot, id)).toMatchObject({
        status: 'indexing_failed',
        reason: `Indexing was tried 2 times. ${ourSide} The passages indexed before remain searchable.`,
        versions: 1,
      });
    }
    expect(await outcome(service, bot, good!.id)).toMatchObject({ status: 'indexing_completed', versions: 1 });
  });
});

async function again(service: RunningService, bot: BotFiles, ids: string[]): Promise<void> {
  const sql = sqlOf(service);
  for (const id of ids) {
    await sql.query(
      `WITH version AS (UPDATE file SET content_version = content_version || 'X', status = 'indexing_pending'
         WHERE id = $1 RETURNING content_version)
       INSERT INTO indexing_job (file_id, content_version, bot_id, announced_at)
       SELECT $1, content_version, $2, '-infinity' FROM version`,
      [id, bot.id],
    );
  }
}

describe('the passage index', () => {
  const points = new Set<string>();
  let left = 0;
  let refuse: ReturnType<typeof json>;
  let blobsDir: string;
  let qdrant: LoopbackServer;
  let service: RunningService;

  beforeAll(async () => {
    blobsDir = await mkdtemp(join(tmpdir(), 'parley-faults-'));
    qdrant = await LoopbackServer.start((request, response) => {
      const path = `${request.method} ${request.path}`;
      if (path.startsWith('GET')) return json({ status: { error: 'No such collection.' } }, 404)(request, response);
      if (!path.startsWith('PUT') || !path.endsWith('/points')) return json({ result: {} })(request, response);
      if (left-- > 0) return refuse(request, response);
      for (const { id } of (request.body as { points: { id: string }[] }).points) points.add(id);
      return json({ result: { status: 'completed' } })(request, response);
    });
    service = await start({ blobsDir, qdrantUrl: qdrant.url });
  });
  afterAll(async () => {
    await stop(service);
    await qdrant.close();
    await rm(blobsDir, { recursive: true, force: true });
  });

  it.each<[string, 400 | 503 | 'nothing', number, object]>([
    ['answers 503 for a while', 503, 2, { status: 'indexing_completed', statuses: once }],
    ['says nothing for a while', 'nothing', 2, { status: 'indexing_completed', statuses: once }],
    ['refuses once', 400, 1, { status: 'indexing_completed', statuses: once }],
    [
      'refuses always',
      400,
      100,
      { status: 'indexing_failed', reason: `Indexing was tried 2 times. ${ourSide}`, passages: 0 },
    ],
  ])('leads to one final status of the file when the passage index %s', async (_, fault, times, expected) => {
    points.clear();
    left = times;
    refuse = (request, response) => {
      if (fault === 'nothing') return void response.destroy();
      return json({ status: { error: 'Not now.' } }, fault)(request, response);
    };
    const bot = new BotFiles(service);

    const { id } = await bot.upload('a.txt', paragraphs(40, 'tide'), index);

    const found = await outcome(service, bot, id);
    expect(found).toMatchObject(expected);
    expect(points.size).toBe(found.passages);
    expect(times - left).toBeGreaterThan(Math.min(times, 2) - 1);
  });
});

describe('the embedding server', () => {
  it('repeats requests to a silent embedding server, and fails with the timeout as reason', async () => {
    const blobsDir = await mkdtemp(join(tmpdir(), 'parley-faults-'));
    undo.push(() => rm(blobsDir, { recursive: true, force: true }));
    const service = await start({ blobsDir, embeddingsTimeoutMs: 200 });
    undo.push(() => stop(service));
    const bot = new BotFiles(service);
    embeddings.order('silence', 'never');

    const { id } = await bot.upload('a.txt', 'silence', index);

    expect(await outcome(service, bot, id)).toMatchObject({
      status: 'indexing_failed',
      reason: 'Indexing was tried 2 times. The embedding server gave no answer within 200 ms.',
      passages: 0,
      points: 0,
    });
    expect(embeddings.countRequests('silence')).toBe(2);
  });

  it('delays indexing when an embedding server is slow, then down, then back', async () => {
    const blobsDir = await mkdtemp(join(tmpdir(), 'parley-faults-'));
    undo.push(() => rm(blobsDir, { recursive: true, force: true }));
    const service = await start({ blobsDir, indexingAttempts: 5 });
    undo.push(() => stop(service));
    const bot = new BotFiles(service);
    const slow = { delayMs: timeoutMs * 0.6 };
    const down = { status: 502, message: 'bad gateway' };
    embeddings.order('captain', slow, slow, slow, 'never', down, 'garbage', 'well');

    const uploads = await Promise.all(
      Array.from({ length: 6 }, (_, n) => bot.upload(`${n}.txt`, paragraphs(40, 'captain'), index)),
    );

    for (const { id } of uploads) {
      const { passages, points, ...rest } = await outcome(service, bot, id);
      expect(rest).toEqual(completed);
      expect(points).toBe(passages);
      expect(passages).toBeGreaterThanOrEqual(40);
    }
    const searched = await bot.ask(files.search, { query: 'captain paragraph 7', limit: 50 });
    expect(searched.passages.length).toBe(50);
  });
});
