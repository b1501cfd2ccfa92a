import type { Sql } from '@parley/persistence/database';
import { toJsonb } from '@parley/persistence/storable';
import { isWithin } from '../queries/list-statements';
import type { TagKind } from './tags.repository';

type Texts = Record<string, string>;

export interface TaggedRowsQuery {
  kind: TagKind;
  /** SELECT from the table aliased `as` that ends with its conditions. `$1` is the bot. */
  rows: string;
  as: string;
  tags: Texts | undefined;
  conversationId?: string;
  orderBy?: 'created_at' | 'updated_at';
  /** Parameter numbers of the bounds of the creation time. */
  createdWithin?: [number, number];
}

export interface RowSource {
  from: string;
  time: string;
  id: string;
}

/** Up to this number of rows are sorted in memory; counting the rows of a tag stops here too. */
export const maxSortedRows = 1_000;

/**
 * Rows that have all of the tags. Sorted by creation, it walks the rarest tag until the page is full. Sorted by
 * updates, it sorts the rows of the rarest tag if they are few, and otherwise walks all rows. Appends parameters to
 * `values`. Index tag_place, or tag_of_conversation for messages of one conversation, then the primary key.
 */
export async function taggedRows(sql: Sql, query: TaggedRowsQuery, values: unknown[]): Promise<RowSource> {
  const { as, tags, orderBy = 'created_at', createdWithin } = query;
  const own = { time: `${as}.${orderBy}`, id: `${as}.id` };
  if (!tags || Object.keys(tags).length === 0) return { from: `(${query.rows}) ${as}`, ...own };
  const isWalk = orderBy === 'created_at';
  const rarest = await rarestOf(sql, values[0] as string, query, tags, isWalk);
  const rows = `${query.rows} AND ${as}.tags @> $${values.push(toJsonb(tags))}::jsonb`;
  if (!isWalk && rarest.count > maxSortedRows) return { from: `(${rows}) ${as}`, ...own };
  const [column, columnValue] = leadingColumnOf(query);
  const ids = `SELECT object_id, created_at FROM tag
    WHERE bot_id = $1 AND ${column} = $${values.push(columnValue)} AND tag_key(name) = tag_key($${values.push(rarest.name)})
      AND tag_key(value) = tag_key($${values.push(rarest.value)})
      ${createdWithin ? `AND ${isWithin('created_at', createdWithin)}` : ''}`;
  return { from: eachOf(ids, as, rows), ...(isWalk ? { time: 'walk.created_at', id: 'walk.object_id' } : own) };
}

/**
 * SQL that looks up `rows` by primary key, one `object_id` of `ids` at a time. A plain join would be planned by
 * estimates, and read all rows of a popular tag.
 */
export function eachOf(ids: string, as: string, rows: string): string {
  return `(${ids}) walk CROSS JOIN LATERAL (${rows} AND ${as}.id = walk.object_id OFFSET 0) ${as}`;
}

/** Leading columns of the tag index; only tags of messages have a conversation. */
function leadingColumnOf({ kind, conversationId }: TaggedRowsQuery): [column: string, value: string] {
  return conversationId === undefined ? ['kind', kind] : ['conversation_id', conversationId];
}

/** Counts the rows of each tag up to `maxSortedRows`; ORDER BY makes Postgres use the index. Indexes as in `taggedRows`. */
async function rarestOf(sql: Sql, botId: string, query: TaggedRowsQuery, tags: Texts, isAnyCount: boolean) {
  const [[name, value], ...others] = Object.entries(tags) as [[string, string], ...[string, string][]];
  if (others.length === 0 && isAnyCount) return { name, value, count: 0 };
  const [column, columnValue] = leadingColumnOf(query);
  const [rarest] = await sql.query<{ name: string; value: string; count: number }>(
    `SELECT entry.key AS name, entry.value, (
       SELECT count(*)::int FROM (
         SELECT FROM tag WHERE bot_id = $1 AND ${column} = $2
           AND tag_key(tag.name) = tag_key(entry.key) AND tag_key(tag.value) = tag_key(entry.value)
         ORDER BY created_at, object_id LIMIT ${maxSortedRows + 1}) AS counted) AS count
     FROM jsonb_each_text($3) AS entry ORDER BY count, entry.key LIMIT 1`,
    [botId, columnValue, toJsonb(tags)],
  );
  return rarest!;
}
