import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { retiredModels } from '@parley/passages/bundled-embedder';
import { systemCaller } from '@parley/contracts/caller';
import { files } from '@parley/contracts/files';
import { Database } from '@parley/persistence/database';
import { BotFiles, put } from '@parley/testing/bot-files';
import { EmbeddingServer } from '@parley/testing/embedding-server';
import { json, LoopbackServer } from '@parley/testing/loopback-server';
import { type RunningService, startServiceOn } from '@parley/testing/running-service';
import { createEmptyDatabase, type EmptyDatabase, removeRows } from '@parley/testing/test-database';
import { waitFor } from '@parley/testing/wait-for';
import { FilesWorkerConfig } from '../../../files-worker/src/config';
import { FilesWorkerModule } from '../../../files-worker/src/files-worker.module';
import { FilesConfig } from '../config';
import { FilesModule } from '../files.module';

// The tests start the service up to seven times.

type Models = Partial<Pick<FilesConfig, `${'e' | 'nextE'}mbeddings${'Url' | 'Model'}` | 'qdrantUrl'>>;

let former: EmbeddingServer;
let later: EmbeddingServer;
let blobsDir: string;
let database: EmptyDatabase;
let service: RunningService | undefined;

let before: Models;
let during: Models;
let after: Models;

beforeAll(async () => {
  blobsDir = await mkdtemp(join(tmpdir(), 'parley-reindex-'));
  database = await createEmptyDatabase();
});

beforeEach(async () => {
  [former, later] = await Promise.all([EmbeddingServer.start(), EmbeddingServer.start({ dimensions: 16 })]);
  before = { embeddingsUrl: former.url, embeddingsModel: 'former' };
  during = { ...before, nextEmbeddingsUrl: later.url, nextEmbeddingsModel: 'later' };
  after = { embeddingsUrl: later.url, embeddingsModel: 'later' };
});

afterEach(async () => {
  await stop();
  await Promise.all([former.stop(), later.stop()]);
  await removeRows(database, 'files', 'events');
});

afterAll(async () => {
  await database.drop();
  await rm(blobsDir, { recursive: true, force: true });
});

async function restart(models: Models): Promise<RunningService> {
  await stop();
  const settings = { databasePoolSize: 5, blobsDir, embeddingsTimeoutMs: 5_000, ...models };
  service = await startServiceOn(
    database.url,
    (databaseUrl, platform, contentUrl) =>
      FilesModule.register(
        Object.assign(new FilesConfig(), settings, {
          databaseUrl,
          contentUrl,
          secretKey: 's'.repeat(32),
          sweepIntervalMs: 100,
        }),
        platform,
      ),
    (databaseUrl, platform) =>
      FilesWorkerModule.register(
        Object.assign(new FilesWorkerConfig(), settings, {
          databaseUrl,
          indexingAttempts: 2,
          heartbeatMs: 50,
        }),
        platform,
      ),
  );
  return service;
}

async function stop(): Promise<void> {
  service?.apps[0]?.getHttpServer()?.closeAllConnections();
  await service?.stop();
  service = undefined;
}

const newBot = () => new BotFiles({ call: (operation, caller, input) => service!.call(operation, caller, input) });
const rows = <T>(text: string, ...values: unknown[]) =>
  service!.apps[0]!.get(Database, { strict: false }).query<T>(text, values);
const advance = () => service!.call(files.reindex.advance, systemCaller('test'), {});
const dropFormer = () => service!.call(files.reindex.dropFormer, systemCaller('test'), {});
/** On a busy machine, a reader alone takes seconds to start. */
const settledWithinMs = 90_000;
const complete = () => waitFor(advance, ({ isComplete }) => isComplete, 30_000);
const paragraphs = (count: number, word: string) =>
  Array.from({ length: count }, (_, n) => `${word}${n} here. ${'Some words that fill it up. '.repeat(30)}`).join(
    '\n\n',
  );

async function upload(bot: BotFiles, key: string, content: string) {
  const file = await bot.upload(key, content, { index: true });
  expect(await bot.settled(file.id)).toMatchObject({ status: 'indexing_completed' });
  return file;
}

async function found(bot: BotFiles, query: string): Promise<string[]> {
  const { passages } = await bot.ask(files.search, { query, limit: 50 });
  return passages.map(({ content }) => content);
}

async function pointsAndPassages(model: string) {
  await waitFor(
    () => rows('SELECT 1 FROM work UNION ALL SELECT 1 FROM indexing_job'),
    ({ length }) => length === 0,
  );
  const ids = async (text: string, ...values: unknown[]) =>
    (await rows<{ id: string }>(text, ...values)).map(({ id }) => id);
  return {
    points: await ids('SELECT id FROM local_index_point WHERE model = $1 ORDER BY id', model),
    passages: await ids(
      `SELECT passage.id FROM passage JOIN file ON file.id = file_id AND active_version = passage.content_version
       ORDER BY passage.id`,
    ),
  };
}

describe('a re-index', () => {
  it('loses nothing that is added, changed or deleted during a re-index, unsearched before the switch', async () => {
    await restart(before);
    const bot = newBot();
    await upload(bot, 'long.txt', paragraphs(70, 'long'));
    const doomed = await upload(bot, 'doomed.txt', paragraphs(40, 'doomed'));
    await upload(bot, 'changed.txt', 'oldword here');
    await bot.ask(files.setPassages, {
      id: (await upload(bot, 'set.txt', 'parsed here')).id,
      passages: [{ content: 'setword here' }],
    });
    const last = await upload(bot, 'last.txt', paragraphs(40, 'last'));
    await restart(during);
    const held = later.hold('doomed0');

    const reindexed = complete();
    await held.reached;
    await bot.delete(doomed.id);
    const changed = await upload(bot, 'changed.txt', 'midword here');
    await put(changed.uploadUrl, 'newword here');
    await upload(bot, 'new.txt', 'freshword here');
    await bot.ask(files.update, { id: last.id, tags: { state: 'tagged' } });
    expect((await found(bot, 'freshword'))[0]).toBe('freshword here');
    expect(former.countRequests('freshword')).toBeGreaterThan(1);
    await pointsAndPassages('later');
    held.release();
    expect(await reindexed).toMatchObject({ model: 'later', left: 0, isComplete: true });
    await bot.settled(changed.id);
    await complete();

    const { points, passages } = await pointsAndPassages('later');
    expect(points).toEqual(passages);
    former.order('', { status: 500, message: 'the former model is gone' });
    await restart(after);
    for (const word of ['long0', 'long69', 'newword', 'setword', 'freshword', 'last39']) {
      expect((await found(bot, `${word} here`)).some((content) => content.startsWith(`${word} here`))).toBe(true);
    }
    expect((await found(bot, 'doomed0 oldword midword parsed')).join()).not.toMatch(/doomed|oldword|midword|parsed/);
    const tags = await rows(
      "SELECT DISTINCT tags FROM local_index_point WHERE model = 'later' AND file_id = $1",
      last.id,
    );
    expect(tags).toEqual([{ tags: { state: 'tagged' } }]);
  });

  it('resumes a re-index in another process, in the middle of a file, with the same texts', async () => {
    await restart(before);
    const bot = newBot();
    const options = { index: true, indexing: { configuration: { chunking: { embeddedContextLevels: 2 } } } };
    const { id } = await bot.upload('titled.md', `# Title\n\n## Part\n\n${paragraphs(300, 'part')}`, options);
    expect(await bot.settled(id)).toMatchObject({ status: 'indexing_completed' });
    const count = (await pointsAndPassages('former')).passages.length;
    await restart(during);

    expect(await advance()).toMatchObject({ total: 1, left: 1, isComplete: false });
    const done = later.requests.flat().length;
    await restart(during);
    expect(await advance()).toMatchObject({ left: 0, isComplete: true });

    expect(done).toBe(256);
    expect(later.requests.flat()).toHaveLength(count);
    expect(new Set(later.requests.flat()).size).toBe(count);
    expect(later.requests.flat().sort()).toEqual(former.requests.flat().sort());
    expect(later.requests.flat()[0]).toContain('Title');
    expect(await bot.get(id)).toMatchObject({ status: 'indexing_completed' });
  });

  it('runs two re-indexes at the same time', async () => {
    await restart(before);
    const bot = newBot();
    await Promise.all(Array.from({ length: 6 }, (_, n) => upload(bot, `${n}.txt`, paragraphs(20, `file${n}at`))));
    await restart(during);

    await Promise.all([complete(), complete()]);

    const { points, passages } = await pointsAndPassages('later');
    expect(points).toEqual(passages);
    expect((await advance()).left).toBe(0);
  });

  it('waits in a re-index for a model that does not respond, while new uploads stay searchable', async () => {
    await restart(before);
    const bot = newBot();
    await upload(bot, 'old.txt', 'oldword here');
    await restart(during);
    later.order('', { status: 500, message: 'out of memory' });

    await upload(bot, 'new.txt', 'newword here');
    const stuck = await advance();

    expect((await found(bot, 'newword'))[0]).toBe('newword here');
    expect(stuck).toMatchObject({ left: 2, isComplete: false, problem: expect.stringContaining('out of memory') });
    expect(stuck.pauseMs).toBeGreaterThan(0);
    await expect(restart(after)).rejects.toThrow('2 indexed files have no vectors of it');
    await restart(during);
    later.order('', 'well');
    expect(await complete()).toMatchObject({ total: 2, left: 0 });
  });

  it('completes no re-index while the next model rejects everything; counts single rejected passages', async () => {
    await restart(before);
    const bot = newBot();
    await upload(bot, 'odd.txt', paragraphs(5, 'odd'));
    await restart(during);
    const wrongKey = { status: 401, message: 'wrong key' };
    later.order('odd3', wrongKey);
    later.order('', wrongKey);

    expect(await advance()).toMatchObject({
      isComplete: false,
      refused: 0,
      problem: expect.stringContaining('wrong key'),
    });
    later.order('odd3', { status: 400, message: 'too long' });
    later.order('', 'well');

    expect(await complete()).toMatchObject({ isComplete: true, refused: 1 });
    const { points, passages } = await pointsAndPassages('later');
    expect(points).toHaveLength(passages.length - 1);
  });
});

describe('words of an older lexicon', () => {
  const words = () => service!.call(files.reindex.words, systemCaller('test'), {});
  const done = () => waitFor(words, ({ left }) => left === 0, 30_000);
  /** As an older version leaves the content: its points have none of the terms of today. */
  const makeOld = (fileId: string, fromPosition = 0) =>
    rows(
      `WITH old AS (UPDATE indexed_content SET lexicon = 1 WHERE file_id = $1)
       UPDATE local_index_point SET term_indices = '', term_values = ''
       WHERE id IN (SELECT id FROM passage WHERE file_id = $1 AND position >= $2)`,
      fileId,
      fromPosition,
    );
  const emptied = () => rows("SELECT id FROM local_index_point WHERE term_indices = ''");
  const revisions = (fileId: string) =>
    rows<{ revision: string }>('SELECT revision FROM local_index_point WHERE file_id = $1 ORDER BY id', fileId);
  const byWords = async (bot: BotFiles, query: string) =>
    (await bot.ask(files.search, { query, minScore: 0.01 })).passages.map(({ content }) => content.slice(0, 12));

  it('rebuilds words at a start, for each bot and model, without the model, and only where they are old', async () => {
    await restart(during);
    const [bot, other] = [newBot(), newBot()];
    const long = await upload(bot, 'long.txt', paragraphs(300, 'part'));
    const fresh = await upload(bot, 'fresh.txt', 'The marmot sleeps.');
    const old = await upload(other, 'old.txt', 'The harbour opens at seven.');
    await complete();
    await makeOld(long.id);
    await makeOld(old.id);
    const [asked, untouched] = [former.requests.length + later.requests.length, await revisions(fresh.id)];
    expect(await byWords(bot, 'part299')).toEqual([]);

    await restart(during);
    await done();

    expect(await emptied()).toEqual([]);
    expect(await revisions(fresh.id)).toEqual(untouched);
    expect(former.requests.length + later.requests.length).toBe(asked + 1);
    expect(await byWords(bot, 'part299')).toEqual(['part299 here']);
    expect(await byWords(other, 'harbour opens seven')).toEqual(['The harbour ']);
    const points = await rows('SELECT DISTINCT length(vector) > 0 AS has_vector FROM local_index_point');
    expect(points).toEqual([{ has_vector: true }]);
  });

  it('rebuilds words from the beginning of a file that a process left half done', async () => {
    await restart(before);
    const bot = newBot();
    const { id } = await upload(bot, 'long.txt', paragraphs(300, 'part'));
    await makeOld(id, 150);

    await restart(before);
    await done();

    expect(await emptied()).toEqual([]);
    expect(await byWords(bot, 'part0')).toEqual(['part0 here. ']);
  });
});

describe('a start', () => {
  it('fails to start with advice when files would not be found with the configured model', async () => {
    await restart(before);
    await upload(newBot(), 'a.txt', 'word here');

    const refusal = await restart(after).catch((error: unknown) => String(error));

    expect(refusal).toContain('The embedding model "later" cannot be searched with yet: 1 indexed files');
    expect(refusal).toContain('back to the model "former"');
    expect(refusal).toContain('npm run parley -- reindex');
    await restart(before);
  });

  it('replaces a retired model in the background, while words find its files', async () => {
    await restart({ ...before, embeddingsModel: retiredModels[0] });
    const bot = newBot();
    await upload(bot, 'a.txt', 'The marmot E-4012 sleeps.');
    later.order('marmot', { status: 503, message: 'busy' });

    await restart(after);
    await upload(bot, 'b.txt', 'other here');
    const foundMeanwhile = await found(bot, 'sleeps e4012');
    later.order('marmot', 'well');

    expect(foundMeanwhile).toEqual(expect.arrayContaining(['The marmot E-4012 sleeps.', 'other here']));
    const { points, passages } = await pointsAndPassages('later');
    expect(points).toEqual(passages);
    expect((await found(bot, 'The marmot E-4012 sleeps.'))[0]).toBe('The marmot E-4012 sleeps.');
    await restart(after);
    expect(await dropFormer()).toEqual({ models: [retiredModels[0]] });
  });

  it('starts with any model when nothing is indexed, and reports nothing to do without a next model', async () => {
    await restart(before);
    expect(await advance()).toEqual({ total: 0, left: 0, isComplete: false, refused: 0 });

    await restart(after);

    const bot = newBot();
    await upload(bot, 'a.txt', 'word here');
    expect(await found(bot, 'word')).toEqual(['word here']);
  });

  it('fails to start when the next model is the active one', async () => {
    await expect(restart({ ...during, nextEmbeddingsModel: 'former' })).rejects.toThrow('NEXT_EMBEDDINGS_MODEL');
  });

  it('fails to start with the former model after the next one was used, until a re-index completes it', async () => {
    await restart(during);
    const bot = newBot();
    await upload(bot, 'a.txt', 'first here');
    await restart(after);
    await restart(before);
    await restart(after);
    await upload(bot, 'b.txt', 'second here');

    await expect(restart(before)).rejects.toThrow('1 indexed files have no vectors of it');
    await restart({ ...after, nextEmbeddingsUrl: former.url, nextEmbeddingsModel: 'former' });
    expect(await advance()).toMatchObject({ model: 'former', total: 2, isComplete: true });
    await restart(before);

    expect(await found(bot, 'second')).toContain('second here');
  });
});

describe('a worker', () => {
  it('does not end an indexing job without the points of the active model', async () => {
    await restart(before);
    const bot = newBot();
    const held = former.hold('word');
    const { id } = await bot.upload('a.txt', 'word here', { index: true });
    await held.reached;
    const activate = async (model: string) => {
      await rows('UPDATE index_model SET is_active = false');
      await rows(
        'INSERT INTO index_model (model, is_active) VALUES ($1, true) ON CONFLICT (model) DO UPDATE SET is_active = true',
        model,
      );
    };

    await activate('later');
    held.release();

    const lastErrors = () => rows<{ last_error: string | null }>('SELECT last_error FROM indexing_job');
    await waitFor(lastErrors, ([job]) => job?.last_error?.includes('The active embedding model has changed') ?? false);
    expect(await bot.get(id)).toMatchObject({ status: 'indexing_pending' });
    await activate('former');
    expect(await bot.settled(id, 40_000)).toMatchObject({ status: 'indexing_completed' });
  });

  it('does not mix vectors of two lengths under one model name', async () => {
    await restart(before);
    const bot = newBot();
    await upload(bot, 'a.txt', 'word here');
    await restart({ ...before, embeddingsUrl: later.url });

    const { id } = await bot.upload('b.txt', 'other here', { index: true });

    expect(await bot.settled(id)).toMatchObject({
      status: 'indexing_failed',
      failedStatusReason: expect.stringContaining('"former" returned vectors of 16 dimensions'),
    });
  });
});

it('fills the bundled model by a re-index when that is the next one', async () => {
  await restart({ ...before, nextEmbeddingsUrl: 'bundled' });
  await upload(newBot(), 'a.txt', 'word here');

  const { points, passages } = await pointsAndPassages('universal-sentence-encoder-multilingual-3');
  expect(points).toEqual(passages);
  expect(await advance()).toMatchObject({
    model: 'universal-sentence-encoder-multilingual-3',
    left: 0,
    isComplete: true,
  });
});

it('writes to one Qdrant collection per model, and removes from both, also after the switch', async () => {
  const done = json({ result: { operation_id: 1, status: 'completed', count: 0, config: { hnsw_config: {} } } });
  const nothing = json({ result: [{ points: [] }, { points: [] }] });
  const qdrant = await LoopbackServer.start((request, response) =>
    (request.path.endsWith('/query/batch') ? nothing : done)(request, response),
  );
  const asked = (method: string, end: string) =>
    qdrant.requests
      .filter((request) => request.method === method && request.path.endsWith(end))
      .map(({ path }) => path.match(/parley_[a-z]+_[0-9]+/)?.[0]);
  const collections = ['parley_former_8', 'parley_later_16'];
  try {
    await restart({ ...before, qdrantUrl: qdrant.url });
    const bot = newBot();
    const old = await upload(bot, 'old.txt', 'word here');
    await restart({ ...during, qdrantUrl: qdrant.url });
    await upload(bot, 'new.txt', 'word here');
    expect(asked('PUT', '/points').sort()).toEqual(['parley_former_8', ...collections]);

    await complete();
    expect(asked('PUT', '/points').sort()).toEqual(['parley_former_8', ...collections, 'parley_later_16']);
    await restart({ ...after, qdrantUrl: qdrant.url });
    await found(bot, 'word');
    expect(asked('POST', '/query/batch')).toEqual(['parley_later_16']);
    await pointsAndPassages('later');
    qdrant.requests.splice(0);
    await bot.delete(old.id);
    await waitFor(
      () => new Set(asked('POST', '/delete')),
      ({ size }) => size === 2,
    );
    expect([...new Set(asked('POST', '/delete'))].sort()).toEqual(collections);
  } finally {
    await stop();
    await qdrant.close();
  }
});

describe('the points of a former model', () => {
  it('removes points of a former model with their file, and drops them on demand', async () => {
    await restart(during);
    const bot = newBot();
    const gone = await upload(bot, 'gone.txt', 'gone here');
    await upload(bot, 'kept.txt', 'kept here');
    const models = async () =>
      (await rows<{ model: string }>('SELECT model FROM local_index_point ORDER BY model')).map(({ model }) => model);
    expect(await models()).toEqual(['former', 'former', 'later', 'later']);
    expect(await dropFormer()).toEqual({ models: [] });
    await restart(after);

    await bot.delete(gone.id);
    await pointsAndPassages('later');
    expect(await models()).toEqual(['former', 'later']);
    expect(await dropFormer()).toEqual({ models: ['former'] });

    expect(await models()).toEqual(['later']);
    expect(await dropFormer()).toEqual({ models: [] });
    expect(await found(bot, 'kept')).toEqual(['kept here']);
    await expect(restart(before)).rejects.toThrow('1 indexed files have no vectors of it');
  });
});

describe('files of older readers', () => {
  /** As an older version left them. */
  const makeOlder = (...ids: string[]) =>
    rows('UPDATE file SET reader_format = NULL, reader_version = NULL WHERE id = ANY ($1)', ids);
  const refusedBefore = async (id: string) => {
    await makeOlder(id);
    await rows(
      `UPDATE file SET status = 'indexing_failed', failed_status_reason = 'Not readable.', active_version = NULL WHERE id = $1`,
      id,
    );
  };
  const readersOf = (bot: BotFiles) =>
    rows<{ key: string; reader_format: string; reader_version: number | null }>(
      'SELECT key, reader_format, reader_version FROM file WHERE bot_id = $1 ORDER BY key',
      bot.id,
    );
  const versionsOf = async (bot: BotFiles) =>
    Object.fromEntries(
      (
        await rows<{ key: string; content_version: string }>(
          'SELECT key, content_version FROM file WHERE bot_id = $1',
          bot.id,
        )
      ).map(({ key, content_version }) => [key, content_version]),
    );
  const list = (input = {}) => service!.call(files.reindex.listOlder, systemCaller('test'), input);
  const readAnew = (input = {}) => service!.call(files.reindex.readOlder, systemCaller('test'), input);
  const isDone = ({ left, refused, reading }: { left: number; refused: number; reading: number }) =>
    left + refused + reading === 0;

  it('reads them anew, also refused ones, while their passages stay searchable, and no others', async () => {
    await restart(before);
    const bot = newBot();
    const ids: Record<string, string> = {};
    for (const key of ['a.txt', 'b.md', 'c.txt', 'd.csv']) {
      ids[key] = (await upload(bot, key, `${key[0]}word of the harbour, and more words`)).id;
    }
    const blank = await bot.upload('e.txt', ' ', { index: true });
    await bot.settled(blank.id);
    const set = await upload(bot, 'f.txt', 'first');
    await bot.ask(files.setPassages, { id: set.id, passages: [{ content: 'fword of the harbour' }] });
    await bot.settled(set.id);
    const readersAtFirst = await readersOf(bot);
    await makeOlder(ids['a.txt']!, ids['b.md']!, blank.id, set.id);
    await refusedBefore(ids['d.csv']!);
    const versions = await versionsOf(bot);
    const listed = await list();

    const held = [former.hold('aword'), former.hold('bword')];
    const progress = await readAnew();
    await Promise.all(held.map(({ reached }) => reached));
    const meanwhile = (await found(bot, 'harbour')).join();
    const progressMeanwhile = await readAnew();
    held.forEach(({ release }) => release());
    await waitFor(readAnew, isDone, settledWithinMs);
    const afterwards = (await found(bot, 'harbour')).join();

    for (const text of [meanwhile, afterwards]) expect(text).toMatch(/(?=.*aword)(?=.*bword)(?=.*cword)(?=.*fword)/);
    expect(progressMeanwhile.reading).toBeGreaterThan(1);
    expect(readersAtFirst).toEqual([
      { key: 'a.txt', reader_format: 'plain text', reader_version: 1 },
      { key: 'b.md', reader_format: 'Markdown', reader_version: 1 },
      { key: 'c.txt', reader_format: 'plain text', reader_version: 1 },
      { key: 'd.csv', reader_format: 'CSV', reader_version: 1 },
      { key: 'e.txt', reader_format: 'plain text', reader_version: 1 },
      { key: 'f.txt', reader_format: null, reader_version: null },
    ]);
    expect(listed.groups).toEqual([
      { format: 'Markdown', files: 1 },
      { format: 'plain text', files: 1 },
      { format: 'CSV', reason: 'Not readable.', files: 1 },
      { format: 'plain text', reason: expect.stringContaining('No text found'), files: 1 },
    ]);
    expect(progress).toEqual({ left: 2, refused: 2, reading: 0 });
    expect(await readersOf(bot)).toEqual(readersAtFirst);
    const after = await versionsOf(bot);
    expect(Object.keys(after).filter((key) => after[key] !== versions[key])).toEqual([
      'a.txt',
      'b.md',
      'd.csv',
      'e.txt',
    ]);
    expect(await bot.get(ids['d.csv']!)).toMatchObject({ status: 'indexing_completed' });
    expect(await bot.get(blank.id)).toMatchObject({ status: 'indexing_failed' });
    expect(await list()).toEqual({ groups: [] });
  });

  it('reads those of one format or one bot alone, by the format that type and name say, and refuses others', async () => {
    await restart(before);
    const [bot, other] = [newBot(), newBot()];
    for (const each of [bot, other]) {
      for (const key of ['a.txt', 'b.csv']) await makeOlder((await upload(each, key, 'one, two')).id);
    }

    expect(await list({ format: 'csv', botId: bot.id })).toEqual({ groups: [{ format: 'CSV', files: 1 }] });
    await waitFor(() => readAnew({ format: '.CSV', botId: bot.id }), isDone, settledWithinMs);
    const afterFirst = await list();
    await waitFor(() => readAnew({ format: 'Plain Text' }), isDone, settledWithinMs);

    expect(afterFirst.groups).toEqual([
      { format: 'plain text', files: 2 },
      { format: 'CSV', files: 1 },
    ]);
    expect((await list()).groups).toEqual([{ format: 'CSV', files: 1 }]);
    await expect(readAnew({ format: 'papyrus' })).rejects.toMatchObject({ type: 'InvalidPayload' });
  });

  it('goes on after a restart, with files whose reading had begun and those that were left', async () => {
    await restart(before);
    const bot = newBot();
    for (let n = 0; n < 12; n++) await makeOlder((await upload(bot, `${n}.txt`, `number${n}`)).id);
    const held = former.hold('number0');
    await readAnew();
    await held.reached;

    const stopped = stop();
    held.release();
    await stopped;
    await restart(before);

    await waitFor(
      () => rows('SELECT 1 FROM file WHERE reader_version IS DISTINCT FROM 1'),
      ({ length }) => length === 0,
      settledWithinMs,
    );
    expect(await list()).toEqual({ groups: [] });
  });
});
