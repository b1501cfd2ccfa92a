import { DataSource, type MigrationInterface } from 'typeorm';
import { Client, type Pool, type PoolClient } from 'pg';
import { isUnsettled, toApiError, toUnknownOutcome } from './errors';

export type MigrationClass = new () => MigrationInterface;

/** Runs SQL. A repository takes this, so that one method serves inside and outside a transaction. */
export interface Sql {
  /** Rows of the statement, with `int8` and `numeric` as text, as `pg` gives them. */
  query<Row = Record<string, unknown>>(text: string, values?: readonly unknown[]): Promise<Row[]>;
}

export interface Transaction extends Sql {
  /**
   * Runs once the transaction is known to be committed. One whose confirmation was lost runs nothing: only what may be
   * missed belongs here. Must not throw.
   */
  afterCommit(action: () => void): void;
}

export interface DatabaseOptions {
  url: string;
  /** The Postgres schema that this service owns. */
  schema: string;
  migrations: MigrationClass[];
  poolSize: number;
  /** Longest time that one statement may take; those of migrations may take longer. */
  statementTimeoutMs?: number;
}

/**
 * How long a caller waits for a connection, and how long for a lock: together less than the 10 s of an operation, so
 * that it is told that nothing was done rather than that time is up.
 */
const connectTimeoutMs = 3_000;
const lockTimeoutMs = 5_000;
/** The longest deadline of an operation. Longer work is done in batches. */
export const defaultStatementTimeoutMs = 30_000;
/**
 * How much longer we wait for the answer than Postgres works for it. Then the network has swallowed it, which TCP would
 * notice after a quarter of an hour, and until then the connection would be taken.
 */
const answerGraceMs = 1_000;

/** What holds in every session. Clients that vanish keep their connection and its locks for a minute at most. */
const sessionSettings = {
  lock_timeout: lockTimeoutMs,
  idle_in_transaction_session_timeout: 60_000,
  tcp_keepalives_idle: 30,
  tcp_keepalives_interval: 10,
  tcp_keepalives_count: 3,
};
type Settings = Record<string, string | number>;

/** What certainly changes nothing. */
const isRead = /^\s*SELECT\b/i;

/** One service's connection pool on its own schema. Errors that may be gone the next time become a 503. */
export class Database implements Sql {
  private readonly pool: Pool;

  private constructor(
    private readonly source: DataSource,
    private readonly options: DatabaseOptions,
  ) {
    this.pool = (source.driver as unknown as { master: Pool }).master;
  }

  static async open(options: DatabaseOptions): Promise<Database> {
    const { poolSize, statementTimeoutMs = defaultStatementTimeoutMs } = options;
    const source = await openSource(
      options,
      { max: poolSize, query_timeout: statementTimeoutMs + answerGraceMs },
      { statement_timeout: statementTimeoutMs },
    );
    return new Database(source, options);
  }

  /** The schema that this service owns: names locks that must not meet those of another service. */
  get schema(): string {
    return this.options.schema;
  }

  /** A statement that is a transaction of its own. OperationTimeout when it may have been done and no answer came. */
  async query<Row>(text: string, values?: readonly unknown[]): Promise<Row[]> {
    const explain = isRead.test(text) ? toApiError : toUnknownOutcome;
    return this.lend((client) => runQuery<Row>(client, text, values, explain));
  }

  /** A statement that changes nothing, stopped after this time: `isStopped` tells by its error. */
  async readWithin<Row>(timeoutMs: number, text: string, values?: readonly unknown[]): Promise<Row[]> {
    return this.lend(async (client) => {
      await runQuery(client, `BEGIN READ ONLY; SET LOCAL statement_timeout = ${timeoutMs}`);
      const rows = await orRollBack(client, () => runQuery<Row>(client, text, values));
      await runQuery(client, 'COMMIT');
      return rows;
    });
  }

  /**
   * Commits what `work` did, or rolls all of it back when `work` throws. OperationTimeout when it may have been committed
   * and no answer came. `work` asks the database by `tx` alone: who holds a connection must not wait for a second one.
   */
  async transaction<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
    const actions: (() => void)[] = [];
    const result = await this.lend(async (client) => {
      const tx: Transaction = {
        query: (text, values) => runQuery(client, text, values),
        afterCommit: (action) => actions.push(action),
      };
      await tx.query('BEGIN');
      const done = await orRollBack(client, () => work(tx));
      await commit(client);
      return done;
    });
    actions.forEach((action) => action());
    return result;
  }

  /** Brings the schema up to date. Safe to run by many processes at once: one works, the others wait for it. */
  async migrate(): Promise<void> {
    const { url, schema } = this.options;
    // The lock sits on a connection of its own, so that a pool of one cannot wait for itself.
    const lock = new Client({
      connectionString: url,
      application_name: `parley-${schema}-migrate`,
      connectionTimeoutMillis: connectTimeoutMs,
      options: startOptions(schema, { ...sessionSettings, lock_timeout: 0 }),
    });
    lock.on('error', ignore);
    try {
      await lock.connect().catch(rethrow);
      await lock.query('SELECT pg_advisory_lock(hashtextextended($1, 0))', [`migrate:${schema}`]);
      await lock.query(`CREATE SCHEMA IF NOT EXISTS "${schema}"`);
      const source = await openSource(this.options, { max: 1 });
      await source.runMigrations({ transaction: 'each' }).finally(() => source.destroy());
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

  /** A connection that breaks, or that may be in the middle of something, does not come back to the pool. */
  private async lend<T>(work: (client: PoolClient) => Promise<T>): Promise<T> {
    const client = await this.pool.connect().catch(rethrow);
    // The pool listens only to idle clients: without this, a connection that breaks between two statements ends the process.
    client.on('error', ignore);
    let failure: unknown;
    try {
      return await work(client);
    } catch (error) {
      failure = error;
      throw error;
    } finally {
      client.off('error', ignore);
      client.release(isUnsettled(failure));
    }
  }
}

async function openSource(
  { url, schema, migrations }: DatabaseOptions,
  pool: { max: number; query_timeout?: number },
  settings: Settings = {},
): Promise<DataSource> {
  const source = new DataSource({
    type: 'postgres',
    url,
    schema,
    migrations,
    migrationsTableName: 'migration',
    applicationName: `parley-${schema}`,
    connectTimeoutMS: connectTimeoutMs,
    // What TypeORM would only log when an idle connection breaks: the pool drops it and opens another.
    poolErrorHandler: () => undefined,
    // Silent unless DEBUG names it. What fails is thrown, and logged by who starts.
    logger: 'debug',
    extra: { ...pool, options: startOptions(schema, { ...sessionSettings, ...settings }) },
  });
  return source.initialize().catch(rethrow);
}

function startOptions(schema: string, settings: Settings): string {
  const all = { search_path: `${schema},public`, ...settings };
  return Object.entries(all)
    .map(([name, value]) => `-c ${name}=${value}`)
    .join(' ');
}

async function runQuery<Row>(
  client: PoolClient,
  text: string,
  values?: readonly unknown[],
  explain = toApiError,
): Promise<Row[]> {
  const result = await client.query(text, values as unknown[]).catch((error: unknown) => {
    throw explain(error);
  });
  return result.rows as Row[];
}

/** The end of a connection that may be broken undoes everything too: nobody waits for it to take a ROLLBACK. */
async function orRollBack<T>(client: PoolClient, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!isUnsettled(error)) await client.query('ROLLBACK').catch(rethrow);
    throw error;
  }
}

/** Postgres answers COMMIT with a rollback when a statement failed and `work` did not throw: that is no success. */
async function commit(client: PoolClient): Promise<void> {
  const { command } = await client.query('COMMIT').catch((error: unknown) => {
    throw toUnknownOutcome(error);
  });
  if (command !== 'COMMIT')
    throw new Error('The transaction was rolled back: a statement failed and its error was swallowed.');
}

/** The next statement on the connection tells what is wrong with it. */
function ignore(): void {}

function rethrow(error: unknown): never {
  throw toApiError(error);
}
