import { ServiceDataSource } from '@parley/persistence/service-data-source';
import type { ServiceSchema } from '@parley/persistence/service-schema';
import { createTestDatabase } from './test-database';

/**
 * Compares the tables that the migrations create with those that the entities describe. Returns the statements that
 * TypeORM would run to change the tables, and a line for each table without an entity. TypeORM does not compare check
 * expressions, expressions in indexes, triggers and functions.
 */
export async function schemaDifferences(service: ServiceSchema): Promise<string[]> {
  const { url, drop } = await createTestDatabase(service.migrations, service.schema, service.entities);
  const source = await ServiceDataSource.open({ ...service, url, poolSize: 1 });
  try {
    const { upQueries } = await source.driver.createSchemaBuilder().log();
    const tables = source.entityMetadatas.map(({ tableName }) => tableName);
    const rows: { name: string }[] = await source.query(
      `SELECT relname AS name FROM pg_class WHERE relnamespace = $1::regnamespace AND relkind IN ('r', 'p')
       AND NOT relispartition AND relname <> 'migration' AND relname <> ALL ($2) ORDER BY relname`,
      [service.schema, tables],
    );
    return [...upQueries.map(({ query }) => query), ...rows.map(({ name }) => `The table ${name} has no entity.`)];
  } finally {
    await source.destroy();
    await drop();
  }
}
