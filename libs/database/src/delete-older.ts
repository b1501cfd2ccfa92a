import type { Sql } from './database';

/** Of one statement: days of rows would be more than it has time for. */
const maxDeletedRows = 10_000;

/** Deletes the rows whose time lies longer back than this. Those that somebody works on are left for the next time. */
export async function deleteOlder(sql: Sql, table: string, time: string, hours: number): Promise<void> {
  let deleted = maxDeletedRows;
  while (deleted === maxDeletedRows) {
    const rows = await sql.query(
      `DELETE FROM ${table} WHERE ctid IN (
         SELECT ctid FROM ${table} WHERE ${time} < now() - make_interval(hours => $1) LIMIT $2 FOR UPDATE SKIP LOCKED)
       RETURNING 1`,
      [hours, maxDeletedRows],
    );
    deleted = rows.length;
  }
}
