import type { Database, Transaction } from '@parley/persistence/database';
import { lockWaits } from '@parley/testing/lock-waits';
import { createTestDatabase, type TestDatabase } from '@parley/testing/test-database';
import { waitFor } from '@parley/testing/wait-for';
import { chatDatabase } from '../chat.module';
import { SignalsRepository } from './signals.repository';

let test: TestDatabase;
let repository: SignalsRepository;

beforeEach(async () => {
  test = await createTestDatabase(chatDatabase.migrations, chatDatabase.schema, chatDatabase.entities);
  repository = new SignalsRepository(test.database);
});

afterEach(() => test?.drop());

async function counts(): Promise<Record<string, number>> {
  const rows = await test.database.query<{ offset: string; count: number }>(
    `SELECT coalesce((extract(epoch FROM to_timestamp(substring(relname from '\\d+$'), 'YYYYMMDDHH24')::timestamp
         - date_trunc('hour', now() AT TIME ZONE 'UTC')) / 3600)::int::text, 'default') AS offset,
       count(number)::int AS count
     FROM pg_inherits JOIN pg_class ON oid = inhrelid LEFT JOIN signal ON signal.tableoid = inhrelid
     WHERE inhparent = 'signal'::regclass GROUP BY relname`,
  );
  return Object.fromEntries(rows.map(({ offset, count }) => [offset, count]));
}

async function addSignal(hoursAgo: number): Promise<void> {
  await test.database.query(
    `INSERT INTO signal (bot_id, conversation_id, number, type, created_at)
     VALUES ('bot', 'conv', 1, 'news', date_trunc('hour', now()) - make_interval(hours => $1))`,
    [hoursAgo],
  );
}

async function addPartition(hoursAgo: number): Promise<void> {
  await test.database.query(`DO $$ BEGIN EXECUTE (
    SELECT format('CREATE TABLE signal_%s PARTITION OF signal FOR VALUES FROM (%L) TO (%L)',
      to_char(hour AT TIME ZONE 'UTC', 'YYYYMMDDHH24'), hour, hour + interval '1 hour')
    FROM (SELECT date_trunc('hour', now()) - interval '${hoursAgo} hours') AS start (hour)); END $$`);
}

it('creates partitions for this hour and the next ones once, even by concurrent and repeated calls', async () => {
  await Promise.all([
    repository.rotatePartitions(2, 2),
    repository.rotatePartitions(2, 2),
    repository.rotatePartitions(2, 2),
  ]);
  await repository.rotatePartitions(2, 2);
  await addSignal(0);

  expect(await counts()).toEqual({ default: 0, 0: 1, 1: 0, 2: 0 });
});

it('creates no partition for an hour with signals in the default partition', async () => {
  await addSignal(0);

  await repository.rotatePartitions(2, 2);

  expect(await counts()).toEqual({ default: 1, 1: 0, 2: 0 });
});

it('lets a writer wait that comes while the partition of this hour is created, and accepts its signal', async () => {
  let writing: Promise<void> | undefined;
  const withWriter = (tx: Transaction) =>
    new Proxy(tx, {
      get: (target, name) =>
        name !== 'query'
          ? Reflect.get(target, name)
          : async (text: string, values?: unknown[]) => {
              const rows = await target.query(text, values);
              if (text.includes('ATTACH PARTITION')) {
                writing = addSignal(0);
                await waitFor(async () => (await lockWaits(tx)) === 1);
              }
              return rows;
            },
    });
  const database = {
    transaction: (work: (tx: Transaction) => Promise<boolean>) =>
      test.database.transaction((tx) => work(withWriter(tx))),
    query: test.database.query.bind(test.database),
  } as unknown as Database;

  await new SignalsRepository(database).rotatePartitions(0, 2);
  await writing;

  expect(await counts()).toEqual({ default: 0, 0: 1 });
});

it('drops signals older than the retention, in partitions and in the default partition', async () => {
  for (const hoursAgo of [4, 3, 1]) await addPartition(hoursAgo);
  for (const hoursAgo of [5, 4, 3, 2, 1, 0]) await addSignal(hoursAgo);

  await repository.rotatePartitions(0, 2);

  expect(await counts()).toEqual({ default: 1, '-1': 1 });
});

it('does not block writers when a reader holds a partition to be dropped, and still creates the others', async () => {
  await addPartition(4);
  await test.database.transaction(async (tx) => {
    await tx.query(`DO $$ BEGIN EXECUTE (SELECT 'LOCK TABLE ' || min(inhrelid::regclass::text) || ' IN ACCESS SHARE MODE'
      FROM pg_inherits WHERE inhparent = 'signal'::regclass AND inhrelid::regclass::text <> 'signal_default'); END $$`);
    let outcome: string | undefined;
    void repository.rotatePartitions(2, 2).then(
      () => (outcome = 'done'),
      (error: Error) => (outcome = error.message),
    );

    // Fails if a writer has to wait for the reader.
    while (outcome === undefined) await addSignal(1);

    expect(outcome).toMatch(/Another request is changing the same data/);
  });
  expect(Object.keys(await counts())).toEqual(expect.arrayContaining(['-4', '0', '1', '2']));

  await repository.rotatePartitions(2, 2);

  expect(Object.keys(await counts())).not.toContain('-4');
});
