import type { Sql } from '@parley/persistence/database';

/**
 * Milliseconds until the next row of the table becomes due; Infinity if none does within `withinMs`. Ignores rows that
 * are due already: another process has locked them. Read it before the due rows are processed: otherwise a row could
 * become due in between unnoticed.
 */
export async function msUntilNextDue(
  sql: Sql,
  { table, column = 'due_at', where = 'true' }: { table: string; column?: string; where?: string },
  withinMs: number,
): Promise<number> {
  const [next] = await sql.query<{ ms: number | null }>(
    `SELECT (extract(epoch FROM min(${column}) - clock_timestamp()) * 1000)::float8 AS ms
     FROM ${table} WHERE ${where} AND ${column} > now() AND ${column} <= now() + $1 * interval '1 millisecond'`,
    [withinMs],
  );
  return next!.ms === null ? Infinity : Math.max(0, Math.ceil(next!.ms));
}
