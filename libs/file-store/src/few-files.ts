import type { TagQuery } from '@parley/contracts/query-fields';
import type { Sql } from '@parley/database/database';
import { type FileScope, readable, readsAll } from './file-scope';

/** As many files are looked up one by one. Of more of them a page is soon found by walking all of the bot in its order. */
const most = 1_000;

/** Ids of the files that the scope may read and that fit the condition, unless these are many. Indexes file_of_* and file_for_*. */
export async function fewReadable(sql: Sql, scope: FileScope, condition = 'true'): Promise<string[] | undefined> {
  if (readsAll(scope)) return undefined;
  const values: unknown[] = [];
  return idsUnlessMany(sql, `SELECT id FROM file WHERE ${readable(scope, values)} AND ${condition}`, values);
}

/** Ids of files of the bot, among them all that fit the filter, unless each tag has many. */
export async function fewTagged(sql: Sql, botId: string, filter: TagQuery | undefined): Promise<string[] | undefined> {
  for (const [name, { in: wanted }] of Object.entries(filter ?? {})) {
    const ids = wanted.length > 0 && (await idsUnlessMany(sql, tagged, [botId, name, [...new Set(wanted)]]));
    if (ids) return ids;
  }
  return undefined;
}

/**
 * The order is that of the index file_tag_value and makes it the way to each value. Its parts are bounded in place of an
 * equality, of which Postgres expects a few entries, and would sort all there are.
 */
const tagged = `SELECT entry.id FROM unnest($3::text[]) AS wanted (value) CROSS JOIN LATERAL (
  SELECT file_id AS id FROM file_tag
  WHERE bot_id = $1 AND name = $2
    AND (left(value, 300), md5(value)) >= (left(wanted.value, 300), md5(wanted.value))
    AND (left(value, 300), md5(value)) <= (left(wanted.value, 300), md5(wanted.value))
  ORDER BY left(value, 300), md5(value), file_id LIMIT ${most + 1}) entry`;

async function idsUnlessMany(sql: Sql, ids: string, values: unknown[]): Promise<string[] | undefined> {
  const rows = await sql.query<{ id: string }>(`${ids} LIMIT ${most + 1}`, values);
  return rows.length > most ? undefined : rows.map(({ id }) => id);
}

/**
 * SQL of what a SELECT that ends with its conditions finds for each of these ids of files, an array, as a table called `as`.
 * One by one: a join would be planned by guesses.
 */
export function eachOf(ids: string, as: string, rows: string): string {
  return `unnest(${ids}::text[]) AS one (file_id) CROSS JOIN LATERAL (${rows} OFFSET 0) ${as}`;
}
