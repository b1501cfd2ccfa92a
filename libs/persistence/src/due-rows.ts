import type { Sql } from './database';

interface Selection {
  table: string;
  column?: string;
  where?: string;
  orWhere?: string;
}

export interface DueRows {
  isDue: boolean;
  /** Time until the next row becomes due; Infinity if none does within a minute. */
  nextInMs: number;
}

/**
 * Finds out in one statement whether a round has anything to do. The time of the next row ignores rows that are due
 * already: another process may have locked them. Index on the column.
 * @param orWhere other rows that count as due
 */
export async function findDueRows(
  sql: Sql,
  { table, column = 'due_at', where = 'true', orWhere = 'false' }: Selection,
): Promise<DueRows> {
  const [row] = await sql.query<{ isDue: boolean; ms: number | null }>(
    `SELECT EXISTS (SELECT FROM ${table} WHERE ${where} AND ${column} <= now())
         OR EXISTS (SELECT FROM ${table} WHERE ${orWhere}) AS "isDue",
       (SELECT (extract(epoch FROM min(${column}) - clock_timestamp()) * 1000)::float8 FROM ${table}
        WHERE ${where} AND ${column} > now() AND ${column} <= now() + interval '1 minute') AS ms`,
    [],
    `find_due_rows_${table}`,
  );
  const { isDue, ms } = row!;
  return { isDue, nextInMs: ms === null ? Infinity : Math.max(0, Math.ceil(ms)) };
}
