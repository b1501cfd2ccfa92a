import type { Sql } from './database';

/** The advisory lock that a backup holds, on a session of its own, for as long as no content may be removed. */
export const contentHold = "hashtextextended('parley:hold-content', 0)";

/**
 * Whether contents may be removed now. To be asked once nothing names them any more, for good: a backup that begins after
 * the answer finds a database that does not name them either.
 */
export async function mayRemoveContent(sql: Sql): Promise<boolean> {
  const [row] = await sql.query<{ free: boolean }>(`SELECT pg_try_advisory_xact_lock_shared(${contentHold}) AS free`);
  return row!.free;
}
