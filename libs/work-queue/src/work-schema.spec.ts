import { schemaDifferences } from '@parley/testing/schema-differences';
import { workSchema } from './test/work-database';

it('describes the same table in the entity and in the migration', async () => {
  expect(await schemaDifferences(workSchema)).toEqual([]);
});
