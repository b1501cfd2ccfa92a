import { schemaDifferences } from '@parley/testing/schema-differences';
import { runtimeDatabase } from './runtime.module';

it('describes the same tables of the runtime in entities and in migrations', async () => {
  expect(await schemaDifferences(runtimeDatabase)).toEqual([]);
});
