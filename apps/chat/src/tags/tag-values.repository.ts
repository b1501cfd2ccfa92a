import { Injectable } from '@nestjs/common';
import type { ListTagValues } from '@parley/contracts/chat/tags';
import { Database } from '@parley/persistence/database';
import { Keyset, pageSize } from '@parley/persistence/keyset';

interface ValueRow {
  value: string;
  /** Value as indexed: a long one is shortened and hashed. */
  key: string;
}

const byValue = new Keyset<ValueRow>([{ sql: 'tag_key(value)', type: 'text', of: ({ key }) => key }], 'asc');

@Injectable()
export class TagValuesRepository {
  constructor(private readonly database: Database) {}

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
