import { lockWaits } from '@parley/testing/lock-waits';
import { pagesOf, sentDuring } from '@parley/testing/sent-statements';
import { createTestDatabase, type TestDatabase } from '@parley/testing/test-database';
import { waitFor } from '@parley/testing/wait-for';
import { tablesDatabase } from '../tables.module';
import { JobsRepository } from './jobs.repository';

let test: TestDatabase;
let jobs: JobsRepository;

beforeAll(async () => {
  test = await createTestDatabase(tablesDatabase.migrations, tablesDatabase.schema, tablesDatabase.entities);
  jobs = new JobsRepository(test.database);
});
afterAll(() => test?.drop());

it('does not scan finished jobs', async () => {
  const { database } = test;
  await database.query(
    `INSERT INTO "table" (id, number, bot_id, name, factor, frozen, schema, next_index, tags, is_compute_enabled)
     VALUES ('table_9', 9, 'bot_9', 'OldTable', 1, false, '{}', 0, '{}', true)`,
  );
  await database.query(
    `INSERT INTO job (id, bot_id, table_id, type, status, task)
     SELECT 'job_' || lpad(i::text, 6, '0'), 'bot_9', 'table_9', 'export', 'completed', '{}' FROM generate_series(1, 20000) AS i`,
  );
  const pages = async () => pagesOf(database, await sentDuring(() => jobs.takeJob('a')));

  const withoutStatistics = await pages();
  // Outdated statistics, from a time with pending jobs.
  await database.query(`UPDATE job SET status = 'pending' WHERE id > 'job_019500'`);
  await database.query('ANALYZE job');
  await database.query(`UPDATE job SET status = 'completed' WHERE status = 'pending'`);
  const withOld = await pages();

  expect(withoutStatistics).toBeLessThan(50);
  expect(withOld).toBeLessThan(50);
  await database.query('DELETE FROM job');
});

it('gives concurrent workers one job per bot', async () => {
  const { database } = test;
  await database.query(
    `INSERT INTO "table" (id, number, bot_id, name, factor, frozen, schema, next_index, tags, is_compute_enabled)
     SELECT 'table_' || bot, bot, 'bot_' || bot, 'GoodsTable', 1, false, '{}', 0, '{}', true FROM generate_series(1, 2) AS bot`,
  );
  await database.transaction(async (tx) => {
    for (const bot of [1, 1, 1, 2, 2, 2]) {
      const task = { type: 'duplicate_table' as const, sourceNumber: '0', lastRowId: 0, keys: {} };
      await jobs.insertJob(tx, { botId: `bot_${bot}`, tableId: `table_${bot}`, task });
    }
  });
  await database.query(`
    CREATE FUNCTION hold() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN PERFORM pg_advisory_xact_lock_shared(1); RETURN NEW; END $$;
    CREATE TRIGGER hold BEFORE UPDATE ON job FOR EACH ROW EXECUTE FUNCTION hold()`);

  const [taken] = await database.transaction(async (tx) => {
    await tx.query('SELECT pg_advisory_xact_lock(1)');
    const taking = Promise.all(['a', 'b', 'c', 'd'].map((worker) => jobs.takeJob(worker)));
    // One for each connection of the pool.
    await waitFor(async () => (await lockWaits(tx)) === 2);
    return [taking];
  });

  expect((await taken).flatMap((job) => job?.bot_id ?? []).sort()).toEqual(['bot_1', 'bot_2']);
});
