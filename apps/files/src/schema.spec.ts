import { schemaDifferences } from '@parley/testing/schema-differences';
import { filesDatabase } from './files.module';

it('describes the same tables of files in entities and in migrations', async () => {
  expect(await schemaDifferences(filesDatabase)).toEqual([]);
});
