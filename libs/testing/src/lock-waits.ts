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
