import { pagesOf, sentDuring } from '@parley/testing/sent-statements';
import { createTestDatabase, type TestDatabase } from '@parley/testing/test-database';
import { deleteOlder } from './delete-older';
import { idempotencyTables1795392000000 } from './migrations/1795392000000-idempotency-tables';

describe('Deleting rows older than a limit', () => {
  let test: TestDatabase;

  beforeAll(async () => {
    test = await createTestDatabase(idempotencyTables1795392000000, 'older');
  });

  afterAll(() => test.drop());

  async function insert(name: string, count: number, hours: number) {
    await test.database.query(
      `INSERT INTO idempotency_key (scope, operation, key, body_hash, created_at)
       SELECT $1, '', i, '', now() - make_interval(hours => $3) FROM generate_series(1, $2::int) AS i`,
      [name, count, hours],
    );
  }

  const count = () =>
    test.database.query('SELECT scope, count(*)::int FROM idempotency_key GROUP BY scope ORDER BY scope');

  it('deletes all older rows and reads no other row, even with outdated planner statistics', async () => {
    await insert('old', 30_000, 25);
    await insert('new', 10, 23);
    await test.database.query('ANALYZE idempotency_key');

    await deleteOlder(test.database, 'idempotency_key', 'created_at', 24);
    const left = await count();
    await test.database.query('TRUNCATE idempotency_key');
    await insert('new', 30_000, 23);
    await insert('old', 3, 25);
    const statements = await sentDuring(() => deleteOlder(test.database, 'idempotency_key', 'created_at', 24));

    expect(left).toEqual([{ scope: 'new', count: 10 }]);
    await expect(count()).resolves.toEqual([{ scope: 'new', count: 30_000 }]);
    await expect(pagesOf(test.database, statements)).resolves.toBeLessThan(50);
  });
});
