import { DataSource, type MigrationInterface } from 'typeorm';
import { Client, type Pool, type PoolClient } from 'pg';
import { toApiError } from './errors';

export type MigrationClass = new () => MigrationInterface;

/** Runs SQL. A repository takes this, so that one method serves inside and outside a transaction. */
export interface Sql {
  /** Rows of the statement, with `int8` and `numeric` as text, as `pg` gives them. */
  query<Row = Record<string, unknown>>(text: string, values?: readonly unknown[]): Promise<Row[]>;
}

export interface Transaction extends Sql {
  /** Runs once the transaction is committed, never when it is rolled back. Must not throw. */
  afterCommit(action: () => void): void;
}

export interface DatabaseOptions {
  url: string;
  /** The Postgres schema that this service owns. */
  schema: string;
  migrations: MigrationClass[];
  poolSize: number;
}

/** One service's connection pool on its own schema. Errors that mean "the database does not answer" become a 503. */
export class Database implements Sql {
  private readonly pool: Pool;

  private constructor(
    private readonly source: DataSource,
    private readonly options: DatabaseOptions,
  ) {
    this.pool = (source.driver as unknown as { master: Pool }).master;
  }

  static async open(options: DatabaseOptions): Promise<Database> {
    const source = new DataSource({
      type: 'postgres',
      url: options.url,
      schema: options.schema,
      migrations: options.migrations,
      migrationsTableName: 'migration',
      applicationName: `parley-${options.schema}`,
      connectTimeoutMS: 5_000,
      // What TypeORM would only log when an idle connection breaks: the pool drops it and opens another.
      poolErrorHandler: () => undefined,
      extra: {
        max: options.poolSize,
        options: `-c search_path=${options.schema},public -c lock_timeout=10s -c idle_in_transaction_session_timeout=60s`,
        keepAlive: true,
      },
    });
    return new Database(await source.initialize().catch(rethrow), options);
  }

  /** The schema that this service owns: names locks that must not meet those of another service. */
  get schema(): string {
    return this.options.schema;
  }

  async query<Row>(text: string, values?: readonly unknown[]): Promise<Row[]> {
    return runQuery<Row>(this.pool, text, values);
  }

  /** Commits what `work` did, or rolls all of it back when `work` throws. */
  async transaction<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
    const client = await this.pool.connect().catch(rethrow);
    // The pool listens only to idle clients: without this, a connection that breaks between two statements ends the process.
    client.on('error', ignore);
    const actions: (() => void)[] = [];
    const tx: Transaction = {
      query: (text, values) => runQuery(client, text, values),
      afterCommit: (action) => actions.push(action),
    };
    let result: T;
    let broken: Error | undefined;
    try {
      await tx.query('BEGIN');
      result = await work(tx);
      await commit(client);
    } catch (error) {
      broken = await rollBack(client);
      throw error;
    } finally {
      client.off('error', ignore);
      client.release(broken);
    }
    actions.forEach((action) => action());
    return result;
  }

  /** Brings the schema up to date. Safe to run by many processes at once: one works, the others wait for it. */
  async migrate(): Promise<void> {
    const { url, schema } = this.options;
    // The lock sits on a connection of its own, so that a pool of one cannot wait for itself.
    const lock = new Client({ connectionString: url, application_name: `parley-${schema}-migrate` });
    lock.on('error', ignore);
    try {
      await lock.connect();
      await lock.query('SELECT pg_advisory_lock(hashtextextended($1, 0))', [`migrate:${schema}`]);
      await lock.query(`CREATE SCHEMA IF NOT EXISTS "${schema}"`);
      await this.source.runMigrations({ transaction: 'each' });
    } finally {
      await lock.end();
    }
  }

  /** Names of the migrations that this schema still lacks. */
  async pendingMigrations(): Promise<string[]> {
    const names = (this.options.migrations ?? []).map((migration) => migration.name);
    const [table] = await this.query<{ present: boolean }>('SELECT to_regclass($1) IS NOT NULL AS present', [
      `"${this.schema}".migration`,
    ]);
    if (!table?.present) return names;
    const applied = await this.query<{ name: string }>('SELECT name FROM migration');
    return names.filter((name) => !applied.some((row) => row.name === name));
  }

  async close(): Promise<void> {
    if (this.source.isInitialized) await this.source.destroy();
  }
}

async function runQuery<Row>(runner: Pool | PoolClient, text: string, values?: readonly unknown[]): Promise<Row[]> {
  const result = await runner.query(text, values as unknown[]).catch(rethrow);
  return result.rows as Row[];
}

/** Postgres answers COMMIT with a rollback when a statement failed and `work` did not throw: that is no success. */
async function commit(client: PoolClient): Promise<void> {
  const { command } = await client.query('COMMIT').catch(rethrow);
  if (command !== 'COMMIT')
    throw new Error('The transaction was rolled back: a statement failed and its error was swallowed.');
}

/** The error that makes the connection unusable, if the rollback could not be sent on it. */
async function rollBack(client: PoolClient): Promise<Error | undefined> {
  try {
    await client.query('ROLLBACK');
    return undefined;
  } catch (error) {
    return error as Error;
  }
}

/** The next statement on the connection tells what is wrong with it. */
function ignore(): void {}

function rethrow(error: unknown): never {
  throw toApiError(error);
}
