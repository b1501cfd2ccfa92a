import { schemaDifferences } from '@parley/testing/schema-differences';
import { modelsDatabase } from './models.module';

it('describes the same tables of models in entities and in migrations', async () => {
  expect(await schemaDifferences(modelsDatabase)).toEqual([]);
});
