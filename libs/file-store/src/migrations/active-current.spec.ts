import { Database, type MigrationClass } from '@parley/persistence/database';
import { createEmptyDatabase } from '@parley/testing/test-database';
import { filesDatabase } from '../file-store.module';
import { ActiveCurrent1700000002060 } from './1700000002060-active-current';

it('treats the active version of existing files as current, unless indexing is under way', async () => {
  const { url, drop } = await createEmptyDatabase();
  const { schema, migrations } = filesDatabase;
  const open = async (some: MigrationClass[]) => {
    const database = await Database.open({ url, schema, migrations: some, poolSize: 2 });
    await database.migrate();
    return database;
  };
  const insert = (database: Database, id: string, status: string) =>
    database.query(
      `INSERT INTO file (id, bot_id, key, content_type, declared_size, tags, metadata, access_policies, index, indexing,
         immediately_public, status, upload_id, upload_expires_at)
       VALUES ($1, 'bot', $1, 'text/plain', 1, '{}', '{}', '{}', true, '{}', false, $2, 'u', now())`,
      [id, status],
    );
  const before = await open(migrations.slice(0, migrations.indexOf(ActiveCurrent1700000002060)));
  await insert(before, 'indexed', 'indexing_completed');
  await insert(before, 'waiting', 'indexing_pending');
  await before.close();

  const after = await open(migrations);

  await insert(after, 'new', 'upload_pending');
  expect(await after.query('SELECT id, is_active_current AS "isCurrent" FROM file ORDER BY id')).toEqual([
    { id: 'indexed', isCurrent: true },
    { id: 'new', isCurrent: false },
    { id: 'waiting', isCurrent: false },
  ]);
  await after.close();
  await drop();
});
