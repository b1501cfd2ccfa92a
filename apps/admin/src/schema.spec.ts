import { schemaDifferences } from '@parley/testing/schema-differences';
import { adminDatabase } from './admin.module';

it('describes the same tables of admin in entities and in migrations', async () => {
  expect(await schemaDifferences(adminDatabase)).toEqual([]);
});
