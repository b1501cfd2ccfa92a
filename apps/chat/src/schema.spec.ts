import { schemaDifferences } from '@parley/testing/schema-differences';
import { chatDatabase } from './chat.module';

it('describes the same tables of chat in entities and in migrations', async () => {
  expect(await schemaDifferences(chatDatabase)).toEqual([
    // Signals and tags have no primary key, which every entity of TypeORM must have.
    'ALTER TABLE "signal" ADD CONSTRAINT "signal_pkey" PRIMARY KEY ("bot_id", "conversation_id", "number")',
    'ALTER TABLE "tag" ADD CONSTRAINT "tag_pkey" PRIMARY KEY ("bot_id", "kind", "name", "object_id")',
  ]);
});
