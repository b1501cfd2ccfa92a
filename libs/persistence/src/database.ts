import { unavailable, WritesRefused } from '@parley/contracts/errors';
import { DataSource, type MigrationInterface } from 'typeorm';
import { Client, type ClientConfig, type Pool, type PoolClient, type QueryConfig, type QueryResult } from 'pg';
import { inSpan, isTraced } from '@parley/tracing/tracing';
import { CannotConnect, hasNoRoom, isUnsettled, toApiError, toUnknownOutcome } from './errors';

export type MigrationClass = new () => MigrationInterface;

/** SQL executor: a repository takes it to run inside or outside a transaction. */
export interface Sql {
  /**
   * Rows of the statement; `int8` and `numeric` are strings, as in `pg`.
   * @param name for a prepared statement, where planning takes longer than running: each connection plans it only a few
   * times
   */
  query<Row = Record<string, unknown>>(text: string, values?: readonly unknown[], name?: string): Promise<Row[]>;
}

export interface Transaction extends Sql {
  /** Runs once the commit is confirmed; skipped when the confirmation is lost. Must not throw. */
  afterCommit(action: () => void): void;
}

export interface DatabaseOptions {
  url: string;
  schema: string;
  migrations: MigrationClass[];
  poolSize: number;
  /** Statement timeout; does not apply to migrations. */
  statementTimeoutMs?: number;
  /** Longest wait for a pool connection. */
  connectTimeoutMs?: number;
  /** Longest wait for the first connection. */
  openTimeoutMs?: number;
  lockTimeoutMs?: number;
  /** Load shedding: most callers that may wait for a connection. */
  maxWaiting?: number;
  onShed?: () => void;
  /** Called for each transaction or statement that fails because Postgres refuses writes. */
  onWritesRefused?: () => void;
}

/**
 * Longest wait for a pool connection. Together with the lock timeout less than the 10 s of an operation, so that the
 * caller gets a definite 503 rather than a timeout.
 */
const defaultConnectTimeoutMs = 3_000;
/** Longest wait for the first connection, on a machine that may be starting everything else too. No caller waits yet. */
const defaultOpenTimeoutMs = 30_000;
/** A timer that fires this much late means that the whole process was suspended, not only busy. */
const standstillMs = 250;
const defaultLockTimeoutMs = 5_000;
/** More than a service's concurrency limit, so that only background work can reach it. */
export const defaultMaxWaiting = 2_000;
/** Longest deadline of an operation. Longer work runs in batches. */
export const defaultStatementTimeoutMs = 30_000;
/**
 * Added to the statement timeout for the client's own timeout: an answer still missing then was dropped by the network.
 * TCP would notice after a quarter of an hour and keep the connection in use until then.
 */
const answerGraceMs = 1_000;

/** Settings of every session. A connection of a vanished client, and its locks, end after a minute at most. */
const sessionSettings = {
  idle_in_transaction_session_timeout: 60_000,
  tcp_keepalives_idle: 30,
  tcp_keepalives_interval: 10,
  tcp_keepalives_count: 3,
};
type Settings = Record<string, string | number>;

/** Statements that certainly write nothing. */
const isRead = /^\s*SELECT\b/i;

/** Connection pool of one service on its own schema. Transient errors become a 503. */
export class Database implements Sql {
  private readonly pool: Pool;
  private readonly connectTimeoutMs: number;

  private constructor(
    private readonly source: DataSource,
    private readonly options: DatabaseOptions,
  ) {
    this.pool = (source.driver as unknown as { master: Pool }).master;
    this.connectTimeoutMs = options.connectTimeoutMs ?? defaultConnectTimeoutMs;
    this.pool.options.connectionTimeoutMillis = this.connectTimeoutMs;
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

  /** Also part of lock names, to keep them apart from those of other services. */
  get schema(): string {
    return this.options.schema;
  }

  /** Runs one statement as a transaction. Throws OperationTimeout when it may have been committed. */
  async query<Row>(text: string, values?: readonly unknown[], name?: string): Promise<Row[]> {
    const explain = isRead.test(text) ? toApiError : toUnknownOutcome;
    return this.lend((client) => runQuery<Row>(client, text, values, { name, explain }));
  }

  /** Runs a read-only statement with its own timeout; `isStopped` recognises the error. */
  async readWithin<Row>(timeoutMs: number, text: string, values?: readonly unknown[]): Promise<Row[]> {
    return this.lend(async (client) => {
      await runQuery(client, `BEGIN READ ONLY; SET LOCAL statement_timeout = ${timeoutMs}`);
      const rows = await orRollBack(client, () => runQuery<Row>(client, text, values));
      await runQuery(client, 'COMMIT');
      return rows;
    });
  }

  /**
   * Commits when `work` resolves, rolls back when it throws. Throws OperationTimeout when the commit was not confirmed.
   * Deadlock risk: `work` must use only `tx`, since a holder of a connection must not wait for a second one.
   */
  async transaction<T>(work: (tx: Transaction) => Promise<T>): Promise<T> {
    const actions: (() => void)[] = [];
    const result = await this.lend(async (client) => {
      const tx: Transaction = {
        query: (text, values, name) => runQuery(client, text, values, { name }),
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

  /** Runs pending migrations. Safe to run concurrently: an advisory lock lets one process run them. */
  async migrate(): Promise<void> {
    const { url, schema, openTimeoutMs = defaultOpenTimeoutMs } = this.options;
    // The lock has its own connection, so that a pool of one cannot deadlock.
    const lock = new ListenedClient({
      connectionString: url,
      application_name: `parley-${schema}-migrate`,
      connectionTimeoutMillis: openTimeoutMs,
      options: startOptions(schema, { ...sessionSettings, lock_timeout: 0 }),
    });
    try {
      await lock.connect().catch((error: unknown) => {
        throw new CannotConnect(url, error);
      });
      await lock.query('SELECT pg_advisory_lock(hashtextextended($1, 0))', [`migrate:${schema}`]);
      await lock.query(`CREATE SCHEMA IF NOT EXISTS "${schema}"`);
      const source = await openSource(this.options, { max: 1 });
      await source.runMigrations({ transaction: 'each' }).finally(() => source.destroy());
    } finally {
      await lock.end();
    }
  }

  async pendingMigrations(): Promise<string[]> {
    const names = (this.options.migrations ?? []).map((migration) => migration.name);
    const [table] = await this.query<{ present: boolean }>('SELECT to_regclass($1) IS NOT NULL AS present', [
      `"${this.schema}".migration`,
    ]);
    if (!table?.present) return names;
    const applied = await this.query<{ name: string }>('SELECT name FROM migration');
    return names.filter((name) => !applied.some((row) => row.name === name));
  }

  /** Connections of the pool, and the number of callers that wait for one. */
  get use(): { size: number; inUse: number; idle: number; waiting: number } {
    const { totalCount, idleCount, waitingCount } = this.pool;
    return { size: this.options.poolSize, inUse: totalCount - idleCount, idle: idleCount, waiting: waitingCount };
  }

  /**
   * Health check: throws when Postgres does not answer. When the whole pool is in use, a separate connection is opened,
   * so that the check does not wait for the pool.
   */
  async ping(): Promise<void> {
    const { inUse, size } = this.use;
    if (inUse < size) return void (await this.query('SELECT 1'));
    const { url, schema } = this.options;
    const client = new ListenedClient({
      connectionString: url,
      application_name: `parley-${schema}-ping`,
      connectionTimeoutMillis: this.connectTimeoutMs,
      query_timeout: this.connectTimeoutMs,
    });
    try {
      await client.connect();
      await client.query('SELECT 1');
    } catch (error) {
      // Postgres answers; it has only reached its connection limit.
      if (!hasNoRoom(error)) rethrow(error);
    } finally {
      await client.end();
    }
  }

  async close(): Promise<void> {
    if (this.source.isInitialized) await this.source.destroy();
  }

  get waiting(): number {
    return this.pool.waitingCount;
  }

  /** Waits once more after the process was suspended with its machine: no connection could become free meanwhile. */
  private async connect(): Promise<PoolClient> {
    const begun = performance.now();
    try {
      return await this.pool.connect();
    } catch (error) {
      if (performance.now() - begun < this.connectTimeoutMs + standstillMs) throw error;
      return this.pool.connect();
    }
  }

  /** Connections that broke or may still run a statement do not return to the pool. */
  private async lend<T>(work: (client: PoolClient) => Promise<T>): Promise<T> {
    const { maxWaiting = defaultMaxWaiting, onShed, onWritesRefused } = this.options;
    if (this.pool.waitingCount >= maxWaiting) {
      onShed?.();
      throw unavailable('The database is overloaded: too many requests wait for a connection. Try again in a moment.');
    }
    const client = await this.connect().catch(rethrow);
    let failure: unknown;
    try {
      return await work(client);
    } catch (error) {
      failure = error;
      if (error instanceof WritesRefused) onWritesRefused?.();
      throw error;
    } finally {
      client.release(isUnsettled(failure));
    }
  }
}

/**
 * The pool handles errors of idle clients only. Without this listener, a connection that breaks between two statements,
 * or in the packet that opens it, would end the process; here the next statement reports the error.
 */
class ListenedClient extends Client {
  constructor(config?: string | ClientConfig) {
    super(config);
    this.on('error', () => undefined);
  }
}

async function openSource(
  options: DatabaseOptions,
  pool: { max: number; query_timeout?: number },
  settings: Settings = {},
): Promise<DataSource> {
  const { url, schema, migrations } = options;
  const { openTimeoutMs = defaultOpenTimeoutMs, lockTimeoutMs = defaultLockTimeoutMs } = options;
  const source = new DataSource({
    type: 'postgres',
    url,
    schema,
    migrations,
    migrationsTableName: 'migration',
    applicationName: `parley-${schema}`,
    connectTimeoutMS: openTimeoutMs,
    // TypeORM would only log errors of idle connections: the pool replaces the connection.
    poolErrorHandler: () => undefined,
    // Silent unless DEBUG enables it. Errors are thrown, and logged at the start of the service.
    logger: 'debug',
    extra: {
      ...pool,
      Client: ListenedClient,
      options: startOptions(schema, { ...sessionSettings, lock_timeout: lockTimeoutMs, ...settings }),
    },
  });
  return source.initialize().catch((error: unknown) => {
    throw new CannotConnect(url, error);
  });
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
  { name, explain = toApiError }: { name?: string; explain?: (error: unknown) => unknown } = {},
): Promise<Row[]> {
  const result = await send(client, { name, text, values: values as unknown[] }).catch((error: unknown) => {
    throw explain(error);
  });
  return result.rows as Row[];
}

/** Statements inside a trace get a span with their text, without values. Background statements get none. */
function send(client: PoolClient, statement: QueryConfig): Promise<QueryResult> {
  if (!isTraced()) return client.query(statement);
  const { text } = statement;
  const operation = /^\W*(\w+)/.exec(text)?.[1]?.toUpperCase() ?? 'SQL';
  const attributes = { 'db.system.name': 'postgresql', 'db.operation.name': operation, 'db.query.text': text.trim() };
  return inSpan({ name: operation, kind: 'client', attributes }, async (span) => {
    const result = await client.query(statement);
    // Several statements in one text return a list of results without a row count.
    if (typeof result.rowCount === 'number') span.set('db.response.returned_rows', result.rowCount);
    return result;
  });
}

/** Skips the ROLLBACK on a connection that may be broken: closing it rolls back too. */
async function orRollBack<T>(client: PoolClient, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!isUnsettled(error)) await send(client, { text: 'ROLLBACK' }).catch(rethrow);
    throw error;
  }
}

/** Postgres answers COMMIT with ROLLBACK when a statement failed and `work` caught its error. */
async function commit(client: PoolClient): Promise<void> {
  const { command } = await send(client, { text: 'COMMIT' }).catch((error: unknown) => {
    throw toUnknownOutcome(error);
  });
  if (command !== 'COMMIT')
    throw new Error('The transaction was rolled back: a statement failed and its error was swallowed.');
}

function rethrow(error: unknown): never {
  throw toApiError(error);
}
