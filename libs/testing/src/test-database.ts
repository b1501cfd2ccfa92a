import { execFile } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { promisify } from 'node:util';
import { Client } from 'pg';
import { Database } from '@parley/persistence/database';
import type { EntityClass, MigrationClass } from '@parley/persistence/service-schema';

/** Database of one suite. `drop` also closes its open connections. */
export interface EmptyDatabase {
  url: string;
  drop(): Promise<void>;
}

export interface TestDatabase extends EmptyDatabase {
  database: Database;
}

const runFile = promisify(execFile);

/**
 * New database with this schema: a copy of a template, which the first suite of the run creates.
 *
 * @param tables migrations of the schema, or its statements
 * @param entities for TypeORM's repositories; none by default
 */
export async function createTestDatabase(
  tables: MigrationClass[] | string,
  schema: string,
  entities: EntityClass[] = [],
): Promise<TestDatabase> {
  const template = await ensureTemplate(tables, schema);
  const { url, drop } = await createDatabase(template);
  const migrations = typeof tables === 'string' ? [] : tables;
  const database = await Database.open({ url, schema, migrations, entities, poolSize: 3 });
  return {
    database,
    url,
    drop: async () => {
      await database.close();
      await drop();
    },
  };
}

export function createEmptyDatabase(): Promise<EmptyDatabase> {
  return createDatabase('template0');
}

/**
 * New database with the migrated schemas of all services and no rows: a copy of a template, created by the compiled
 * `migrate` command.
 */
export async function createPlatformDatabase(): Promise<EmptyDatabase> {
  const template = `${runPrefix()}platform`;
  await makeTemplate(template, async (url) => {
    await runFile(process.execPath, ['dist/apps/cli/src/migrate.js'], { env: { ...process.env, DATABASE_URL: url } });
  });
  return createDatabase(template);
}

/** Empty database with the ICU collation of this language, as many databases of other installations have. */
export function createDatabaseOfLanguage(language: string): Promise<EmptyDatabase> {
  return createDatabase('template0', `LOCALE_PROVIDER icu ICU_LOCALE '${language}'`);
}

/** Copy of a database without open connections. */
export function copyDatabase({ url }: Pick<EmptyDatabase, 'url'>): Promise<EmptyDatabase> {
  return createDatabase(new URL(url).pathname.slice(1));
}

/** FILE_COPY: the default strategy WAL_LOG costs ten times the processor time. */
async function createDatabase(template: string, options = ''): Promise<EmptyDatabase> {
  const name = newName();
  await onServer((client) =>
    client.query(`CREATE DATABASE "${name}" TEMPLATE "${template}" STRATEGY FILE_COPY ${options}`),
  );
  return {
    url: urlOf(name),
    drop: () => onServer(async (client) => void (await client.query(`DROP DATABASE IF EXISTS "${name}" WITH (FORCE)`))),
  };
}

/** Empties all tables of these schemas, except that of the migrations. */
export async function removeRows(database: Pick<EmptyDatabase, 'url'>, ...schemas: string[]): Promise<void> {
  const [row] = await queryDatabase<{ tables: string | null }>(
    database,
    `SELECT string_agg(format('%I.%I', schemaname, tablename), ', ') AS tables FROM pg_tables
     WHERE schemaname = ANY ($1) AND tablename <> 'migration'`,
    [schemas],
  );
  if (row?.tables) await queryDatabase(database, `TRUNCATE ${row.tables}`);
}

/** One statement on a connection of its own. */
export async function queryDatabase<Row extends object>(
  { url }: Pick<EmptyDatabase, 'url'>,
  text: string,
  values: unknown[] = [],
): Promise<Row[]> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<Row>(text, values)).rows;
  } finally {
    await client.end();
  }
}

async function ensureTemplate(tables: MigrationClass[] | string, schema: string): Promise<string> {
  const migrations = typeof tables === 'string' ? [] : tables;
  const key = [schema, typeof tables === 'string' ? tables : tables.map(({ name }) => name)].join();
  const template = `${runPrefix()}template_${createHash('sha256').update(key).digest('hex').slice(0, 16)}`;
  await makeTemplate(template, async (url) => {
    const database = await Database.open({ url, schema, migrations, poolSize: 2 });
    try {
      if (typeof tables === 'string') await database.query(`CREATE SCHEMA "${schema}"; ${tables}`);
      else await database.migrate();
    } finally {
      await database.close();
    }
  });
  return template;
}

/** Idempotent. Migrates under another name first, so that a template is never half migrated when a suite is killed. */
async function makeTemplate(template: string, migrate: (url: string) => Promise<void>): Promise<void> {
  await onServer(async (client) => {
    await client.query('SELECT pg_advisory_lock(hashtextextended($1, 0))', [template]);
    const { rowCount } = await client.query('SELECT 1 FROM pg_database WHERE datname = $1', [template]);
    if (rowCount) return;

    const name = newName();
    await client.query(`CREATE DATABASE "${name}" TEMPLATE template0`);
    await migrate(urlOf(name));
    await client.query(`ALTER DATABASE "${name}" RENAME TO "${template}"`);
  });
}

async function onServer<T>(work: (client: Client) => Promise<T>): Promise<T> {
  const client = new Client({ connectionString: serverUrl() });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

function newName(): string {
  return `${runPrefix()}${randomBytes(6).toString('hex')}`;
}

/** Prefix of all databases of a run, by which global-teardown drops them on a server that outlives the run. */
function runPrefix(): string {
  return `parley_test_${process.env.TEST_RUN_ID}_`;
}

function urlOf(name: string): string {
  const url = new URL(serverUrl());
  url.pathname = `/${name}`;
  return url.href;
}

function serverUrl(): string {
  const url = process.env.TEST_DATABASE_URL;
  if (!url)
    throw new Error('TEST_DATABASE_URL is not set: run the suite with jest, whose global setup starts a Postgres.');
  return url;
}
