import { Database, type MigrationClass } from '@parley/persistence/database';
import { serviceMigrations } from '@parley/service/service.module';
import { createEmptyDatabase } from '@parley/testing/test-database';
import { adminDatabase } from '../admin.module';
import { OperatorWorkspace1700000001071 } from './1700000001071-operator-workspace';

it.each([
  ['the oldest workspace', { a: 'default', b: 'other' }, ['a']],
  ['no workspace when the oldest one has another handle', { a: 'other', b: 'default' }, []],
  ['no workspace of an empty database', {}, []],
])("marks as the operator's workspace: %s", async (_which, handles, operators) => {
  const { url, drop } = await createEmptyDatabase();
  const { migrations } = adminDatabase;
  const open = async (some: MigrationClass[]) => {
    const database = await Database.open({ url, schema: 'admin', migrations: serviceMigrations(some), poolSize: 2 });
    await database.migrate();
    return database;
  };
  const before = await open(migrations.slice(0, migrations.indexOf(OperatorWorkspace1700000001071)));
  await before.query("INSERT INTO account (id, email) VALUES ('x', 'x@example.com')");
  for (const [id, handle] of Object.entries(handles)) {
    await before.query('INSERT INTO workspace (id, name, owner_id, handle) VALUES ($1, $1, $2, $3)', [id, 'x', handle]);
  }
  await before.close();

  const after = await open(migrations);

  const rows = await after.query<{ id: string }>('SELECT id FROM workspace WHERE is_operators');
  expect(rows.map(({ id }) => id)).toEqual(operators);
  await after.close();
  await drop();
});
