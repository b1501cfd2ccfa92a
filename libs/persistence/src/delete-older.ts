import type { Sql } from './database';

/** Rows per statement: those of several days would exceed the statement timeout. */
const maxDeletedRows = 10_000;

/**
 * Deletes rows older than this, in batches; skips locked rows. The ORDER BY makes Postgres use the index of the time
 * column: without it, each batch may scan the table from its beginning.
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
