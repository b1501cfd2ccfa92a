import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { files, fileUploaded } from '@parley/contracts/files';
import type { NewPassage } from '@parley/contracts/passages';
import { Database } from '@parley/persistence/database';
import { Outbox } from '@parley/events/outbox';
import { BotFiles, put } from '@parley/testing/bot-files';
import { EmbeddingServer } from '@parley/testing/embedding-server';
import { type RunningService, startService } from '@parley/testing/running-service';
import { waitFor } from '@parley/testing/wait-for';
import { FilesModule } from '../../../files/src/files.module';
import { FilesWorkerConfig } from '../config';
import { FilesWorkerModule } from '../files-worker.module';

let service: RunningService;
let embeddings: EmbeddingServer;
let blobsDir: string;
let sql: Database;

beforeAll(async () => {
  blobsDir = await mkdtemp(join(tmpdir(), 'parley-set-passages-'));
  embeddings = await EmbeddingServer.start();
  const config = (databaseUrl: string) =>
    Object.assign(new FilesWorkerConfig(), {
      databaseUrl,
      databasePoolSize: 4,
      blobsDir,
      embeddingsUrl: embeddings.url,
      heartbeatMs: 50,
    });
  service = await startService(
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
  sql = service.apps[0]!.get(Database, { strict: false });
});
afterAll(async () => {
  service?.apps[0]?.getHttpServer()?.closeAllConnections();
  await service?.stop();
  await embeddings?.stop();
  await rm(blobsDir, { recursive: true, force: true });
});

const newMarker = () => `marker${randomBytes(6).toString('hex')}`;
const numbered = (word: string, count: number): NewPassage[] =>
  Array.from({ length: count }, (_, n) => ({ content: `${word} ${n}` }));
const set = (bot: BotFiles, id: string, passages: NewPassage[]) => bot.ask(files.setPassages, { id, passages });
const contents = async (bot: BotFiles, id: string) => (await bot.passages(id)).map(({ content }) => content);
const found = async (bot: BotFiles, query: string) =>
  (await bot.ask(files.search, { query, limit: 50 })).passages.map(({ content }) => content);

async function newIndexed() {
  const bot = new BotFiles(service);
  const file = await bot.upload('a.txt', 'Old text.', { index: true });
  await bot.settled(file.id);
  return { bot, id: file.id, uploadUrl: file.uploadUrl };
}

async function tidied(bot: BotFiles) {
  await waitFor(
    () =>
      sql.query('SELECT 1 FROM work WHERE tenant = $1 UNION ALL SELECT 1 FROM indexing_job WHERE bot_id = $1', [
        bot.id,
      ]),
    ({ length }) => length === 0,
  );
  return bot.leftovers();
}

describe('passages that are set', () => {
  it('replaces the passages of the content by set ones, with all their fields', async () => {
    const { bot, id } = await newIndexed();

    await set(bot, 'a.txt', [
      { content: 'The title', type: 'title', pageNumber: 1 },
      { content: 'A paragraph', pageNumber: 1_000_000 },
      { content: 'A picture of it', type: 'image' },
    ]);

    expect(await bot.settled(id)).toMatchObject({ status: 'indexing_completed', size: 9 });
    expect((await bot.passages(id)).map(({ content, meta }) => ({ content, meta }))).toEqual([
      { content: 'The title', meta: { type: 'chunk', subtype: 'title', pageNumber: 1, position: 0 } },
      { content: 'A paragraph', meta: { type: 'chunk', subtype: 'paragraph', pageNumber: 1_000_000, position: 1 } },
      { content: 'A picture of it', meta: { type: 'image', subtype: 'image', position: 2 } },
    ]);
    expect((await found(bot, 'text')).sort()).toEqual(['A paragraph', 'A picture of it', 'The title']);
    expect(await tidied(bot)).toEqual({ files: 1, passages: 3, blobs: 1, points: 3 });
  });

  it('keeps the passages of one request, complete, when several set them at once', async () => {
    const { bot, id } = await newIndexed();
    const sets = Array.from({ length: 8 }, (_, n) => numbered(`set${n}`, 40 + n));

    await Promise.all(sets.map((passages) => set(bot, id, passages)));

    expect((await bot.settled(id)).status).toBe('indexing_completed');
    const kept = await contents(bot, id);
    const winner = sets.find((passages) => passages[0]!.content === kept[0])!;
    expect(kept).toEqual(winner.map(({ content }) => content));
    expect(await tidied(bot)).toEqual({ files: 1, passages: kept.length, blobs: 1, points: kept.length });
  });

  it('replaces passages that are set while the content is being indexed', async () => {
    const [bot, marker] = [new BotFiles(service), newMarker()];
    const held = embeddings.hold(marker);
    const { id } = await bot.upload('a.txt', `${marker} of the content.`, { index: true });
    await held.reached;

    await set(bot, id, [{ content: 'Set meanwhile' }]);
    held.release();

    expect((await bot.settled(id)).status).toBe('indexing_completed');
    expect(await tidied(bot)).toEqual({ files: 1, passages: 1, blobs: 1, points: 1 });
    expect(await contents(bot, id)).toEqual(['Set meanwhile']);
    expect(await found(bot, marker)).toEqual(['Set meanwhile']);
  });

  it('shows the old passages until all vectors of the new ones are written', async () => {
    const [{ bot, id }, marker] = [await newIndexed(), newMarker()];
    const held = embeddings.hold(marker);

    await set(bot, id, [...numbered('New', 100), { content: marker }]);
    await held.reached;
    const [listed, searched, file] = [await contents(bot, id), await found(bot, 'New 1'), await bot.get(id)];
    held.release();

    expect([listed, searched]).toEqual([['Old text.'], ['Old text.']]);
    expect(file.status).toBe('indexing_pending');
    await bot.settled(id);
    expect(await contents(bot, id)).toHaveLength(101);
  });

  it('removes set passages for new content at the same URL, and for a new declaration of the file', async () => {
    const { bot, id, uploadUrl } = await newIndexed();
    await set(bot, id, numbered('Set', 30));
    await bot.settled(id);

    expect((await put(uploadUrl, 'New text.')).status).toBe(200);
    await bot.settled(id);
    const uploaded = await contents(bot, id);
    await set(bot, id, numbered('Set', 30));
    await bot.settled(id);
    await bot.upload('a.txt', 'Declared anew.', { index: true });
    await bot.settled(id);

    expect(uploaded).toEqual(['New text.']);
    expect(await contents(bot, id)).toEqual(['Declared anew.']);
    expect(await found(bot, 'Set 1')).toEqual(['Declared anew.']);
    expect(await tidied(bot)).toEqual({ files: 1, passages: 1, blobs: 1, points: 1 });
  });

  it('accepts 5,000 passages', async () => {
    const { bot, id } = await newIndexed();

    await set(bot, id, numbered('One of many', 5_000));

    expect((await bot.settled(id, 60_000)).status).toBe('indexing_completed');
    expect(await tidied(bot)).toMatchObject({ passages: 5_000, points: 5_000 });
    expect(await contents(bot, id)).toHaveLength(200);
  });

  it('indexes a file with an empty list of passages, in which a search finds nothing', async () => {
    const { bot, id } = await newIndexed();

    await set(bot, id, []);

    expect((await bot.settled(id)).status).toBe('indexing_completed');
    expect(await bot.passages(id)).toEqual([]);
    expect(await found(bot, 'text')).toEqual([]);
    expect(await tidied(bot)).toEqual({ files: 1, passages: 0, blobs: 1, points: 0 });
    await set(bot, id, [{ content: 'Something again' }]);
    await bot.settled(id);
    expect(await contents(bot, id)).toEqual(['Something again']);
  });

  it('indexes set passages once for repeated events, also for late ones', async () => {
    const [{ bot, id }, marker] = [await newIndexed(), newMarker()];
    await set(bot, id, [{ content: marker }]);
    const [row] = await sql.query<{ version: string }>('SELECT content_version AS version FROM file WHERE id = $1', [
      id,
    ]);
    const version = { botId: bot.id, fileId: id, contentVersion: row!.version };
    const announce = () =>
      sql.transaction((tx) =>
        service.apps[0]!.get(Outbox, { strict: false }).addAll(tx, fileUploaded, [version, version, version]),
      );

    await announce();
    await bot.settled(id);
    await announce();
    await set(bot, id, [{ content: 'Newer' }]);
    await bot.settled(id);
    await announce();

    expect(await contents(bot, id)).toEqual(['Newer']);
    expect(await tidied(bot)).toMatchObject({ passages: 1, points: 1 });
    expect(embeddings.countRequests(marker)).toBeLessThanOrEqual(1);
  });

  it('keeps the tags that the file gets while its passages are set', async () => {
    const [{ bot, id }, marker] = [await newIndexed(), newMarker()];
    const held = embeddings.hold(marker);
    await set(bot, id, [{ content: marker }]);
    await held.reached;

    await bot.ask(files.update, { id, tags: { state: 'final' } });
    held.release();
    await bot.settled(id);

    const tags = { state: { in: ['final'], notIn: [] } };
    const passages = await waitFor(
      async () => (await bot.ask(files.search, { query: 'x', tags })).passages,
      ({ length }) => length > 0,
    );
    expect(passages.map(({ content }) => content)).toEqual([marker]);
  });

  it.each([
    ['a file without index', { index: false }, true, 'InvalidPayload', /index: true/],
    ['a file without content', { index: true }, false, 'InvalidPayload', /no content yet/],
  ] as const)('refuses to set passages of %s', async (_what, options, isUploaded, type, message) => {
    const bot = new BotFiles(service);
    if (isUploaded) await bot.upload('a.txt', 'x', options);
    else await bot.upsert({ key: 'a.txt', size: 1, ...options });

    await expect(set(bot, 'a.txt', [{ content: 'x' }])).rejects.toMatchObject({
      type,
      message: expect.stringMatching(message),
    });
  });

  it('lets only the owner of the file set passages', async () => {
    const { bot, id } = await newIndexed();
    await bot.ask(files.update, { id, accessPolicies: ['integrations'] });

    await expect(set(bot.byIntegration('slack'), id, [])).rejects.toMatchObject({ type: 'Forbidden' });
    await expect(set(bot.forUser('user_ann'), id, [])).rejects.toMatchObject({ type: 'ResourceNotFound' });
    await expect(set(new BotFiles(service), id, [])).rejects.toMatchObject({ type: 'ResourceNotFound' });
    await expect(set(bot, 'none', [])).rejects.toMatchObject({ type: 'ResourceNotFound' });
    expect(await contents(bot, id)).toEqual(['Old text.']);
  });
});
