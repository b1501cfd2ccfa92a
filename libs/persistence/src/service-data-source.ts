import type { Socket } from 'node:net';
import { unavailable, WritesRefused } from '@parley/contracts/errors';
import { Client, type ClientConfig, Pool, type PoolClient } from 'pg';
import {
  DataSource,
  type EntityManager,
  type ObjectLiteral,
  QueryFailedError,
  type QueryRunner,
  TypeORMError,
} from 'typeorm';
import type { PostgresDriver } from 'typeorm/driver/postgres/PostgresDriver.js';
import { PostgresQueryRunner } from 'typeorm/driver/postgres/PostgresQueryRunner.js';
import { CannotConnect, isUnsettled, toApiError, toUnknownOutcome } from './errors';
import { PostgresNames } from './postgres-names';
import { defaultMaxWaiting, defaultStatementTimeoutMs } from './service-limits';
import type { ServiceSchema } from './service-schema';
import { inStatementSpan, isRead } from './statement';
import { columnParsers } from './column-parsers';

export interface DataSourceOptions extends Omit<ServiceSchema, 'entities'>, Partial<Pick<ServiceSchema, 'entities'>> {
  url: string;
  poolSize: number;
  /** Statement timeout; does not apply to migrations. */
  statementTimeoutMs?: number;
  /** Longest wait for a pool connection. */
  connectTimeoutMs?: number;
  /** Longest wait for a connection until the process has started. */
  openTimeoutMs?: number;
  /** Resolves when the process has started; absent: it has, once the pool is open. */
  started?: Promise<void>;
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
/**
 * Longest wait for a connection while the process starts: it compiles and wires its modules without a pause, on a machine that
 * may be starting everything else too. No caller waits yet.
 */
export const defaultOpenTimeoutMs = 30_000;
/** A timer that fires this much late means that the whole process was suspended, not only busy. */
const standstillMs = 250;
const defaultLockTimeoutMs = 5_000;
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

/** Data source of one service on its own schema. TypeORM and `Database` share its connection pool and its limits. */
export class ServiceDataSource extends DataSource {
  private constructor(
    readonly settings: DataSourceOptions,
    readonly pool: Pool,
  ) {
    super({
      type: 'postgres',
      schema: settings.schema,
      entities: settings.entities ?? [],
      migrations: settings.migrations,
      migrationsTableName: 'migration',
      namingStrategy: new PostgresNames(),
      synchronize: false,
      installExtensions: false,
      // A condition without a value would be left out: a missing bot id would match the rows of all bots.
      invalidWhereValuesBehavior: { null: 'throw', undefined: 'throw' },
      // TypeORM would only log errors of idle connections: the pool replaces the connection.
      poolErrorHandler: () => undefined,
      // Silent unless DEBUG enables it. Errors are thrown, and logged at the start of the service.
      logger: 'debug',
      driver: {
        Pool: function () {
          return pool;
        },
      },
    });
  }

  /** Opens the pool with a first connection. Throws CannotConnect. */
  static async open(settings: DataSourceOptions): Promise<ServiceDataSource> {
    const { url, schema, poolSize, statementTimeoutMs = defaultStatementTimeoutMs } = settings;
    const { openTimeoutMs = defaultOpenTimeoutMs, lockTimeoutMs = defaultLockTimeoutMs } = settings;
    const { started = Promise.resolve() } = settings;
    const pool = new Pool({
      Client: ListenedClient,
      types: columnParsers.values,
      connectionString: url,
      application_name: `parley-${schema}`,
      connectionTimeoutMillis: openTimeoutMs,
      max: poolSize,
      // An idle service keeps one: a new connection costs more than many statements.
      min: 1,
      options: startOptions(schema, { lock_timeout: lockTimeoutMs, statement_timeout: statementTimeoutMs }),
    });
    pool.on('connect', (client) => {
      if (client instanceof ListenedClient && statementTimeoutMs > 0)
        client.closeUnlessAnswered(statementTimeoutMs + answerGraceMs);
    });
    const source = new ServiceDataSource(settings, pool);
    await source.initialize().catch((error: unknown) => {
      void pool.end();
      if (error instanceof QueryFailedError) throw new CannotConnect(url, error.driverError);
      // An error of TypeORM itself is a defect of an entity.
      throw error instanceof TypeORMError ? error : new CannotConnect(url, error);
    });
    void started.then(() => (pool.options.connectionTimeoutMillis = source.connectTimeoutMs));
    return source;
  }

  get connectTimeoutMs(): number {
    return this.settings.connectTimeoutMs ?? defaultConnectTimeoutMs;
  }

  /** Statements of TypeORM's repositories and migrations, with the limits and errors of `Database`. */
  override createQueryRunner(): QueryRunner {
    return this.withManager(new ServiceQueryRunner(this));
  }

  /** Entity manager of a transaction on this connection, which stays with the caller. */
  managerOf(client: PoolClient): EntityManager {
    return this.withManager(new ServiceQueryRunner(this, client)).manager;
  }

  /** Takes a connection of the pool. Throws a 503 when too many callers wait for one, or none is free in time. */
  async take(): Promise<PoolClient> {
    const { maxWaiting = defaultMaxWaiting, onShed } = this.settings;
    if (this.pool.waitingCount >= maxWaiting) {
      onShed?.();
      throw unavailable('The database is overloaded: too many requests wait for a connection. Try again in a moment.');
    }
    return this.connect().catch((error: unknown) => {
      throw toApiError(error);
    });
  }

  /**
   * Gives a connection back. One that broke or may still run a statement does not return to the pool.
   * @param failure error of its last statement, if it failed
   */
  giveBack(client: PoolClient, failure?: unknown): void {
    if (failure instanceof WritesRefused) this.settings.onWritesRefused?.();
    client.release(isUnsettled(failure));
  }

  /** Waits once more after the process was suspended with its machine: no connection could become free meanwhile. */
  private async connect(): Promise<PoolClient> {
    const begun = performance.now();
    const { connectionTimeoutMillis = 0 } = this.pool.options;
    try {
      return await this.pool.connect();
    } catch (error) {
      if (performance.now() - begun < connectionTimeoutMillis + standstillMs) throw error;
      return this.pool.connect();
    }
  }

  private withManager(runner: ServiceQueryRunner): ServiceQueryRunner {
    return Object.assign(runner, { manager: this.createEntityManager(runner) });
  }
}

/** Runs the statements of TypeORM on a connection of the pool, or on that of a transaction of `Database`. */
class ServiceQueryRunner extends PostgresQueryRunner {
  private taken?: Promise<PoolClient>;
  private failure?: unknown;

  constructor(
    private readonly source: ServiceDataSource,
    private readonly lent?: PoolClient,
  ) {
    super(source.driver as PostgresDriver, 'master');
  }

  override connect(): Promise<PoolClient> {
    if (this.lent) return Promise.resolve(this.lent);
    return (this.taken ??= this.source.take());
  }

  /** A transaction of `Database` has no transactions of TypeORM within, whose commit would end it. */
  override startTransaction(): Promise<void> {
    if (!this.lent) return super.startTransaction();
    throw new Error('This statement is part of a transaction already: use its manager without `transaction`.');
  }

  /** Throws the errors of `Database`, instead of QueryFailedError. */
  override async query(
    text: string,
    parameters?: unknown[] | ObjectLiteral,
    useStructuredResult?: boolean,
  ): ReturnType<PostgresQueryRunner['query']> {
    try {
      return await inStatementSpan<unknown>(text, () => super.query(text, parameters, useStructuredResult));
    } catch (error) {
      const isCommitted = !this.lent && !isRead(text) && (!this.isTransactionActive || text === 'COMMIT');
      const cause: unknown = error instanceof QueryFailedError ? error.driverError : error;
      this.failure = isCommitted ? toUnknownOutcome(cause) : toApiError(cause);
      throw this.failure;
    }
  }

  override async release(): Promise<void> {
    if (this.isReleased) return;
    this.isReleased = true;
    const { taken, failure } = this;
    const client = await taken?.catch(() => undefined);
    if (client) this.source.giveBack(client, failure);
  }
}

/**
 * The pool handles errors of idle clients only. Without this listener, a connection that breaks between two statements,
 * or in the packet that opens it, would end the process; here the next statement reports the error.
 */
export class ListenedClient extends Client {
  declare private readonly readyForQuery: boolean;

  constructor(config?: string | ClientConfig) {
    super(config);
    this.on('error', () => undefined);
  }

  /**
   * Closes the connection, which fails its statement, when Postgres has sent nothing for this long. One timer for the
   * connection: `query_timeout` of `pg` creates one for each statement, and its objects live until the next full garbage
   * collection.
   */
  closeUnlessAnswered(timeoutMs: number): void {
    const stream = this.connection.stream as Socket;
    stream.setTimeout(timeoutMs, () => {
      if (!this.readyForQuery) stream.destroy(new Error('Query read timeout'));
    });
  }
}

export function startOptions(schema: string, settings: Settings): string {
  return Object.entries({ search_path: `${schema},public`, ...sessionSettings, ...settings })
    .map(([name, value]) => `-c ${name}=${value}`)
    .join(' ');
}
