import type { Sql } from '@parley/database/database';
import { toJsonb } from '@parley/database/storable';
import { isWithin } from '../lists/span';
import type { TagKind } from './tags.repository';

type Texts = Record<string, string>;

/** Rows that are looked for by their tags. */
export interface Wanted {
  kind: TagKind;
  /** A SELECT from the table called `as` that ends with its conditions. `$1` is the bot. */
  rows: string;
  as: string;
  tags: Texts | undefined;
  /** Of messages: all are of this conversation. */
  conversationId?: string;
  orderBy?: 'created_at' | 'updated_at';
  /** Numbers of the parameters between which the creation is. */
  createdWithin?: [number, number];
}

/** SQL that stands behind FROM, and the columns of the order there. */
export interface Source {
  from: string;
  time: string;
  id: string;
}

/** As many rows are brought into any order by sorting them; how rare a tag is, is counted no further. */
export const few = 1_000;

/**
 * Rows that have all of the tags. In the order of creation the rarest tag is walked, for as long as more is needed; in the
 * order of updates what has the rarest tag is sorted when it is few, else all rows are walked. Values are appended.
 * Index tag_place, or tag_of_conversation for messages of one, then the primary key.
 */
export async function taggedRows(sql: Sql, wanted: Wanted, values: unknown[]): Promise<Source> {
  const { as, tags, orderBy = 'created_at', createdWithin } = wanted;
  const own = { time: `${as}.${orderBy}`, id: `${as}.id` };
  if (!tags || Object.keys(tags).length === 0) return { from: `(${wanted.rows}) ${as}`, ...own };
  const isWalk = orderBy === 'created_at';
  const rarest = await rarestOf(sql, values[0] as string, wanted, tags, isWalk);
  const rows = `${wanted.rows} AND ${as}.tags @> $${values.push(toJsonb(tags))}::jsonb`;
  if (!isWalk && rarest.count > few) return { from: `(${rows}) ${as}`, ...own };
  const [column, place] = placeOf(wanted);
  const ids = `SELECT object_id, created_at FROM tag
    WHERE bot_id = $1 AND ${column} = $${values.push(place)} AND tag_key(name) = tag_key($${values.push(rarest.name)})
      AND tag_key(value) = tag_key($${values.push(rarest.value)})
      ${createdWithin ? `AND ${isWithin('created_at', createdWithin)}` : ''}`;
  return { from: eachOf(ids, as, rows), ...(isWalk ? { time: 'walk.created_at', id: 'walk.object_id' } : own) };
}

/**
 * SQL of the rows, a SELECT from the table called `as` that ends with its conditions, one by one for each `object_id` that
 * `ids` gives: a join would be planned by guesses, and read all of a tag that many have.
 */
export function eachOf(ids: string, as: string, rows: string): string {
  return `(${ids}) walk CROSS JOIN LATERAL (${rows} AND ${as}.id = walk.object_id OFFSET 0) ${as}`;
}

/** Where the rows of the tags are, in the terms of their index: those with a conversation are all of messages. */
function placeOf({ kind, conversationId }: Wanted): [column: string, value: string] {
  return conversationId === undefined ? ['kind', kind] : ['conversation_id', conversationId];
}

/** Rows are counted up to a few. The order makes the index the way to each count. Indexes as in `taggedRows`. */
async function rarestOf(sql: Sql, botId: string, wanted: Wanted, tags: Texts, isAnyCount: boolean) {
  const [[name, value], ...others] = Object.entries(tags) as [[string, string], ...[string, string][]];
  if (others.length === 0 && isAnyCount) return { name, value, count: 0 };
  const [column, place] = placeOf(wanted);
  const [rarest] = await sql.query<{ name: string; value: string; count: number }>(
    `SELECT wanted.key AS name, wanted.value, (
       SELECT count(*)::int FROM (
         SELECT FROM tag WHERE bot_id = $1 AND ${column} = $2
           AND tag_key(tag.name) = tag_key(wanted.key) AND tag_key(tag.value) = tag_key(wanted.value)
         ORDER BY created_at, object_id LIMIT ${few + 1}) AS counted) AS count
     FROM jsonb_each_text($3) AS wanted ORDER BY count, wanted.key LIMIT 1`,
    [botId, place, toJsonb(tags)],
  );
  return rarest!;
}
