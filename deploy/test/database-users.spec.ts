import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { Database } from '@parley/persistence/database';
import { createEmptyDatabase, type EmptyDatabase } from '@parley/testing/test-database';
import { SignalsRepository } from '../../apps/chat/src/signals/signals.repository';

const schemas = ['admin', 'chat', 'files', 'hub', 'runtime', 'tables'];
const password = randomBytes(16).toString('hex');
const migrator = `parley_test_${randomBytes(6).toString('hex')}`;
const makeUsers = readFileSync('deploy/postgres/users.sql', 'utf8');

let empty: EmptyDatabase;
let superuser: Database;
const opened: Database[] = [];

function open(url: string, schema: string): Promise<Database> {
  return Database.open({ url, schema, migrations: [], poolSize: 2 }).then((database) => {
    opened.push(database);
    return database;
  });
}

function urlOf(user: string): string {
  return Object.assign(new URL(empty.url), { username: user, password }).href;
}

/** Database connection of an app that has its own Postgres user. */
const as = (schema: string) => open(urlOf(`parley_${schema}`), schema);

function migrate(): void {
  const env = { PATH: process.env['PATH'], DATABASE_URL: urlOf(migrator) };
  execFileSync(process.execPath, ['dist/apps/cli/src/migrate.js'], { env, stdio: 'pipe' });
}

beforeAll(async () => {
  empty = await createEmptyDatabase();
  superuser = await open(empty.url, 'public');
  await superuser.query(`CREATE ROLE ${migrator} LOGIN PASSWORD '${password}'`);
  await superuser.query(`GRANT CREATE ON DATABASE "${new URL(empty.url).pathname.slice(1)}" TO ${migrator}`);
  migrate();
  await superuser.query(makeUsers);
  await superuser.query(makeUsers);
  for (const schema of schemas) await superuser.query(`ALTER ROLE parley_${schema} PASSWORD '${password}'`);
});

afterAll(async () => {
  await Promise.all(opened.map((database) => database.close()));
  await empty?.drop();
  const server = await createEmptyDatabase();
  const database = await Database.open({ url: server.url, schema: 'public', migrations: [], poolSize: 1 });
  for (const user of [...schemas.map((schema) => `parley_${schema}`), migrator])
    await database.query(`DROP ROLE IF EXISTS ${user}`);
  await database.close();
  await server.drop();
});

it.each(schemas)(
  'lets the user of %s read and write its schema, including tables created later, and no other schema',
  async (schema) => {
    const owner = await open(urlOf(migrator), schema);
    await owner.query('CREATE TABLE later (id bigserial)');
    const own = await as(schema);

    await own.query('INSERT INTO later DEFAULT VALUES');
    const tables = await own.query(
      `SELECT relname, privilege FROM pg_class, unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE']) AS privilege
     WHERE relnamespace = $1::regnamespace AND relkind IN ('r', 'p') AND NOT has_table_privilege(pg_class.oid, privilege)`,
      [schema],
    );
    const sequences = await own.query(
      `SELECT sequencename FROM pg_sequences
     WHERE schemaname = $1 AND NOT has_sequence_privilege(format('%I.%I', schemaname, sequencename), 'USAGE')`,
      [schema],
    );
    const reached = await own.query(
      `SELECT nspname FROM pg_namespace WHERE nspname = ANY($1) AND has_schema_privilege(oid, 'USAGE, CREATE')`,
      [schemas],
    );

    expect([...tables, ...sequences]).toEqual([]);
    expect(await own.pendingMigrations()).toEqual([]);
    expect(reached).toEqual([{ nspname: schema }]);
  },
);

it('lets chat create and drop partitions of its signals, including those that another user created before', async () => {
  const list = async () => {
    const rows = await superuser.query<{ name: string }>(
      `SELECT relid::regclass::text AS name FROM pg_partition_tree('chat.signal') WHERE isleaf ORDER BY 1`,
    );
    return rows.map(({ name }) => name);
  };
  await (
    await open(urlOf(migrator), 'chat')
  ).query(
    `CREATE TABLE signal_2020010100 PARTITION OF signal FOR VALUES FROM ('2020-01-01 00:00Z') TO ('2020-01-01 01:00Z')`,
  );
  await superuser.query(makeUsers);
  const signals = new SignalsRepository(await as('chat'));

  await signals.rotatePartitions(2, 2);

  expect(await list()).toEqual(expect.not.arrayContaining(['chat.signal_2020010100']));
  expect(await list()).toHaveLength(4);
});

it('lets the migrating user change tables that chat owns', async () => {
  const owner = await open(urlOf(migrator), 'chat');

  await owner.query('ALTER TABLE signal ADD COLUMN later text');
  await owner.query('CREATE INDEX later_signal ON signal (later)');

  expect(() => migrate()).not.toThrow();
});
