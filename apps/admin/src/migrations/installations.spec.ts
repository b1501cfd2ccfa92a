import { randomUUID } from 'node:crypto';
import { Database, type MigrationClass } from '@parley/persistence/database';
import { serviceMigrations } from '@parley/service/service.module';
import { createEmptyDatabase } from '@parley/testing/test-database';
import { adminDatabase } from '../admin.module';
import { builtInChat } from '../installations/built-in-chat';
import { Installations1700000001060 } from './1700000001060-installations';

it('installs the chat in existing bots, and announces it', async () => {
  const { url, drop } = await createEmptyDatabase();
  const { migrations } = adminDatabase;
  const open = async (some: MigrationClass[]) => {
    const database = await Database.open({ url, schema: 'admin', migrations: serviceMigrations(some), poolSize: 2 });
    await database.migrate();
    return database;
  };
  const before = await open(migrations.slice(0, migrations.indexOf(Installations1700000001060)));
  const bots = [randomUUID(), randomUUID()].sort();
  await before.query("INSERT INTO account (id, email) VALUES ('a', 'a@example.com')");
  await before.query("INSERT INTO workspace (id, name, owner_id) VALUES ('w', 'W', 'a')");
  await before.query(
    `INSERT INTO bot (id, workspace_id, name, dev, type, tags, medias, definition, signing_secret, secrets)
     SELECT id, 'w', 'B', false, 'studio', '{}', '[]', '{}', '', '{}' FROM unnest($1::text[]) AS id`,
    [bots],
  );
  await before.close();

  const after = await open(migrations);

  const installed = await after.query<{ webhook_id: string }>('SELECT * FROM installation ORDER BY bot_id');
  expect(installed).toMatchObject(
    bots.map((id) => ({
      bot_id: id,
      alias: 'chat',
      integration_id: builtInChat.id,
      enabled: true,
      configuration: null,
      status: 'registered',
      summary: builtInChat,
    })),
  );
  expect(new Set(installed.map((row) => row.webhook_id)).size).toBe(2);
  const announced = await after.query<{ data: object }>("SELECT data FROM outbox ORDER BY data ->> 'botId'");
  expect(announced.map(({ data }) => data)).toEqual(
    bots.map((botId) => ({
      botId,
      workspaceId: 'w',
      revision: 1,
      integrations: [{ alias: 'chat', id: builtInChat.id }],
      plugins: [],
    })),
  );
  await after.close();
  await drop();
});
