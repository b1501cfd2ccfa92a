import { Database } from '@parley/persistence/database';
import type { Migration, ServiceSchema } from '@parley/persistence/service-schema';
import { copyDatabase, createEmptyDatabase, type EmptyDatabase } from '@parley/testing/test-database';
import type { QueryRunner } from 'typeorm';
import { workTable1796000000000 } from '../migrations/1796000000000-work-table';
import { WorkFailures1796900000000 } from '../migrations/1796900000000-work-failures';
import { WorkEntity } from '../work.entity';

class Work1796000000000 implements Migration {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(workTable1796000000000);
  }
}

export const workSchema: ServiceSchema = {
  schema: 'probe',
  migrations: [Work1796000000000, WorkFailures1796900000000],
  entities: [WorkEntity],
};

let migrated: Promise<EmptyDatabase> | undefined;

/** Database with the table of background work alone. */
export async function createWorkDatabase(): Promise<{ url: string; database: Database; drop: () => Promise<void> }> {
  const copy = await copyDatabase(await (migrated ??= createMigrated()));
  const { url } = copy;
  const database = await openWorkDatabase(url);
  return { url, database, drop: () => database.close().then(() => copy.drop()) };
}

export function openWorkDatabase(url: string): Promise<Database> {
  return Database.open({ url, ...workSchema, poolSize: 10 });
}

async function createMigrated(): Promise<EmptyDatabase> {
  const empty = await createEmptyDatabase();
  const database = await openWorkDatabase(empty.url);
  await database.migrate();
  await database.close();
  return empty;
}
