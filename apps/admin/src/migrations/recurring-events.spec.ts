import { randomUUID } from 'node:crypto';
import { Database, type MigrationClass } from '@parley/persistence/database';
import { serviceMigrations } from '@parley/service/service.module';
import { createEmptyDatabase } from '@parley/testing/test-database';
import { adminDatabase } from '../admin.module';
import { RecurringEvents1700000001070 } from './1700000001070-recurring-events';

it('announces the recurring events of existing bots', async () => {
  const { url, drop } = await createEmptyDatabase();
  const { migrations } = adminDatabase;
  const open = async (some: MigrationClass[]) => {
    const database = await Database.open({ url, schema: 'admin', migrations: serviceMigrations(some), poolSize: 2 });
    await database.migrate();
    return database;
  };
  const before = await open(migrations.slice(0, migrations.indexOf(RecurringEvents1700000001070)));
  const [ticking, still] = [randomUUID(), randomUUID()];
  const tick = { type: 'ticked', payload: {}, schedule: { cron: '* * * * *' } };
  await before.query("INSERT INTO account (id, email) VALUES ('a', 'a@example.com')");
  await before.query("INSERT INTO workspace (id, name, owner_id) VALUES ('w', 'W', 'a')");
  await before.query(
    `INSERT INTO bot (id, workspace_id, name, dev, type, tags, medias, definition, signing_secret, secrets)
     SELECT id, 'w', 'B', false, 'studio', '{}', '[]', jsonb_build_object('recurringEvents', events), '', '{}'
     FROM unnest($1::text[], $2::jsonb[]) AS bot (id, events)`,
    [
      [ticking, still],
      [JSON.stringify({ tick }), '{}'],
    ],
  );
  await before.close();

  const after = await open(migrations);

  const bots = await after.query('SELECT id, recurring_events_revision AS revision FROM bot');
  const announced = await after.query('SELECT subject, data FROM outbox');
  expect(bots).toEqual(
    expect.arrayContaining([
      { id: ticking, revision: 1 },
      { id: still, revision: 0 },
    ]),
  );
  expect(announced).toEqual([{ subject: 'admin.recurringEventsChanged', data: { botId: ticking, revision: 1 } }]);
  await after.close();
  await drop();
});
