import type { Sql } from './database';
import { lockNext } from './lock-next';

/** Rows per statement: those of several days would exceed the statement timeout. */
const maxDeletedRows = 10_000;

/**
 * Deletes rows older than this, in batches; skips locked rows. The ORDER BY makes Postgres use the index of the time
 * column: without it, each batch may scan the table from its beginning.
 */
export async function deleteOlder(sql: Sql, table: string, time: string, hours: number): Promise<void> {
  const old = lockNext({
    table,
    columns: 'ctid',
    where: `${time} < now() - make_interval(hours => $1)`,
    orderBy: time,
    limit: '$2',
  });
  let deleted = maxDeletedRows;
  while (deleted === maxDeletedRows) {
    const rows = await sql.query(`DELETE FROM ${table} WHERE ctid = ANY (ARRAY(${old})) RETURNING 1`, [
      hours,
      maxDeletedRows,
    ]);
    deleted = rows.length;
  }
}
