import { Database } from '@parley/persistence/database';
import { createTestDatabase, type TestDatabase } from '@parley/testing/test-database';
import { chatDatabase } from '../chat.module';
import { Deliveries1796100000000 } from '../migrations/1796100000000-deliveries';

let former: TestDatabase;
let database: Database;

beforeAll(async () => {
  const { migrations, schema } = chatDatabase;
  const before = migrations.slice(0, migrations.indexOf(Deliveries1796100000000));
  former = await createTestDatabase(before, schema);
  await former.database.query(
    `INSERT INTO event (bot_id, id, type, payload, conversation_id, status, created_at, due_at)
     SELECT bot_id, 'evt_' || lpad(id, 26, '0'), 'x', '{}'::jsonb, conversation_id, status, now() - age * interval '1 minute',
       now() - due * interval '1 minute'
     FROM (VALUES ('a', '1', NULL, 'pending', 61, NULL), ('a', '2', 'c', 'pending', 59, NULL),
       ('a', '3', NULL, 'pending', 90, 1), ('a', '4', NULL, 'scheduled', 90, -1), ('a', '5', NULL, 'failed', 1, NULL),
       ('b', '6', NULL, 'pending', 1, NULL)) AS former (bot_id, id, conversation_id, status, age, due)`,
  );
  database = await Database.open({ url: former.url, schema, migrations, poolSize: 1 });
  await database.migrate();
});

afterAll(async () => {
  await database?.close();
  await former?.drop();
});

const idOf = (n: number) => `evt_${String(n).padStart(26, '0')}`;

it('ignores events that were pending for an hour when bots were not called yet, and changes no others', async () => {
  const rows = await database.query(
    `SELECT id, status, failure_reason AS reason FROM event WHERE bot_id = 'a' ORDER BY id`,
  );

  expect(rows).toEqual([
    { id: idOf(1), status: 'ignored', reason: 'Created before Parley called bots.' },
    { id: idOf(2), status: 'pending', reason: null },
    { id: idOf(3), status: 'pending', reason: null },
    { id: idOf(4), status: 'scheduled', reason: null },
    { id: idOf(5), status: 'failed', reason: null },
  ]);
});
