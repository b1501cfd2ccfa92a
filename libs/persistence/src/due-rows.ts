import type { Sql } from './database';

/** Rows of a domain table that become due. */
export interface DueRows {
  table: string;
  /** SQL for what names a row of a bot to operators. `id` when absent. */
  key?: string;
  /** Column of the time, which has an index. `due_at` when absent. */
  time?: string;
  where?: string;
  /** Other rows that count as due. */
  orWhere?: string;
}

/** Rows without a time, or of several tables. */
export interface Condition {
  /** SQL that is true while there is something to do. */
  condition: string;
}

export interface FoundRows {
  isDue: boolean;
  /** Time until the next row becomes due; Infinity if none does within a minute. */
  nextInMs: number;
}

export interface LateRows {
  count: number;
  oldestSeconds: number;
}

export interface LateRow {
  /** Position of the table. */
  index: number;
  key: string;
  tenant: string;
  dueAt: Date;
}

export interface LateFilter {
  key?: string;
  limit: number;
}

/** Repeats `SELECT columns` for each table. */
const forEach = (rows: DueRows[], columns: (rows: Required<DueRows>) => string) =>
  together(rows.map((each) => columns({ key: 'id', time: 'due_at', where: 'true', orWhere: 'false', ...each })));

const together = (selected: string[]) =>
  selected.map((columns, index) => `SELECT ${index} AS index, ${columns}`).join(' UNION ALL ') + ' ORDER BY index';

function isDue(rows: DueRows | Condition): string {
  if ('condition' in rows) return `${rows.condition} AS "isDue", NULL::float8 AS ms`;
  const { table, time = 'due_at', where = 'true', orWhere = 'false' } = rows;
  return `
    EXISTS (SELECT FROM ${table} WHERE ${where} AND ${time} <= now())
      OR EXISTS (SELECT FROM ${table} WHERE ${orWhere}) AS "isDue",
    (SELECT (extract(epoch FROM min(${time}) - clock_timestamp()) * 1000)::float8 FROM ${table}
     WHERE ${where} AND ${time} > now() AND ${time} <= now() + interval '1 minute') AS ms`;
}

/**
 * Finds out in one statement which rounds have anything to do, in the order of `rows`. The time of the next row ignores
 * rows that are due already: another process may have locked them. Indexes on the columns of the times.
 */
export async function findDueRows(sql: Sql, rows: (DueRows | Condition)[]): Promise<FoundRows[]> {
  const found = await sql.query<{ isDue: boolean; ms: number | null }>(together(rows.map(isDue)), [], 'find_due_rows');
  return found.map(({ isDue, ms }) => ({ isDue, nextInMs: ms === null ? Infinity : Math.max(0, Math.ceil(ms)) }));
}

/** Rows that are due and still there, in the order of the tables. Indexes on the columns of the times. */
export function measureLateRows(sql: Sql, rows: DueRows[]): Promise<LateRows[]> {
  return sql.query<LateRows>(
    forEach(
      rows,
      ({ table, time, where }) => `
        count(*)::int AS count, coalesce(extract(epoch FROM now() - min(${time})), 0)::float8 AS "oldestSeconds"
        FROM ${table} WHERE ${where} AND ${time} <= now()`,
    ),
  );
}

/** The oldest rows that are due and still there, at most `limit` of each table. Indexes on the columns of the times. */
export function listLateRows(sql: Sql, rows: DueRows[], { key, limit }: LateFilter): Promise<LateRow[]> {
  return sql.query<LateRow>(
    forEach(
      rows,
      ({ table, key, time, where }) => `late.* FROM (
        SELECT (${key})::text AS key, bot_id AS tenant, ${time} AS "dueAt" FROM ${table}
        WHERE ${where} AND ${time} <= now() AND ($1::text IS NULL OR (${key})::text = $1)
        ORDER BY ${time} LIMIT $2) AS late`,
    ),
    [key ?? null, limit],
  );
}
