import type { TagQuery } from '@parley/contracts/query-fields';
import type { Sql } from '@parley/persistence/database';
import { type FileScope, readable, readsAll } from './file-scope';

/** Up to this many files are looked up one by one. With more, walking the files of the bot in order soon fills a page. */
const most = 1_000;

/**
 * Ids of the files that the scope may read and that fit the condition; undefined for more than 1,000, and for a scope
 * that reads all. Indexes file_of_* and file_for_*.
 */
export async function fewReadable(sql: Sql, scope: FileScope, condition = 'true'): Promise<string[] | undefined> {
  if (readsAll(scope)) return undefined;
  const values: unknown[] = [];
  return idsUnlessMany(sql, `SELECT id FROM file WHERE ${readable(scope, values)} AND ${condition}`, values);
}

/** Ids of at most 1,000 files that include all that fit the filter; undefined when each tag has more. */
export async function fewTagged(sql: Sql, botId: string, filter: TagQuery | undefined): Promise<string[] | undefined> {
  for (const [name, { in: wanted }] of Object.entries(filter ?? {})) {
    const ids = wanted.length > 0 && (await idsUnlessMany(sql, tagged, [botId, name, [...new Set(wanted)]]));
    if (ids) return ids;
  }
  return undefined;
}

/**
 * ORDER BY follows the index file_tag_value, so that Postgres uses it for each value. Two bounds replace an equality,
 * for which Postgres expects few entries and would sort all of them.
 */
const tagged = `SELECT entry.id FROM unnest($3::text[]) AS requested (value) CROSS JOIN LATERAL (
  SELECT file_id AS id FROM file_tag
  WHERE bot_id = $1 AND name = $2
    AND (left(value, 300), md5(value)) >= (left(requested.value, 300), md5(requested.value))
    AND (left(value, 300), md5(value)) <= (left(requested.value, 300), md5(requested.value))
  ORDER BY left(value, 300), md5(value), file_id LIMIT ${most + 1}) entry`;

async function idsUnlessMany(sql: Sql, ids: string, values: unknown[]): Promise<string[] | undefined> {
  const rows = await sql.query<{ id: string }>(`${ids} LIMIT ${most + 1}`, values);
  return rows.length > most ? undefined : rows.map(({ id }) => id);
}

/**
 * SQL that runs `rows`, a SELECT that ends with its conditions, for each file id of an array, as a table named `as`.
 * One by one, since a join would be planned from wrong estimates.
 */
export function eachOf(ids: string, as: string, rows: string): string {
  return `unnest(${ids}::text[]) AS one (file_id) CROSS JOIN LATERAL (${rows} OFFSET 0) ${as}`;
}
