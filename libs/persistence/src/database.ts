import type { PoolClient } from 'pg';
import type { EntityManager } from 'typeorm';
import { columnParsers, type ColumnReading } from './column-parsers';
import { CannotConnect, hasNoRoom, isUnsettled, toApiError, toUnknownOutcome } from './errors';
import {
  type DataSourceOptions,
  defaultOpenTimeoutMs,
  ListenedClient,
  ServiceDataSource,
  startOptions,
} from './service-data-source';
import { copyColumn, isRead, sendStatement } from './statement';

/** SQL executor: a repository takes it to run inside or outside a transaction. */
export interface Sql {
  /** TypeORM's entity manager, for statements on one table by key, without an expression. */
  readonly manager: EntityManager;
  /**
   * Rows of the statement; `int8` and `numeric` are strings, as in `pg`.
   * @param name for a prepared statement, where planning takes longer than running: each connection plans it only a few
   * times
   * @param reading of columns; as values by default
   */
  query<Row = Record<string, unknown>>(
    text: string,
    values?: readonly unknown[],
    name?: string,
    reading?: ColumnReading,
  ): Promise<Row[]>;
}

export interface Transaction extends Sql {
  /** Values of a statement with one column, of the type `bytea` and many bytes. Empty for NULL. */
  queryBytes(text: string, values: readonly unknown[]): Promise<Uint8Array[]>;
  /** Runs once the commit is confirmed; skipped when the confirmation is lost. Must not throw. */
  afterCommit(action: () => void): void;
}

/** A schema that this version cannot upgrade. It was not changed. */
export class OutdatedSchema extends Error {
  /** @param found what the schema has: the object of the sentence */
  constructor(schema: string, found: string) {
    super(
      `The schema "${schema}" was created by an older development version of Parley or by another program: it has ${found}. This version cannot upgrade it. Nothing was changed. Start with an empty database: in embedded mode, set PARLEY_DATA_DIR to a new folder; in distributed mode, see "From a development version" in docs/operations.md.`,
    );
  }
}

/** SQL and transactions of one service on its own schema. Transient errors become a 503. */
export class Database implements Sql {
  constructor(private readonly source: ServiceDataSource) {}

  /** Opens a database without a Nest container. */
  static async open(options: DataSourceOptions): Promise<Database> {
    return new Database(await ServiceDataSource.open(options));
  }

  get manager(): EntityManager {
    return this.source.manager;
  }

  /** Also part of lock names, to keep them apart from those of other services. */
  get schema(): string {
    return this.source.settings.schema;
  }

  /** Runs one statement as a transaction. Throws OperationTimeout when it may have been committed. */
  async query<Row>(text: string, values?: readonly unknown[], name?: string, reading?: ColumnReading): Promise<Row[]> {
    const explain = isRead(text) ? toApiError : toUnknownOutcome;
    return this.lend((client) => runQuery<Row>(client, text, values, { name, reading, explain }));
  }

  /** Runs a read-only statement with its own timeout; `isStopped` recognises the error. */
  async readWithin<Row>(
    timeoutMs: number,
    text: string,
    values?: readonly unknown[],
    reading?: ColumnReading,
  ): Promise<Row[]> {
    return this.lend(async (client) => {
      await runQuery(client, `BEGIN READ ONLY; SET LOCAL statement_timeout = ${timeoutMs}`);
      const rows = await orRollBack(client, () => runQuery<Row>(client, text, values, { reading }));
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
      const tx = new OpenTransaction(this.source, client, actions);
      await tx.query('BEGIN');
      const done = await orRollBack(client, () => work(tx));
      await commit(client);
      return done;
    });
    actions.forEach((action) => action());
    return result;
  }

  /**
   * Runs pending migrations. Safe to run concurrently: an advisory lock lets one process run them. Throws
   * OutdatedSchema.
   */
  async migrate(): Promise<void> {
    const { url, schema, openTimeoutMs = defaultOpenTimeoutMs } = this.source.settings;
    // The lock has its own connection, so that a pool of one cannot deadlock.
    const lock = new ListenedClient({
      connectionString: url,
      application_name: `parley-${schema}-migrate`,
      connectionTimeoutMillis: openTimeoutMs,
      options: startOptions(schema, { lock_timeout: 0 }),
    });
    try {
      await lock.connect().catch((error: unknown) => {
        throw new CannotConnect(url, error);
      });
      await lock.query('SELECT pg_advisory_lock(hashtextextended($1, 0))', [`migrate:${schema}`]);
      if ((await this.pendingMigrations()).length === 0) return;
      await lock.query(`CREATE SCHEMA IF NOT EXISTS "${schema}"`);
      const source = await ServiceDataSource.open({
        ...this.source.settings,
        entities: [],
        poolSize: 1,
        statementTimeoutMs: 0,
      });
      try {
        await source.runMigrations({ transaction: 'each' });
      } finally {
        await source.destroy();
      }
    } finally {
      await lock.end();
    }
  }

  /** Names of migrations that have not run. Throws OutdatedSchema. */
  async pendingMigrations(): Promise<string[]> {
    const { schema, migrations } = this.source.settings;
    const names = migrations.map((migration) => migration.name);
    if (names.length === 0) return [];
    const tables = await this.query<{ name: string }>('SELECT tablename AS name FROM pg_tables WHERE schemaname = $1', [
      schema,
    ]);
    if (!tables.some(({ name }) => name === 'migration')) {
      if (tables[0]) throw new OutdatedSchema(schema, `a table "${tables[0].name}", but no table "migration"`);
      return names;
    }
    const applied = await this.query<{ name: string; timestamp: string }>('SELECT name, timestamp FROM migration');
    const first = Math.min(...names.map(timestampOf));
    const outdated = applied.find(({ timestamp }) => Number(timestamp) < first);
    if (outdated) throw new OutdatedSchema(schema, `the migration "${outdated.name}"`);
    return names.filter((name) => !applied.some((row) => row.name === name));
  }

  /** Connections of the pool, and the number of callers that wait for one. */
  get use(): { size: number; inUse: number; idle: number; waiting: number } {
    const { totalCount, idleCount, waitingCount } = this.source.pool;
    return {
      size: this.source.settings.poolSize,
      inUse: totalCount - idleCount,
      idle: idleCount,
      waiting: waitingCount,
    };
  }

  /**
   * Health check: throws when Postgres does not answer. When the whole pool is in use, a separate connection is opened,
   * so that the check does not wait for the pool.
   */
  async ping(): Promise<void> {
    const { inUse, size } = this.use;
    if (inUse < size) return void (await this.query('SELECT 1'));
    const { url, schema } = this.source.settings;
    const client = new ListenedClient({
      connectionString: url,
      application_name: `parley-${schema}-ping`,
      connectionTimeoutMillis: this.source.connectTimeoutMs,
      query_timeout: this.source.connectTimeoutMs,
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

  /** Connections that broke or may still run a statement do not return to the pool. */
  private async lend<T>(work: (client: PoolClient) => Promise<T>): Promise<T> {
    const client = await this.source.take();
    let failure: unknown;
    try {
      return await work(client);
    } catch (error) {
      failure = error;
      throw error;
    } finally {
      this.source.giveBack(client, failure);
    }
  }
}

class OpenTransaction implements Transaction {
  private entities?: EntityManager;

  constructor(
    private readonly source: ServiceDataSource,
    private readonly client: PoolClient,
    private readonly actions: (() => void)[],
  ) {}

  get manager(): EntityManager {
    return (this.entities ??= this.source.managerOf(this.client));
  }

  query<Row>(text: string, values?: readonly unknown[], name?: string, reading?: ColumnReading): Promise<Row[]> {
    return runQuery<Row>(this.client, text, values, { name, reading });
  }

  queryBytes(text: string, values: readonly unknown[]): Promise<Uint8Array[]> {
    return copyColumn(this.client, text, values).catch(rethrow);
  }

  afterCommit(action: () => void): void {
    this.actions.push(action);
  }
}

/** Timestamp at the end of a migration's name, in milliseconds, as TypeORM reads it. */
function timestampOf(name: string): number {
  const [timestamp] = /\d{13}$/.exec(name) ?? [];
  if (!timestamp) throw new Error(`The migration ${name} must end with a timestamp of 13 digits.`);
  return Number(timestamp);
}

interface RunOptions {
  name?: string;
  reading?: ColumnReading;
  explain?: (error: unknown) => unknown;
}

async function runQuery<Row>(
  client: PoolClient,
  text: string,
  values?: readonly unknown[],
  { name, reading, explain = toApiError }: RunOptions = {},
): Promise<Row[]> {
  const types = reading && columnParsers[reading];
  const statement = { name, text, values: values as unknown[], types };
  const result = await sendStatement(client, statement).catch((error: unknown) => {
    throw explain(error);
  });
  return result.rows as Row[];
}

/** Skips the ROLLBACK on a connection that may be broken: closing it rolls back too. */
async function orRollBack<T>(client: PoolClient, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!isUnsettled(error)) await sendStatement(client, { text: 'ROLLBACK' }).catch(rethrow);
    throw error;
  }
}

/** Postgres answers COMMIT with ROLLBACK when a statement failed and `work` caught its error. */
async function commit(client: PoolClient): Promise<void> {
  const { command } = await sendStatement(client, { text: 'COMMIT' }).catch((error: unknown) => {
    throw toUnknownOutcome(error);
  });
  if (command !== 'COMMIT')
    throw new Error('The transaction was rolled back: a statement failed and its error was swallowed.');
}

function rethrow(error: unknown): never {
  throw toApiError(error);
}
