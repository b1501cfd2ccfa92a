import { createTestDatabase, type TestDatabase } from '@parley/testing/test-database';
import { Database } from '@parley/database/database';
import { BareSql, openPool } from './bare-sql';
import { PostgresTap } from './postgres-tap';

let real: TestDatabase;
let tap: PostgresTap;
let tapped: Database;

beforeAll(async () => {
  real = await createTestDatabase([], 'files');
  tap = await PostgresTap.start(real.url);
  tapped = await Database.open({ url: tap.url, schema: 'files', migrations: [], poolSize: 2 });
  await tapped.query('CREATE TABLE file (id text, key text, tags jsonb, note text)');
});

afterAll(async () => {
  await tapped.close();
  await tap.stop();
  await real.drop();
});

const insert = 'INSERT INTO file (id, key, tags, note) VALUES ($1, $2, $3, $4) RETURNING *';

function write(key: string, id: string) {
  return tapped.transaction(async (tx) => {
    await tx.query(insert, [id, key, JSON.stringify({ in: id }), null]);
    await tx.query('SELECT unnest($1::text[])', [[id]]);
  });
}

it('notes a transaction whole and a statement by itself, as they went over the wire', async () => {
  await write('noted.md', 'file_01M7YFH7K0281CKBW3E22GBZ1F');
  await tapped.query('SELECT * FROM file WHERE key = $1', ['noted.md']);
  await tapped.query('SELECT 1');

  const units = tap.unitsWith('noted.md');

  expect(units.map((unit) => unit.map(({ text }) => text))).toEqual([
    ['BEGIN', insert, 'SELECT unnest($1::text[])', 'COMMIT'],
    ['SELECT * FROM file WHERE key = $1'],
  ]);
  expect(units[0]![1]!.values).toEqual([
    'file_01M7YFH7K0281CKBW3E22GBZ1F',
    'noted.md',
    '{"in":"file_01M7YFH7K0281CKBW3E22GBZ1F"}',
    null,
  ]);
});

it('runs what was noted again for another file, with ids of its own wherever one stood', async () => {
  await write('first.md', 'file_01M7YFH7K0281CKBW3E22GBZ2F');
  const pool = openPool({ databaseUrl: real.url, poolSize: 2 });
  const answer = { file: { id: 'file_01M7YFH7K0281CKBW3E22GBZ2F', size: 7 } };
  const sql = new BareSql(pool, { units: tap.unitsWith('first.md'), given: 'first.md', answer });

  const again = (await sql.run('second.md')) as typeof answer;

  const [row] = await real.database.query<{ id: string; tags: unknown }>('SELECT * FROM file WHERE key = $1', [
    'second.md',
  ]);
  expect(row).toEqual({ id: again.file.id, key: 'second.md', tags: { in: again.file.id }, note: null });
  expect(again.file.size).toBe(7);
  expect(again.file.id).not.toBe(answer.file.id);
  await pool.end();
});
