import type { Sql } from './database';

/** Advisory lock key: a backup holds the lock on its own session while no content may be deleted. */
export const contentHold = "hashtextextended('parley:hold-content', 0)";

/**
 * True when contents may be deleted now. Call it after no row references them any more: a backup that begins later then
 * copies a database without the references.
 */
export async function mayRemoveContent(sql: Sql): Promise<boolean> {
  const [row] = await sql.query<{ free: boolean }>(`SELECT pg_try_advisory_xact_lock_shared(${contentHold}) AS free`);
  return row!.free;
}
