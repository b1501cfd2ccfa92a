import { Injectable } from '@nestjs/common';
import { Database, type Sql } from '@parley/persistence/database';
import { toJsonb } from '@parley/persistence/storable';
import type { ListTagValues } from '@parley/contracts/chat/tags';
import { Keyset, pageSize } from '@parley/persistence/keyset';

export type TagKind = 'user' | 'conversation' | 'message' | 'workflow';
type Texts = Record<string, string>;

export interface Tagged {
  bot_id: string;
  id: string;
  created_at: Date;
  conversation_id?: string | null;
}

/** SQL of a common table expression that inserts the tag rows of the objects inserted by `source`. */
export function tagRowsOf(kind: TagKind, source: string): string {
  return `INSERT INTO tag (bot_id, kind, name, value, created_at, object_id, conversation_id)
    SELECT bot_id, '${kind}', key, value, created_at, id, ${kind === 'message' ? 'conversation_id' : 'NULL'}
    FROM ${source}, jsonb_each_text(${source}.tags)`;
}
interface ValueRow {
  value: string;
  /** Value as indexed: a long one is shortened and hashed. */
  key: string;
}

const byValue = new Keyset<ValueRow>([{ sql: 'tag_key(value)', type: 'text', of: ({ key }) => key }], 'asc');

@Injectable()
export class TagsRepository {
  constructor(private readonly database: Database) {}

  async replaceTags(tx: Sql, kind: TagKind, object: Tagged, before: Texts, after: Texts): Promise<void> {
    const gone = Object.entries(before).filter(([name, value]) => after[name] !== value);
    const come = Object.entries(after).filter(([name, value]) => before[name] !== value);
    if (gone.length > 0) await this.removeTags(tx, kind, object, Object.fromEntries(gone));
    if (come.length === 0) return;
    await tx.query(
      `INSERT INTO tag (bot_id, kind, name, value, created_at, object_id, conversation_id)
       SELECT $1, $2, key, value, $3, $4, $5 FROM jsonb_each_text($6)`,
      [
        object.bot_id,
        kind,
        object.created_at,
        object.id,
        kind === 'message' ? object.conversation_id : null,
        toJsonb(Object.fromEntries(come)),
      ],
    );
  }

  /** Index tag_place, by full key. */
  async removeTags(tx: Sql, kind: TagKind, object: Tagged, tags: Texts): Promise<void> {
    await tx.query(
      `DELETE FROM tag USING jsonb_each_text($5) AS gone
       WHERE bot_id = $1 AND kind = $2 AND tag_key(tag.name) = tag_key(gone.key) AND tag_key(tag.value) = tag_key(gone.value)
         AND created_at = $3 AND object_id = $4`,
      [object.bot_id, kind, object.created_at, object.id, toJsonb(tags)],
    );
  }

  /** Deletes all tag rows of many objects of one bot in one statement. Index tag_place. */
  async removeTagsOfObjects(tx: Sql, kind: TagKind, objects: (Tagged & { tags: Texts })[]): Promise<void> {
    const gone = objects.flatMap(({ id, created_at, tags }) =>
      Object.entries(tags).map(([name, value]) => ({ name, value, created_at, object_id: id })),
    );
    if (gone.length === 0) return;
    await tx.query(
      `DELETE FROM tag
       USING jsonb_to_recordset($3) AS gone (name text, value text, created_at timestamptz, object_id text)
       WHERE bot_id = $1 AND kind = $2 AND tag_key(tag.name) = tag_key(gone.name)
         AND tag_key(tag.value) = tag_key(gone.value) AND tag.created_at = gone.created_at
         AND tag.object_id = gone.object_id`,
      [objects[0]!.bot_id, kind, toJsonb(gone)],
    );
  }

  /** Skip scan: one index lookup per distinct value, regardless of the number of rows. Index tag_place. */
  async listTagValues(botId: string, query: ListTagValues): Promise<{ rows: ValueRow[]; nextToken?: string }> {
    const { type, key, nextToken } = query;
    const limit = pageSize(query);
    const boundTo = [botId, type, key];
    const values: unknown[] = [botId, type, key];
    const next = (condition: string) =>
      `SELECT value, tag_key(value) AS key FROM tag
       WHERE bot_id = $1 AND kind = $2 AND tag_key(name) = tag_key($3) AND ${condition}
       ORDER BY tag_key(value) LIMIT 1`;
    const rows = await this.database.query<ValueRow>(
      `WITH RECURSIVE found AS (
         (${next(byValue.after(nextToken, boundTo, values))})
         UNION ALL
         SELECT following.* FROM found CROSS JOIN LATERAL (${next('tag_key(value) > found.key')}) AS following)
       SELECT value, key FROM found LIMIT ${limit + 1}`,
      values,
    );
    return byValue.page(rows, limit, boundTo);
  }
}
