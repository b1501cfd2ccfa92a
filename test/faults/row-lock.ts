import { waitFor } from '@parley/testing/wait-for';
import { Client } from 'pg';

/** Locks rows of a table until the test releases them. */
export class RowLock {
  private static readonly held = new Set<RowLock>();

  private constructor(private readonly database: Client) {
    RowLock.held.add(this);
  }

  static take(databaseUrl: string, table: string, ids: string[]): Promise<RowLock> {
    return RowLock.by(databaseUrl, `SELECT 1 FROM ${table} WHERE id = ANY($1) FOR UPDATE`, [ids]);
  }

  /** Locks the whole table, for readers too. */
  static ofAll(databaseUrl: string, table: string): Promise<RowLock> {
    return RowLock.by(databaseUrl, `LOCK TABLE ${table} IN ACCESS EXCLUSIVE MODE`);
  }

  /** Also releases the locks of a failed test. */
  static async releaseAll(): Promise<void> {
    await Promise.all([...RowLock.held].map((lock) => lock.release()));
  }

  private static async by(databaseUrl: string, statement: string, values: unknown[] = []): Promise<RowLock> {
    const database = new Client({ connectionString: databaseUrl });
    // A failed test drops the database.
    database.on('error', () => undefined);
    await database.connect();
    await database.query('BEGIN');
    await database.query(statement, values);
    return new RowLock(database);
  }

  /**
   * Resolves when `count` statements wait, for the lock or behind a waiting one. Reads `pg_locks`, because
   * `pg_stat_activity` never lists a connection that is opened after its first use in this transaction.
   */
  async awaited(count: number): Promise<void> {
    const waiting = async () => {
      const { rowCount } = await this.database.query(
        `WITH RECURSIVE waiting AS (
           SELECT pid FROM pg_locks WHERE NOT granted AND pg_backend_pid() = ANY(pg_blocking_pids(pid))
           UNION
           SELECT pg_locks.pid FROM pg_locks JOIN waiting ON NOT granted AND waiting.pid = ANY(pg_blocking_pids(pg_locks.pid))
         )
         SELECT 1 FROM waiting`,
      );
      return rowCount ?? 0;
    };
    await waitFor(waiting, (found) => found >= count);
  }

  async release(): Promise<void> {
    RowLock.held.delete(this);
    await this.database.query('COMMIT');
    await this.database.end();
  }
}
