import type { Sql } from './database';

/** Of one statement: days of rows would be more than it has time for. */
const maxDeletedRows = 10_000;

/**
 * Deletes the rows whose time lies longer back than this. Those that somebody works on are left for the next time. The order
 * makes the index of the time the way to them: else each batch may read the table from its beginning.
 */
export async function deleteOlder(sql: Sql, table: string, time: string, hours: number): Promise<void> {
  let deleted = maxDeletedRows;
  while (deleted === maxDeletedRows) {
    const rows = await sql.query(
      `DELETE FROM ${table} WHERE ctid = ANY (ARRAY(
         SELECT ctid FROM ${table} WHERE ${time} < now() - make_interval(hours => $1)
         ORDER BY ${time} LIMIT $2 FOR UPDATE SKIP LOCKED))
       RETURNING 1`,
      [hours, maxDeletedRows],
    );
    deleted = rows.length;
  }
}
