import { rotatePartitions } from '@parley/persistence/time-partitions';
import { createTestDatabase, type TestDatabase } from '@parley/testing/test-database';
import { runtimeDatabase } from '../runtime.module';

let test: TestDatabase;

beforeEach(async () => {
  test = await createTestDatabase(runtimeDatabase.migrations, runtimeDatabase.schema, runtimeDatabase.entities);
});

afterEach(() => test?.drop());

const rotate = () => rotatePartitions(test.database, { table: 'log', unit: 'day', ahead: 2, kept: 7 });

const addLine = (daysAgo: number) =>
  test.database.query(
    `INSERT INTO log (bot_id, id, level, message, created_at)
     VALUES ('bot', 'log', 'info', 'a', date_trunc('day', now(), 'UTC') - make_interval(days => $1))`,
    [daysAgo],
  );

/** Lines by partition: days from today, or `default`. */
async function counts(): Promise<Record<string, number>> {
  const rows = await test.database.query<{ day: string; count: number }>(
    `SELECT coalesce((to_date(substring(relname from '\\d+$'), 'YYYYMMDD') - (now() AT TIME ZONE 'UTC')::date)::text,
         'default') AS day, count(id)::int AS count
     FROM pg_inherits JOIN pg_class ON oid = inhrelid LEFT JOIN log ON log.tableoid = inhrelid
     WHERE inhparent = 'log'::regclass GROUP BY relname`,
  );
  return Object.fromEntries(rows.map(({ day, count }) => [day, count]));
}

it('creates a partition of logs for today and the next two days', async () => {
  await rotate();
  await rotate();
  await addLine(0);

  expect(await counts()).toEqual({ default: 0, 0: 1, 1: 0, 2: 0 });
});

it('drops days of logs older than the retention, in partitions and in the default partition', async () => {
  for (const daysAgo of [9, 8, 7, 6])
    await test.database.query(`DO $$ BEGIN EXECUTE (
      SELECT format('CREATE TABLE log_%s PARTITION OF log FOR VALUES FROM (%L) TO (%L)',
        to_char(day AT TIME ZONE 'UTC', 'YYYYMMDD'), day, day + interval '24 hours')
      FROM (SELECT date_trunc('day', now(), 'UTC') - interval '${daysAgo * 24} hours') AS start (day)); END $$`);
  for (const daysAgo of [10, 9, 8, 7, 6, 5]) await addLine(daysAgo);

  await rotate();

  expect(await counts()).toEqual({ default: 1, '-7': 1, '-6': 1, 0: 0, 1: 0, 2: 0 });
});
