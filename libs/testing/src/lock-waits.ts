import type { Sql } from '@parley/persistence/database';

/**
 * Number of sessions of this database that wait for a lock. Clears the statistics snapshot, because inside a
 * transaction Postgres would repeat the first one.
 */
export async function lockWaits(sql: Pick<Sql, 'query'>): Promise<number> {
  await sql.query('SELECT pg_stat_clear_snapshot()');
  const waiting = await sql.query(
    `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
  );
  return waiting.length;
}

/**
 * Number of sessions that wait for a lock of this session. Reads `pg_locks`, because `pg_stat_activity` never lists a
 * connection that is opened after its first use in the transaction.
 */
export async function blockedSessions(sql: Pick<Sql, 'query'>): Promise<number> {
  const waiting = await sql.query(
    'SELECT 1 FROM pg_locks WHERE NOT granted AND pg_backend_pid() = ANY(pg_blocking_pids(pid))',
  );
  return waiting.length;
}
