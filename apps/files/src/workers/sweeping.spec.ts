import { mkdtemp, rm, writeFile, mkdir } from 'node:fs/promises';
import { type ClientRequest, request as httpRequest } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { botDeleted } from '@parley/contracts/admin/bots';
import { files as operations, type FileStatus } from '@parley/contracts/files';
import { contentHold } from '@parley/persistence/content-hold';
import { Database } from '@parley/persistence/database';
import { cleanupQueue, cleanupsOf } from '../store/cleanup-queue';
import { FilesRepository } from '../store/files.repository';
import { JobsRepository } from '../store/jobs.repository';
import { PassagesRepository } from '../store/passages.repository';
import { Outbox } from '@parley/events/outbox';
import { WorkQueue } from '@parley/work-queue/work-queue.service';
import { BotFiles, put } from '@parley/testing/bot-files';
import { waitFor } from '@parley/testing/wait-for';
import { EmbeddingServer } from '@parley/testing/embedding-server';
import { type RunningService, startService } from '@parley/testing/running-service';
import { FilesConfig } from '../config';
import { FilesModule } from '../files.module';

let service: RunningService;
let embeddings: EmbeddingServer;
let blobsDir: string;
let sql: Database;
let files: FilesRepository;
let jobs: JobsRepository;
let work: WorkQueue;

beforeAll(async () => {
  blobsDir = await mkdtemp(join(tmpdir(), 'parley-sweeper-'));
  embeddings = await EmbeddingServer.start();
  service = await startFiles();
  const get = <T>(token: new (...parameters: never[]) => T) => service.apps[0]!.get(token, { strict: false });
  sql = service.apps[0]!.get(Database, { strict: false });
  [files, jobs, work] = [get(FilesRepository), get(JobsRepository), get(WorkQueue)];
});
afterAll(async () => {
  await service?.stop();
  await embeddings?.stop();
  await rm(blobsDir, { recursive: true, force: true });
});

function startFiles(): Promise<RunningService> {
  return startService((databaseUrl, platform, contentUrl) =>
    FilesModule.register(
      Object.assign(new FilesConfig(), {
        databaseUrl,
        databasePoolSize: 5,
        blobsDir,
        contentUrl,
        secretKey: 's'.repeat(32),
        sweepIntervalMs: 50,
        embeddingsUrl: embeddings.url,
      }),
      platform,
    ),
  );
}

const newBot = () => new BotFiles(service);
const rows = (text: string, ...values: unknown[]) => sql.query<Record<string, string | null>>(text, values);
const countOf = async (table: string, bot: BotFiles) =>
  Number((await rows(`SELECT count(*) FROM ${table} WHERE bot_id = $1`, bot.id))[0]!['count']);
const waitingOf = async (bot: BotFiles) => (await rows('SELECT 1 FROM work WHERE tenant = $1', bot.id)).length;
const isErased = async (bot: BotFiles) =>
  (await rows('SELECT 1 FROM deleted_bot WHERE bot_id = $1 AND erased_at IS NOT NULL', bot.id)).length === 1;
const rowOf = async (id: string) => (await rows('SELECT * FROM file WHERE id = $1', id))[0]!;
const versionOf = async (bot: BotFiles, fileId: string) => ({
  botId: bot.id,
  fileId,
  contentVersion: (await rowOf(fileId))['content_version']!,
});
const lapse = (id: string) =>
  sql.query("UPDATE file SET upload_expires_at = now() - interval '1 second' WHERE id = $1", [id]);

async function playWorker(bot: BotFiles, fileId: string, outcome: 'finish' | 'fail'): Promise<void> {
  const version = await versionOf(bot, fileId);
  const job = (await jobs.claimNextOfBot(bot.id, 'player'))!;
  await writePassage(version, `passage of ${version.contentVersion}`);
  await sql.transaction(async (tx) => {
    await jobs.finishJob(tx, job);
    if (outcome === 'finish') await files.finishIndexing(tx, fileId, version.contentVersion);
    else await files.failIndexing(tx, fileId, version.contentVersion, { reason: 'no text found' });
    await work.add(tx, cleanupQueue, cleanupsOf(version));
  });
}

async function writePassage(
  version: { botId: string; fileId: string; contentVersion: string },
  content: string,
): Promise<void> {
  const app = service.apps[0]!;
  const passage = { position: 0, content, subtype: 'paragraph' as const, breadcrumb: [] };
  await app.get(PassagesRepository, { strict: false }).upsertPassages(version, [passage]);
  await sql.query('INSERT INTO local_index_tenant VALUES ($1, 1, 1) ON CONFLICT DO NOTHING', [version.botId]);
  await sql.query(
    `INSERT INTO local_index_point (bot_id, id, model, file_id, content_version, vector, term_indices, term_values, tags, revision)
     VALUES ($1, gen_random_uuid(), 'm', $2, $3, '', '', '', '{}', 1)`,
    [version.botId, version.fileId, version.contentVersion],
  );
}

async function halfway(bot: BotFiles, uploadUrl: string, fileId: string): Promise<ClientRequest> {
  const request = httpRequest(uploadUrl, { method: 'PUT', headers: { 'content-length': 10 }, agent: false });
  request.on('error', () => undefined);
  request.write('12345');
  await waitFor(
    async () => (await rows('SELECT 1 FROM upload WHERE file_id = $1', fileId)).length,
    (uploads) => uploads === 1,
  );
  return request;
}

async function announceDeleted(bot: BotFiles): Promise<void> {
  const outbox = service.apps[0]!.get(Outbox, { strict: false });
  await sql.transaction((tx) => outbox.add(tx, botDeleted, { botId: bot.id, workspaceId: 'wkspace_test' }));
}
const nothing = { files: 0, passages: 0, blobs: 0, points: 0 };

describe('the status of a file', () => {
  type Subject = { bot: BotFiles; id: string; uploadUrl: string; index: boolean };
  const reach: Record<FileStatus, (subject: Subject) => Promise<unknown>> = {
    upload_pending: () => Promise.resolve(),
    upload_failed: async ({ bot, id }) => {
      await lapse(id);
      await waitFor(
        () => bot.get(id),
        ({ status }) => status === 'upload_failed',
      );
    },
    upload_completed: ({ uploadUrl }) => put(uploadUrl, 'x'),
    indexing_pending: ({ uploadUrl }) => put(uploadUrl, 'x'),
    indexing_completed: async ({ uploadUrl, bot, id }) => {
      await put(uploadUrl, 'x');
      await playWorker(bot, id, 'finish');
    },
    indexing_failed: async ({ uploadUrl, bot, id }) => {
      await put(uploadUrl, 'x');
      await playWorker(bot, id, 'fail');
    },
  };
  const actions = {
    'the same key is declared': ({ bot, index }: Subject) => bot.upsert({ key: 'a', size: 1, index }),
    'its URL takes content': ({ uploadUrl }: Subject) => put(uploadUrl, 'x'),
    'an upload is too short': ({ uploadUrl }: Subject) => put(uploadUrl, ''),
    'an upload is too long': ({ uploadUrl }: Subject) => put(uploadUrl, 'xx'),
    'its URL lapses': async ({ id, bot }: Subject) => {
      await lapse(id);
      await files.failLapsedUploads(bot.id, 100);
    },
    'the job of its content ends': async ({ id }: Subject) =>
      files.finishIndexing(sql, id, (await rowOf(id))['content_version'] ?? 'none'),
    'the job of its content fails': async ({ id }: Subject) =>
      files.failIndexing(sql, id, (await rowOf(id))['content_version'] ?? 'none', { reason: 'reason' }),
    'the job of another content ends': ({ id }: Subject) => files.finishIndexing(sql, id, 'another'),
    'the job of another content fails': ({ id }: Subject) =>
      files.failIndexing(sql, id, 'another', { reason: 'reason' }),
  };
  type Action = keyof typeof actions;
  const declared: Partial<Record<Action, FileStatus>> = { 'the same key is declared': 'upload_pending' };
  /** All transitions; any other action changes nothing. */
  const transitions: [FileStatus, boolean, Partial<Record<Action, FileStatus>>][] = [
    [
      'upload_pending',
      false,
      { ...declared, 'its URL takes content': 'upload_completed', 'its URL lapses': 'upload_failed' },
    ],
    [
      'upload_pending',
      true,
      { ...declared, 'its URL takes content': 'indexing_pending', 'its URL lapses': 'upload_failed' },
    ],
    ['upload_failed', false, declared],
    ['upload_failed', true, declared],
    ['upload_completed', false, declared],
    [
      'indexing_pending',
      true,
      {
        ...declared,
        'the job of its content ends': 'indexing_completed',
        'the job of its content fails': 'indexing_failed',
      },
    ],
    ['indexing_completed', true, { ...declared, 'its URL takes content': 'indexing_pending' }],
    ['indexing_failed', true, { ...declared, 'its URL takes content': 'indexing_pending' }],
  ];
  const cases = transitions.flatMap(([from, index, changes]) =>
    (Object.keys(actions) as Action[]).map((action) => [from, action, changes[action] ?? from, index] as const),
  );

  it.each(cases)(
    'changes the status of a file from %s: when %s, it becomes %s (index: %s)',
    async (from, action, to, index) => {
      const bot = newBot();
      const { id, uploadUrl } = await bot.upsert({ key: 'a', size: 1, index });
      const subject = { bot, id, uploadUrl, index };
      await reach[from](subject);
      expect((await bot.get(id)).status).toBe(from);

      await actions[action](subject);

      // A concurrent sweep may hold the row, and do the same a moment later.
      await waitFor(
        () => bot.get(id),
        ({ status }) => status === to,
      );
    },
  );
});

describe('the sweeper', () => {
  it('fails an upload whose URL has expired, and keeps the previous reason', async () => {
    const bot = newBot();
    const never = await bot.upsert({ key: 'never', size: 1 });
    const cut = await bot.upsert({ key: 'short', size: 5 });
    await put(cut.uploadUrl, 'abc');

    await lapse(never.id);
    await lapse(cut.id);

    const failed = await waitFor(
      async () => (await bot.list()).files,
      (all) => all.every(({ status }) => status === 'upload_failed'),
    );
    expect(failed.map(({ failedStatusReason }) => failedStatusReason)).toEqual([
      expect.stringMatching(/carries 3 bytes.*expired: declare the file again/),
      'The upload URL expired: declare the file again.',
    ]);
    expect((await put(never.uploadUrl, 'x')).status).toBe(403);
    expect((await bot.get('never')).status).toBe('upload_failed');
  });

  it('leaves an upload alone that began before its URL expired', async () => {
    const bot = newBot();
    const { id, uploadUrl } = await bot.upsert({ key: 'a', size: 10 });
    const request = await halfway(bot, uploadUrl, id);
    const answered = new Promise<number>((resolve) =>
      request.once('response', (response) => resolve(response.statusCode!)),
    );

    await lapse(id);
    await files.failLapsedUploads(bot.id, 100);
    request.end('67890');

    expect(await answered).toBe(200);
    expect((await bot.get(id)).status).toBe('upload_completed');
  });

  it('removes leftovers of a dead upload, and not those of an active one', async () => {
    const bot = newBot();
    const file = await bot.upload('a', 'content');
    const folder = join(blobsDir, bot.id, file.id);
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, 'VANISHED'), 'x');
    await writeFile(join(folder, 'ARRIVING'), 'x');

    await sql.query("INSERT INTO upload (content_version, bot_id, file_id) VALUES ('ARRIVING', $1, $2)", [
      bot.id,
      file.id,
    ]);
    await sql.query("INSERT INTO upload VALUES ('VANISHED', $1, $2, now() - interval '11 minutes')", [bot.id, file.id]);

    await waitFor(
      () => bot.leftovers(),
      ({ blobs }) => blobs === 2,
    );
    expect(await rows('SELECT content_version FROM upload WHERE bot_id = $1', bot.id)).toEqual([
      { content_version: 'ARRIVING' },
    ]);
    expect(await (await fetch((await bot.get('a')).url)).text()).toBe('content');
  });

  it('rejects an upload that the sweeper has given up', async () => {
    const bot = newBot();
    const { id, uploadUrl } = await bot.upsert({ key: 'a', size: 10 });
    const request = await halfway(bot, uploadUrl, id);
    const answered = new Promise<number>((resolve) =>
      request.once('response', (response) => resolve(response.statusCode!)),
    );

    await sql.query("UPDATE upload SET touched_at = now() - interval '11 minutes' WHERE file_id = $1", [id]);
    await waitFor(
      () => countOf('upload', bot),
      (count) => count === 0,
    );
    request.end('67890');

    expect(await answered).toBe(403);
    expect(await bot.get(id)).toMatchObject({
      status: 'upload_pending',
      failedStatusReason: expect.stringContaining('took too long'),
    });
    await waitFor(
      () => bot.leftovers(),
      ({ blobs }) => blobs === 0,
    );
  });

  it('removes no content while a backup runs, and does so afterwards', async () => {
    const [bot, deleted] = [newBot(), newBot()];
    await bot.upload('a', 'former');
    await deleted.upload('b', 'x');
    const lapsed = await bot.upsert({ key: 'lapsed', size: 1 });

    await sql.transaction(async (tx) => {
      await tx.query(`SELECT pg_advisory_xact_lock(${contentHold})`);
      await bot.upload('a', 'newer');
      await announceDeleted(deleted);
      await waitFor(
        () => countOf('file', deleted),
        (count) => count === 0,
      );
      await lapse(lapsed.id);
      await waitFor(
        () => bot.get(lapsed.id),
        ({ status }) => status === 'upload_failed',
      );

      expect([(await bot.leftovers()).blobs, (await deleted.leftovers()).blobs]).toEqual([2, 1]);
    });

    await sql.query("UPDATE deleted_bot SET deleted_at = now() - interval '2 minutes' WHERE bot_id = $1", [deleted.id]);
    await waitFor(
      async () => [(await bot.leftovers()).blobs, (await deleted.leftovers()).blobs],
      ([ofBot, ofDeleted]) => ofBot === 1 && ofDeleted === 0,
    );
  });

  it('removes expired files with all their data, and no others', async () => {
    const bot = newBot();
    const [expired, kept] = [
      await bot.upload('expired', 'x', { index: true }),
      await bot.upload('kept', 'x', { index: true }),
    ];
    for (const { id } of [expired, kept]) await playWorker(bot, id, 'finish');

    await sql.query("UPDATE file SET expires_at = now() - interval '1 second' WHERE id = $1", [expired.id]);

    await waitFor(
      () => bot.leftovers(),
      ({ points, blobs }) => points === 1 && blobs === 1,
    );
    expect(await bot.leftovers()).toEqual({ files: 1, passages: 1, blobs: 1, points: 1 });
    expect(await bot.passages('kept')).toHaveLength(1);
  });

  it('removes superseded content once the newer content is indexed, and not before', async () => {
    const bot = newBot();
    const file = await bot.upload('a', '1', { index: true });
    await playWorker(bot, file.id, 'finish');
    const [old] = await bot.passages('a');

    await put(file.uploadUrl, '2');
    await waitFor(
      () => waitingOf(bot),
      (count) => count === 0,
    );
    expect(await bot.passages('a')).toEqual([old]);
    expect(await bot.leftovers()).toEqual({ files: 1, passages: 1, blobs: 1, points: 1 });
    await playWorker(bot, file.id, 'finish');

    await waitFor(
      () => waitingOf(bot),
      (count) => count === 0,
    );
    expect(await bot.leftovers()).toEqual({ files: 1, passages: 1, blobs: 1, points: 1 });
    expect(await bot.passages('a')).not.toEqual([old]);
  });

  it('gives the points of a file its newest tags, also while a newer content is being indexed', async () => {
    const bot = newBot();
    const [file, other] = [await bot.upload('a', '1', { index: true }), await bot.upload('b', '1', { index: true })];
    for (const { id } of [file, other]) await playWorker(bot, id, 'finish');
    const tagsOfPoints = (id: string) => rows('SELECT tags FROM local_index_point WHERE file_id = $1', id);

    await put(file.uploadUrl, '2');
    await bot.ask(operations.update, { id: file.id, tags: { state: 'new' } });

    const points = await waitFor(
      () => tagsOfPoints(file.id),
      ([point]) => !isDeepStrictEqual(point, { tags: {} }),
    );
    expect(points).toEqual([{ tags: { state: 'new' } }]);
    expect(await tagsOfPoints(other.id)).toEqual([{ tags: {} }]);
    expect(await bot.get(file.id)).toMatchObject({ status: 'indexing_pending' });
  });

  it('drops a superseded job, with the data that its dead worker wrote', async () => {
    const bot = newBot();
    const file = await bot.upload('a', '1', { index: true });
    const version = await versionOf(bot, file.id);
    await jobs.claimNextOfBot(bot.id, 'vanished');
    await bot.upsert({ key: 'a', size: 1 });
    await waitFor(
      () => waitingOf(bot),
      (count) => count === 0,
    );
    await writePassage(version, 'late');

    expect(await countOf('indexing_job', bot)).toBe(1);
    await sql.query("UPDATE indexing_job SET heartbeat_at = now() - interval '16 seconds' WHERE bot_id = $1", [bot.id]);

    await waitFor(
      () => bot.leftovers(),
      ({ points, passages }) => points === 0 && passages === 0,
    );
    expect(await countOf('indexing_job', bot)).toBe(0);
  });

  it('announces a waiting indexing job again, each time after a longer pause', async () => {
    const [bot, other] = [newBot(), newBot()];
    for (const each of [bot, other]) await each.upload('a', '1', { index: true });
    const announced = async ({ id }: BotFiles) =>
      (await rows("SELECT 1 FROM outbox WHERE subject = 'files.uploaded' AND data->>'botId' = $1", id)).length;
    const untilAnnounced = (of: BotFiles, wanted: number) =>
      waitFor(
        () => announced(of),
        (times) => times === wanted,
      );
    const wait = ({ id }: BotFiles, seconds: number) =>
      sql.query('UPDATE indexing_job SET announced_at = now() - make_interval(secs => $2) WHERE bot_id = $1', [
        id,
        seconds,
      ]);

    await untilAnnounced(bot, 1);
    await wait(bot, 61);
    await untilAnnounced(bot, 2);
    await wait(bot, 61);
    // The sweep that finds this job would find the first one too.
    await wait(other, 61);
    await untilAnnounced(other, 2);
    expect(await announced(bot)).toBe(2);
    await wait(bot, 121);
    await untilAnnounced(bot, 3);
  });

  it('cleans up other files when it fails for one', async () => {
    const bot = newBot();
    const [bad, good] = [await bot.upload('bad', 'x'), await bot.upload('good', 'x')];
    // A folder in place of a blob: it cannot be removed as a blob.
    await mkdir(join(blobsDir, bot.id, bad.id, 'FOLDER', 'inside'), { recursive: true });

    await bot.delete(bad.id);
    await bot.delete(good.id);

    const left = await waitFor(
      () => rows('SELECT key FROM work WHERE tenant = $1', bot.id),
      (noted) => noted.length === 1,
    );
    expect(left).toEqual([{ key: bad.id }]);
  });

  it('returns the files that the sweeper has not reached when it stops', async () => {
    const stopping = await startFiles();
    const bot = new BotFiles(stopping);
    const database = await Database.open({ url: stopping.databaseUrl, schema: 'files', migrations: [], poolSize: 3 });
    const ids = await Promise.all(['a', 'b', 'c'].map(async (key) => (await bot.upsert({ key, size: 1 })).id));
    let closed: Promise<void> | undefined;
    await database.transaction(async (tx) => {
      await tx.query('SELECT 1 FROM file WHERE id = ANY($1) FOR UPDATE', [ids]);
      const works = cleanupsOf(...ids.map((fileId) => ({ botId: bot.id, fileId })));
      await stopping.apps[0]!.get(WorkQueue, { strict: false }).addNow(cleanupQueue, works);
      await waitFor(
        () => database.query(`SELECT 1 FROM work WHERE state = 'running'`),
        (running) => running.length === 1,
      );
      closed = stopping.apps[0]!.close();
    });
    await closed;

    const left = await database.query('SELECT state, attempts FROM work');

    expect(left).toEqual([
      { state: 'ready', attempts: 0 },
      { state: 'ready', attempts: 0 },
    ]);
    await database.close();
    await stopping.stop();
  });

  it('cleans up a file with one connection, so that two cleanups cannot wait for each other', async () => {
    const bot = newBot();
    const file = await bot.upload('a', '1', { index: true });
    await playWorker(bot, file.id, 'finish');
    let giveBack = () => {};
    const given = new Promise<void>((resolve) => (giveBack = resolve));
    const holders = Array.from({ length: 4 }, () =>
      sql.transaction(async (tx) => {
        await tx.query('SELECT 1');
        await given;
      }),
    );

    await bot.delete(file.id);
    const tidied = waitFor(
      () => waitingOf(bot),
      (count) => count === 0,
    ).finally(giveBack);

    await tidied;
    expect(await bot.leftovers()).toEqual({ files: 0, passages: 0, blobs: 0, points: 0 });
    await Promise.all(holders);
  });
});

describe('the deletion of a bot', () => {
  it('returns 404 for leftovers of an invalid bot id', async () => {
    await expect(newBot().ask(operations.countLeftovers, { botId: '../etc' })).rejects.toMatchObject({
      type: 'ResourceNotFound',
    });
  });

  it('erases rows, blobs and points of a deleted bot, and nothing of another bot', async () => {
    const [bot, other] = [newBot(), newBot()];
    for (const owner of [bot, other]) {
      const indexed = await owner.upload('indexed', 'x', { index: true });
      await playWorker(owner, indexed.id, 'finish');
      await owner.upload('waiting', 'x', { index: true });
      await owner.upload('plain', 'x');
      await owner.upsert({ key: 'pending', size: 1 });
    }
    const before = await other.leftovers();
    expect(before).toEqual({ files: 4, passages: 1, blobs: 3, points: 1 });

    await announceDeleted(bot);

    await waitFor(
      () => bot.leftovers(),
      ({ blobs, files: left, points }) => blobs + left + points === 0,
    );
    expect(await bot.leftovers()).toEqual(nothing);
    for (const table of ['indexing_job', 'upload']) expect(await countOf(table, bot)).toBe(0);
    await waitFor(
      () => waitingOf(bot),
      (count) => count === 0,
    );
    expect(await other.leftovers()).toEqual(before);
    expect((await other.list()).files).toHaveLength(4);
  });

  it('rejects all later writes of a deleted bot', async () => {
    const bot = newBot();
    const { uploadUrl } = await bot.upsert({ key: 'a', size: 1 });
    await announceDeleted(bot);
    await waitFor(
      () => countOf('file', bot),
      (count) => count === 0,
    );

    await expect(bot.upsert({ key: 'b', size: 1 })).rejects.toMatchObject({ type: 'Forbidden' });

    expect((await put(uploadUrl, 'x')).status).toBe(403);
    expect(await bot.leftovers()).toEqual(nothing);
  });

  it('erases a bot once when its deletion is announced again', async () => {
    const bot = newBot();
    await bot.upload('a', 'x');

    for (let n = 0; n < 3; n += 1) await announceDeleted(bot);

    await waitFor(() => isErased(bot));
    expect(await bot.leftovers()).toEqual(nothing);
    expect(await rows('SELECT 1 FROM dead_letter')).toEqual([]);
  });

  it('ends an upload under way of a deleted bot, and keeps nothing of it', async () => {
    const bot = newBot();
    const { id, uploadUrl } = await bot.upsert({ key: 'a', size: 10 });
    const request = await halfway(bot, uploadUrl, id);
    const answered = new Promise<number>((resolve) =>
      request.once('response', (response) => resolve(response.statusCode!)),
    );
    await announceDeleted(bot);
    await waitFor(
      () => countOf('file', bot),
      (count) => count === 0,
    );

    request.end('67890');

    expect(await answered).toBe(403);
    // The erasure deletes the cleanups of the bot before it removes the contents.
    await waitFor(() => isErased(bot));
    await waitFor(
      () => waitingOf(bot),
      (count) => count === 0,
    );
    expect(await bot.leftovers()).toEqual(nothing);
  });

  it.each([
    ['a file that was let in while its bot was erased', 'UPDATE deleted_bot SET erased_at = now() WHERE bot_id = $1'],
    [
      'the data left by a killed worker or upload, an hour later',
      "UPDATE deleted_bot SET deleted_at = now() - interval '61 minutes', erased_at = now() - interval '60 minutes' WHERE bot_id = $1",
    ],
    [
      'the data left by a killed erasure',
      "UPDATE deleted_bot SET deleted_at = now() - interval '2 minutes', erased_at = NULL WHERE bot_id = $1",
    ],
  ])('repeats the deletion of a bot for %s', async (name, later) => {
    const bot = newBot();
    await bot.upload('seed', 'x');
    await announceDeleted(bot);
    await waitFor(() => isErased(bot));
    await mkdir(join(blobsDir, bot.id, 'file_x'), { recursive: true });
    await writeFile(join(blobsDir, bot.id, 'file_x', 'LATE'), 'x');
    await writePassage({ botId: bot.id, fileId: 'file_x', contentVersion: 'LATE' }, 'late');
    if (name.startsWith('a file')) {
      const { id } = await newBot().upsert({ key: 'a', size: 1 });
      await sql.query('UPDATE file SET bot_id = $2 WHERE id = $1', [id, bot.id]);
    }

    await sql.query(later, [bot.id]);

    await waitFor(
      () => bot.leftovers(),
      (left) => Object.values(left).every((count) => count === 0),
    );
  });
});
