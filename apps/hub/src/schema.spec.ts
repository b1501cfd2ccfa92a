import { schemaDifferences } from '@parley/testing/schema-differences';
import { hubDatabase } from './hub.module';

it('describes the same tables of the hub in entities and in migrations', async () => {
  expect(await schemaDifferences(hubDatabase)).toEqual([
    // The clock has one row and no primary key, which every entity of TypeORM must have.
    'ALTER TABLE "counter_clock" ADD CONSTRAINT "counter_clock_pkey" PRIMARY KEY ("time")',
  ]);
});
