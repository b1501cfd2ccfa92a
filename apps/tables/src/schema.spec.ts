import { schemaDifferences } from '@parley/testing/schema-differences';
import { tablesDatabase } from './tables.module';

it('describes the same tables of tables in entities and in migrations', async () => {
  expect(await schemaDifferences(tablesDatabase)).toEqual([]);
});
