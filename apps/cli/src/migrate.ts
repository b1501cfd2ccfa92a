import 'reflect-metadata';
import { adminDatabase } from '../../admin/src/admin.module';
import { chatDatabase } from '../../chat/src/chat.module';
import { filesDatabase } from '../../files/src/files.module';
import { hubDatabase } from '../../hub/src/hub.module';
import { modelsDatabase } from '../../models/src/models.module';
import { runtimeDatabase } from '../../runtime/src/runtime.module';
import { tablesDatabase } from '../../tables/src/tables.module';
import { ConfigError, readConfig } from '@parley/config/config';
import { Database, OutdatedSchema } from '@parley/persistence/database';
import { CannotConnect } from '@parley/persistence/errors';
import { ServiceConfig } from '@parley/service/config';

/** Migrates every schema. Idempotent, and safe to run concurrently: migrations hold an advisory lock. */
async function migrate(): Promise<void> {
  const { databaseUrl } = readConfig(ServiceConfig);
  for (const { schema, migrations } of [
    adminDatabase,
    hubDatabase,
    filesDatabase,
    tablesDatabase,
    chatDatabase,
    runtimeDatabase,
    modelsDatabase,
  ]) {
    const database = await Database.open({ url: databaseUrl, schema, migrations, poolSize: 2 });
    try {
      await database.migrate();
      process.stdout.write(`${schema}: up to date\n`);
    } finally {
      await database.close();
    }
  }
}

migrate().catch((error: unknown) => {
  const isExpected = [ConfigError, CannotConnect, OutdatedSchema].some((type) => error instanceof type);
  process.stderr.write(`${isExpected ? (error as Error).message : ((error as Error).stack ?? String(error))}\n`);
  process.exitCode = 1;
});
