import { Injectable } from '@nestjs/common';
import type { PageQuery } from '@parley/contracts/paging';
import { Database } from '@parley/persistence/database';
import { Keyset, pageSize } from '@parley/persistence/keyset';
import { eachOf, fewReadable } from './few-files';
import { type FileScope, readable } from './file-scope';

interface Value {
  value: string;
  head: string;
  hash: string;
}

const byName = new Keyset<{ name: string }>([{ sql: 'name', type: 'text', of: ({ name }) => name }], 'asc');
const byValue = new Keyset<Value>(
  [
    { sql: 'head', type: 'text', of: ({ head }) => head },
    { sql: 'hash', type: 'text', of: ({ hash }) => hash },
  ],
  'asc',
);

/**
 * Names and values of tags of readable files. Loose index scan: each name or value is looked up once in file_tag_value,
 * however many files have it. A scope that may read few files takes them from these.
 */
@Injectable()
export class FileTagsRepository {
  constructor(private readonly database: Database) {}

  async listNames(scope: FileScope, query: PageQuery): Promise<{ names: string[]; nextToken?: string }> {
    const few = await fewReadable(this.database, scope);
    const values: unknown[] = [few ?? scope.botId];
    const limit = pageSize(query);
    const after = byName.after(query.nextToken, scope, values);
    const names = few
      ? `SELECT DISTINCT name FROM ${entriesOf('$1')} WHERE ${after} ORDER BY name`
      : `WITH RECURSIVE tag AS (
           (SELECT name FROM file_tag WHERE bot_id = $1 AND ${after} ORDER BY name LIMIT 1)
           UNION ALL
           SELECT (SELECT name FROM file_tag WHERE bot_id = $1 AND name > tag.name ORDER BY name LIMIT 1)
           FROM tag WHERE tag.name IS NOT NULL)
         SELECT name FROM tag WHERE name IS NOT NULL AND ${isOnReadable(scope, values, 'entry.name = tag.name')}`;
    const found = await this.database.query<{ name: string }>(`${names} LIMIT ${limit + 1}`, values);
    const { rows, nextToken } = byName.page(found, limit, scope);
    return { names: rows.map(({ name }) => name), nextToken };
  }

  async listValues(
    scope: FileScope,
    name: string,
    query: PageQuery,
  ): Promise<{ values: string[]; nextToken?: string }> {
    const few = await fewReadable(this.database, scope);
    const values: unknown[] = [few ?? scope.botId, name];
    const boundTo = [scope, name];
    const limit = pageSize(query);
    const after = byValue.after(query.nextToken, boundTo, values);
    const ofTag = 'SELECT value, left(value, 300) AS head, md5(value) AS hash FROM';
    const next = (after: string) => `SELECT value, head, hash FROM (
      ${ofTag} file_tag WHERE bot_id = $1 AND file_tag.name = $2) entry WHERE ${after} ORDER BY head, hash LIMIT 1`;
    const ofValue = 'entry.name = $2 AND left(entry.value, 300) = tag.head AND md5(entry.value) = tag.hash';
    const tags = few
      ? `SELECT DISTINCT value, head, hash FROM (${ofTag} ${entriesOf('$1')} WHERE entry.name = $2) tag
         WHERE ${after} ORDER BY head, hash`
      : `WITH RECURSIVE tag AS (
           (${next(after)})
           UNION ALL
           SELECT later.* FROM tag, LATERAL (${next('(entry.head, entry.hash) > (tag.head, tag.hash)')}) later)
         SELECT value, head, hash FROM tag WHERE ${isOnReadable(scope, values, ofValue)}`;
    const found = await this.database.query<Value>(`${tags} LIMIT ${limit + 1}`, values);
    const { rows, nextToken } = byValue.page(found, limit, boundTo);
    return { values: rows.map(({ value }) => value), nextToken };
  }
}

function entriesOf(ids: string): string {
  return eachOf(ids, 'entry', 'SELECT name, value FROM file_tag WHERE file_tag.file_id = one.file_id');
}

/**
 * SQL condition: some readable file has the tag. Appends its parameters to `values`. LIMIT and OFFSET keep Postgres
 * from joining all tags with all files: it reads one entry after the other, and stops at the first readable one.
 */
function isOnReadable(scope: FileScope, values: unknown[], condition: string): string {
  return `coalesce((SELECT true FROM file_tag entry WHERE entry.bot_id = $1 AND ${condition} AND EXISTS (
    SELECT FROM file WHERE file.id = entry.file_id AND ${readable(scope, values)} OFFSET 0) LIMIT 1), false)`;
}
