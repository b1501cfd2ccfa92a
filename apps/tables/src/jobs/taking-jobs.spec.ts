import { createTestDatabase, type TestDatabase } from '@parley/testing/test-database';
import { Jobs1700000004040 } from '../migrations/1700000004040-jobs';
import { Tables1700000004000 } from '../migrations/1700000004000-tables';
import { JobsRepository } from './jobs.repository';

let test: TestDatabase;

beforeAll(async () => {
  test = await createTestDatabase([Tables1700000004000, Jobs1700000004040], 'tables');
});
afterAll(() => test?.drop());

it('gives one job of a bot at a time to many workers that ask at once', async () => {
  const { database } = test;
  const jobs = new JobsRepository(database);
  await database.query(
    `INSERT INTO "table" (id, number, bot_id, name, factor, frozen, schema, next_index, tags, is_compute_enabled)
     SELECT 'table_' || bot, bot, 'bot_' || bot, 'GoodsTable', 1, false, '{}', 0, '{}', true FROM generate_series(1, 2) AS bot`,
  );
  await database.transaction(async (tx) => {
    for (const bot of [1, 1, 1, 2, 2, 2]) {
      const task = { type: 'duplicate_table' as const, sourceNumber: '0', lastRowId: 0, keys: {} };
      await jobs.insert(tx, { botId: `bot_${bot}`, tableId: `table_${bot}`, task });
    }
  });
  await database.query(`
    CREATE FUNCTION slowly() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(0.2); RETURN NEW; END $$`);
  await database.query('CREATE TRIGGER slowly BEFORE UPDATE ON job FOR EACH ROW EXECUTE FUNCTION slowly()');

  const taken = await Promise.all(['a', 'b', 'c', 'd'].map((worker) => jobs.take(worker)));

  expect(taken.flatMap((job) => job?.bot_id ?? []).sort()).toEqual(['bot_1', 'bot_2']);
});
