import { once } from 'node:events';
import { Client } from 'pg';
import { testRun } from './global-setup';

export default async function globalTeardown(): Promise<void> {
  const { postgres, cleaner } = testRun;
  if (postgres) await postgres.stop();
  else await dropDatabases();
  cleaner.ref();
  cleaner.stdin?.end();
  await once(cleaner, 'exit');
}

/** Databases would stay on a server that outlives the run. */
async function dropDatabases(): Promise<void> {
  const client = new Client({ connectionString: process.env.TEST_DATABASE_URL });
  await client.connect();
  const { rows } = await client.query<{ datname: string }>(
    'SELECT datname FROM pg_database WHERE starts_with(datname, $1)',
    [`parley_test_${process.env.TEST_RUN_ID}_`],
  );
  for (const { datname } of rows) await client.query(`DROP DATABASE IF EXISTS "${datname}" WITH (FORCE)`);
  await client.end();
}
