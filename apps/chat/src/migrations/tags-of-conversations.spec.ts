import { Database, type MigrationClass } from '@parley/persistence/database';
import { serviceMigrations } from '@parley/service/service.module';
import { createEmptyDatabase } from '@parley/testing/test-database';
import { chatDatabase } from '../chat.module';
import { TagsOfConversations1700000005010 } from './1700000005010-tags-of-conversations';

it('fills in the conversation of existing message tags', async () => {
  const { url, drop } = await createEmptyDatabase();
  const { migrations } = chatDatabase;
  const open = async (some: MigrationClass[]) => {
    const database = await Database.open({ url, schema: 'chat', migrations: serviceMigrations(some), poolSize: 2 });
    await database.migrate();
    return database;
  };
  const before = await open(migrations.slice(0, migrations.indexOf(TagsOfConversations1700000005010)));
  await before.query(
    `INSERT INTO message (bot_id, id, conversation_id, user_id, type, payload, tags, direction, created_at, updated_at)
     SELECT bot, 'thing', 'of ' || bot, 'u', 'text', '{}', '{"a": "b"}', 'incoming', now(), now()
     FROM unnest(ARRAY['one', 'two']) AS bot`,
  );
  await before.query(
    `INSERT INTO tag (bot_id, kind, name, value, created_at, object_id)
     SELECT bot, kind, 'a', 'b', now(), 'thing'
     FROM unnest(ARRAY['one', 'two', 'three']) AS bot, unnest(ARRAY['message', 'user']) AS kind`,
  );
  await before.close();

  const after = await open(migrations);

  const tags = await after.query('SELECT bot_id, kind, conversation_id FROM tag ORDER BY kind, bot_id');
  expect(tags).toEqual([
    { bot_id: 'one', kind: 'message', conversation_id: 'of one' },
    { bot_id: 'three', kind: 'message', conversation_id: null },
    { bot_id: 'two', kind: 'message', conversation_id: 'of two' },
    ...['one', 'three', 'two'].map((bot_id) => ({ bot_id, kind: 'user', conversation_id: null })),
  ]);
  await after.close();
  await drop();
});
