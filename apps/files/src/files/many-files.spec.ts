import { filesDatabase } from '../store/file-store.module';
import type { FileScope } from '../store/file-scope';
import { FilesRepository } from '../store/files.repository';
import { FileTagsRepository } from '../store/file-tags.repository';
import { FoundPassagesRepository } from '../store/found-passages.repository';
import { IndexModelEntity } from '../store/index-model.entity';
import { IndexModelsRepository } from '../store/index-models.repository';
import { JobsRepository } from '../store/jobs.repository';
import { rowsOf, sentDuring } from '@parley/testing/sent-statements';
import { createTestDatabase, type TestDatabase } from '@parley/testing/test-database';
import { IndexingWorkRepository } from '../indexing-work/indexing-work.repository';

const fileCount = 20_000;
const waitingCount = 3_000;
/** Entries of a tag that are read before the tag counts as frequent. */
const fewCount = 1_000;

const all: FileScope = { botId: 'large', namespace: '', owner: 'bot', ownerId: null };
const user: FileScope = { ...all, owner: 'user', ownerId: 'reader' };
const integration: FileScope = { ...all, owner: 'integration', namespace: 'alias', ownerId: 'intver_1' };
const tagged = (name: string, ...values: string[]) => ({ [name]: { in: values, notIn: [] } });
const idOf = (number: number) => `file_large_${String(number).padStart(6, '0')}`;

let test: TestDatabase;
let files: FilesRepository;
let tags: FileTagsRepository;
let found: FoundPassagesRepository;
let models: IndexModelsRepository;
let jobs: JobsRepository;
let work: IndexingWorkRepository;

/** A bot with many files, almost none of which users and integrations may read, beside a bot with only readable files. */
beforeAll(async () => {
  test = await createTestDatabase(filesDatabase.migrations, filesDatabase.schema, filesDatabase.entities);
  const { database } = test;
  files = new FilesRepository(database);
  tags = new FileTagsRepository(database);
  found = new FoundPassagesRepository(database);
  models = new IndexModelsRepository(database, database.manager.getRepository(IndexModelEntity));
  jobs = new JobsRepository(database);
  work = new IndexingWorkRepository(database);
  for (const table of ['file', 'file_tag', 'passage', 'indexed_content', 'indexing_job']) {
    await database.query(`ALTER TABLE ${table} SET (autovacuum_enabled = false)`);
  }
  await database.query(
    `INSERT INTO file (id, bot_id, key, content_type, declared_size, size, tags, metadata, access_policies, index, indexing,
       immediately_public, status, upload_id, upload_expires_at, content_version, blob_version, active_version, expires_at,
       owner_type, owner_id, created_at)
     SELECT concat('file_', bot, '_', lpad(n::text, 6, '0')), bot, n, 'text/plain', 1, 1,
       jsonb_build_object('all', 'same', 'own', n::text) || CASE WHEN n <= 20 THEN '{"rare":"r"}'::jsonb ELSE '{}' END, '{}',
       policies, true, '{}', false, 'indexing_completed', '', now(), 'v', 'v', 'v',
       CASE WHEN n % 2 = 0 THEN now() + interval '1 day' END,
       CASE WHEN n <= 10 THEN 'user' ELSE 'bot' END, CASE WHEN n <= 10 THEN 'reader' END,
       timestamptz '2026-01-01' + n * interval '1 minute'
     FROM (VALUES ('large', $1::int, '{}'::text[]), ('open', $1 / 10, '{public_content,integrations}')) AS of (bot, count, policies),
       generate_series(1, count) AS n`,
    [fileCount],
  );
  await database.query(
    `INSERT INTO passage (file_id, content_version, position, id, bot_id, content, subtype, breadcrumb)
     SELECT id, 'v', position, md5(concat(id, position))::uuid, bot_id, '', 'paragraph', '{}'
     FROM file, generate_series(0, 1) AS position`,
  );
  await database.query(
    `INSERT INTO indexed_content (file_id, model, content_version) SELECT id, 'next', 'v' FROM file WHERE id < $1`,
    [idOf(fileCount / 2)],
  );
});
afterAll(() => test?.drop());

const rowsFor = async (ask: () => Promise<unknown>) => rowsOf(test.database, await sentDuring(ask));

const numbersOf = ({ rows }: { rows: { id: string }[] }) => rows.map(({ id }) => Number(id.slice(-6)));
const from = (first: number, count: number) => Array.from({ length: count }, (_, index) => first - index);

it('keeps prepared statements valid when a migration of the next version adds a column', async () => {
  const find = () => Promise.all(Array.from({ length: 8 }, () => files.findReadable(all, idOf(7))));
  const before = await find();

  await test.database.query('ALTER TABLE file ADD COLUMN added text');
  const after = await find();
  await test.database.query('ALTER TABLE file DROP COLUMN added');

  expect(after).toEqual(before);
});

describe.each(['before the first ANALYZE', 'with statistics'])('%s', (when) => {
  beforeAll(async () => {
    if (when === 'with statistics') await test.database.query('ANALYZE');
  });

  it.each<[string, FileScope, Parameters<FilesRepository['listReadable']>[1], number[], number]>([
    ['by a tag that all have', all, { tags: tagged('all', 'same') }, from(fileCount, 5), fileCount + 3 * fewCount],
    ['by a rare tag', all, { tags: tagged('rare', 'r') }, from(20, 5), 200],
    [
      'by a frequent and a rare tag',
      all,
      { tags: { ...tagged('all', 'same'), ...tagged('rare', 'r') } },
      from(20, 5),
      3 * fewCount,
    ],
    ['by a value of some', all, { tags: tagged('own', '7', '7', '9', 'no') }, [9, 7], 200],
    ['for a user who may read few', user, {}, from(10, 5), 200],
    ['for a user by a tag', user, { tags: tagged('all', 'same'), sortDirection: 'asc' }, from(5, 5).reverse(), 200],
    ['for an integration that may read none', integration, { tags: tagged('all', 'same') }, [], 200],
  ])('lists files %s by reading few rows, or each row once', async (_which, scope, query, expected, mostRows) => {
    let listed: number[] = [];

    const rows = await rowsFor(
      async () => (listed = numbersOf(await files.listReadable(scope, { ...query, limit: 5 }))),
    );

    expect(listed).toEqual(expected);
    expect(rows).toBeLessThan(mostRows);
  });

  it.each<[string, FileScope, string]>([
    ['its id', all, idOf(7)],
    ['its key', all, '7'],
    ['its id, for a user', user, idOf(7)],
    ['its key, for a user', user, '7'],
  ])('finds a file by %s by reading few rows', async (_by, scope, idOrKey) => {
    const rows = await rowsFor(async () =>
      expect(await files.findReadable(scope, idOrKey)).toMatchObject({ id: idOf(7) }),
    );

    expect(rows).toBeLessThan(20);
  });

  it('lists names and values of tags without reading files that the caller may not read', async () => {
    const rows = await rowsFor(async () => {
      expect(await tags.listNames(user, { limit: 2 })).toMatchObject({
        names: ['all', 'own'],
        nextToken: expect.any(String),
      });
      expect(await tags.listNames(integration, {})).toEqual({ names: [] });
      const { values, nextToken } = await tags.listValues(user, 'own', { limit: 4 });
      expect(values).toEqual(['1', '10', '2', '3']);
      expect((await tags.listValues(user, 'own', { limit: 2, nextToken })).values).toEqual(['4', '5']);
      expect(await tags.listValues(integration, 'all', {})).toEqual({ values: [] });
    });

    expect(rows).toBeLessThan(1_000);
  });

  it('looks up hits of the index one by one', async () => {
    const ids = await test.database.query<{ id: string }>('SELECT id FROM passage WHERE file_id BETWEEN $1 AND $2', [
      idOf(5_001),
      idOf(5_020),
    ]);
    const hits = ids.map(({ id }) => ({ id, fileId: '', contentVersion: '', score: 0.5 }));

    const rows = await rowsFor(async () => {
      expect(await found.listVisibleHits(all, hits, { depth: 1, limit: 20 })).toHaveLength(20);
      expect(await found.listVisibleHits(all, hits, { depth: 1, limit: 20, tags: tagged('all', 'same') })).toHaveLength(
        20,
      );
      expect(await found.listVisibleHits(user, hits, { depth: 1, limit: 20 })).toHaveLength(0);
    });

    expect(rows).toBeLessThan(2_000);
  });

  it('finds contents that a model lacks from a cursor on', async () => {
    const rows = await rowsFor(async () => {
      const lacking = await models.listLacking('next', idOf(15_000), 3);
      expect(lacking.map(({ fileId }) => fileId)).toEqual([15_001, 15_002, 15_003].map(idOf));
    });

    expect(rows).toBeLessThan(200);
  });

  it('lists bots without reading all of their files', async () => {
    const rows = await rowsFor(async () => expect(await models.listBotsEverIndexed('', 10)).toEqual(['large', 'open']));

    expect(rows).toBeLessThan(200);
  });

  it('searches overdue files without reading files that expire later', async () => {
    const rows = await rowsFor(async () => expect(await files.listBotsWithOverdue(100)).toEqual([]));

    expect(rows).toBeLessThan(200);
  });
});

describe.each(['before the next ANALYZE', 'with statistics'])('with a long queue, %s', (when) => {
  beforeAll(async () => {
    if (when === 'with statistics') return void (await test.database.query('ANALYZE'));
    await test.database.query(`UPDATE file SET status = 'indexing_pending' WHERE id > $1 AND bot_id = 'large'`, [
      idOf(fileCount - waitingCount),
    ]);
    await test.database.query(
      `INSERT INTO indexing_job (file_id, content_version, bot_id) SELECT id, 'v', bot_id FROM file WHERE status = 'indexing_pending'`,
    );
  });

  it('takes one job without reading the others of a long queue', async () => {
    const rows = await rowsFor(async () => expect(await jobs.claimNext('worker')).toMatchObject({ attempt: 1 }));

    expect(rows).toBeLessThan(200);
  });

  it('reads each job once for the sweeper and the list of stuck files', async () => {
    const rows = await rowsFor(async () => {
      expect(await test.database.transaction((tx) => jobs.releaseStalledJobs(tx))).toEqual([]);
      expect(await jobs.deleteSuperseded(test.database)).toEqual([]);
      expect(await work.listStuckFiles({})).toEqual({ files: [] });
    });

    expect(rows).toBeLessThan(6 * waitingCount);
  });
});
