import type { Sql } from '@parley/database/database';

/**
 * How many sessions of this database wait for a lock. Inside of a transaction, Postgres would show those alone that it
 * has seen there first.
 */
export async function lockWaits({ query }: Pick<Sql, 'query'>): Promise<number> {
  await query('SELECT pg_stat_clear_snapshot()');
  const waiting = await query(
    `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
  );
  return waiting.length;
}
