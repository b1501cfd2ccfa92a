import { unavailable, WritesRefused } from '@parley/contracts/errors';
import { DataSource, type MigrationInterface } from 'typeorm';
import { Client, type ClientConfig, type Pool, type PoolClient, type QueryConfig, type QueryResult } from 'pg';
import { inSpan, isTraced } from '@parley/tracing/tracing';
import { CannotConnect, hasNoRoom, isUnsettled, toApiError, toUnknownOutcome } from './errors';

export type MigrationClass = new () => MigrationInterface;

/** Runs SQL. A repository takes this, so that one method serves inside and outside a transaction. */
export interface Sql {
  /**
   * Rows of the statement, with `int8` and `numeric` as text, as `pg` gives them.
   * @param name of a statement that takes longer to plan than to run: each connection plans it a few times and not again
   */
  query<Row = Record<string, unknown>>(text: string, values?: readonly unknown[], name?: string): Promise<Row[]>;
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
  /** Longest wait for a connection of the pool. */
  connectTimeoutMs?: number;
  /** Longest wait for the first connection. */
  openTimeoutMs?: number;
  /** Longest wait for a lock that another transaction holds. */
  lockTimeoutMs?: number;
  /** How many may wait for a connection. */
  maxWaiting?: number;
  /** Is told when one more would have had to wait. */
  onShed?: () => void;
  /** Is told of each piece of work that Postgres did not do because it takes no writes. */
  onWritesRefused?: () => void;
}

/**
 * How long a caller waits for a connection, and how long for a lock: together less than the 10 s of an operation, so
 * that it is told that nothing was done rather than that time is up.
 */
const defaultConnectTimeoutMs = 3_000;
/** The same for who starts, on a machine that may be starting everything else too. Nobody waits for an answer yet. */
const defaultOpenTimeoutMs = 30_000;
/** So much later than due a timer rings where the whole process has stood still, and not just had much to do. */
const standstillMs = 250;
const defaultLockTimeoutMs = 5_000;
/** More than a service works on at once, so that only what is beside its operations comes to it. */
export const defaultMaxWaiting = 2_000;
/** The longest deadline of an operation. Longer work is done in batches. */
export const defaultStatementTimeoutMs = 30_000;
/**
 * How much longer we wait for the answer than Postgres works for it. Then the network has swallowed it, which TCP would
 * notice after a quarter of an hour, and until then the connection would be taken.
 */
const answerGraceMs = 1_000;

/** What holds in every session. Clients that vanish keep their connection and its locks for a minute at most. */
const sessionSettings = {
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

  /** The schema that this service owns: names locks that must not meet those of another service. */
  get schema(): string {
    return this.options.schema;
  }

  /** A statement that is a transaction of its own. OperationTimeout when it may have been done and no answer came. */
  async query<Row>(text: string, values?: readonly unknown[], name?: string): Promise<Row[]> {
    const explain = isRead.test(text) ? toApiError : toUnknownOutcome;
    return this.lend((client) => runQuery<Row>(client, text, values, { name, explain }));
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

  /** Brings the schema up to date. Safe to run by many processes at once: one works, the others wait for it. */
  async migrate(): Promise<void> {
    const { url, schema, openTimeoutMs = defaultOpenTimeoutMs } = this.options;
    // The lock sits on a connection of its own, so that a pool of one cannot wait for itself.
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

  /** How its connections are used: more than the pool has are waited for. */
  get use(): { size: number; inUse: number; idle: number; waiting: number } {
    const { totalCount, idleCount, waitingCount } = this.pool;
    return { size: this.options.poolSize, inUse: totalCount - idleCount, idle: idleCount, waiting: waitingCount };
  }

  /**
   * Throws when Postgres does not answer. A pool that is all in use says nothing about that, and whoever asks must not wait
   * for it: then a connection is made for the question.
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
      // It answers, and this process has its connections already.
      if (!hasNoRoom(error)) rethrow(error);
    } finally {
      await client.end();
    }
  }

  async close(): Promise<void> {
    if (this.source.isInitialized) await this.source.destroy();
  }

  /** How many wait for a connection. */
  get waiting(): number {
    return this.pool.waitingCount;
  }

  /** Waits once more where the process stood still with its machine: no connection could become free meanwhile. */
  private async connect(): Promise<PoolClient> {
    const begun = performance.now();
    try {
      return await this.pool.connect();
    } catch (error) {
      if (performance.now() - begun < this.connectTimeoutMs + standstillMs) throw error;
      return this.pool.connect();
    }
  }

  /** A connection that breaks, or that may be in the middle of something, does not come back to the pool. */
  private async lend<T>(work: (client: PoolClient) => Promise<T>): Promise<T> {
    const { maxWaiting = defaultMaxWaiting, onShed, onWritesRefused } = this.options;
    if (this.pool.waitingCount >= maxWaiting) {
      onShed?.();
      throw unavailable('Too many wait for the database just now. Try again in a moment.');
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
 * The pool listens to idle clients alone. A connection that breaks between two statements, or in the packet that also
 * said that it is open, must not end the process: the next statement tells what is wrong with it.
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
    // What TypeORM would only log when an idle connection breaks: the pool drops it and opens another.
    poolErrorHandler: () => undefined,
    // Silent unless DEBUG names it. What fails is thrown, and logged by who starts.
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

/** What is done for a request shows its statements, without their values. What nobody waits for shows none. */
function send(client: PoolClient, statement: QueryConfig): Promise<QueryResult> {
  if (!isTraced()) return client.query(statement);
  const { text } = statement;
  const operation = /^\W*(\w+)/.exec(text)?.[1]?.toUpperCase() ?? 'SQL';
  const attributes = { 'db.system.name': 'postgresql', 'db.operation.name': operation, 'db.query.text': text.trim() };
  return inSpan({ name: operation, kind: 'client', attributes }, async (span) => {
    const result = await client.query(statement);
    // Several statements in one have a list of results, none of which counts.
    if (typeof result.rowCount === 'number') span.set('db.response.returned_rows', result.rowCount);
    return result;
  });
}

/** The end of a connection that may be broken undoes everything too: nobody waits for it to take a ROLLBACK. */
async function orRollBack<T>(client: PoolClient, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!isUnsettled(error)) await send(client, { text: 'ROLLBACK' }).catch(rethrow);
    throw error;
  }
}

/** Postgres answers COMMIT with a rollback when a statement failed and `work` did not throw: that is no success. */
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
