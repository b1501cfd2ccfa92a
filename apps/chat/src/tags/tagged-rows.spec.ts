import { Keyset } from '@parley/database/keyset';
import { pagesOf, sentDuring } from '@parley/testing/sent-statements';
import { createTestDatabase, type TestDatabase } from '@parley/testing/test-database';
import { chatDatabase } from '../chat.module';
import { taggedRows } from './tagged-rows';
import type { TagKind } from './tags.repository';

const tables: Record<TagKind, string> = {
  user: '"user" (bot_id, id, tags, created_at, updated_at, properties)',
  conversation: `conversation (bot_id, id, tags, created_at, updated_at, properties, integration_alias, integration_id,
    channel, is_chat)`,
  message: 'message (bot_id, id, tags, created_at, updated_at, payload, conversation_id, user_id, type, direction)',
  workflow: 'workflow (bot_id, id, tags, created_at, updated_at, input, output, name, status, timeout_at)',
};
const further: Record<TagKind, string> = {
  user: `'{}'`,
  conversation: `'{}', 'team', 'intver_1', 'channel', false`,
  message: `'{}', 'conv_1', 'user_1', 'text', 'incoming'`,
  workflow: `'{}', '{}', 'w', 'completed', now()`,
};
const kinds = Object.keys(tables) as TagKind[];
const count = 20_000;

let test: TestDatabase;

/** Of each kind so many that have the popular tag, and the newest three a rare one too. */
beforeAll(async () => {
  test = await createTestDatabase(chatDatabase.migrations, 'chat');
  for (const kind of kinds) {
    await test.database.query(
      `WITH made AS (
         INSERT INTO ${tables[kind]}
         SELECT 'bot', 'thing_' || lpad(i::text, 6, '0'), jsonb_strip_nulls(jsonb_build_object(
             'a popular', 'x', 'b rare', CASE WHEN i > $1 - 3 THEN 'y' END, 'c parity', (i % 2)::text)),
           timestamptz '2026-01-01Z' + i * interval '1 second', timestamptz '2026-02-01Z' - i * interval '1 second',
           ${further[kind]}
         FROM generate_series(1, $1) AS i RETURNING *)
       INSERT INTO tag (bot_id, kind, name, value, created_at, object_id)
       SELECT bot_id, '${kind}', key, value, created_at, id FROM made, jsonb_each_text(tags)`,
      [count],
    );
  }
  await test.database.query('ANALYZE');
});

afterAll(() => test?.drop());

interface Row {
  id: string;
  created_at: Date;
  updated_at: Date;
}

async function find(
  kind: TagKind,
  tags: Record<string, string>,
  order: { by?: 'created_at' | 'updated_at'; direction?: 'asc' | 'desc' } = {},
  nextToken?: string,
) {
  const { by = 'created_at', direction = 'asc' } = order;
  const table = tables[kind].split(' ')[0];
  const values: unknown[] = ['bot'];
  const rows = `SELECT * FROM ${table} t WHERE t.bot_id = $1`;
  const { from, time, id } = await taggedRows(test.database, { kind, as: 't', rows, tags, orderBy: by }, values);
  const keyset = new Keyset<Row>(
    [
      { sql: time, type: 'timestamptz', of: (row) => row[by] },
      { sql: id, type: 'text', of: (row) => row.id },
    ],
    direction,
  );
  const found = await test.database.query<Row>(
    `SELECT t.* FROM ${from} WHERE ${keyset.after(nextToken, tags, values)} ORDER BY ${keyset.orderBy} LIMIT 3`,
    values,
  );
  const page = keyset.page(found, 2, tags);
  return { ids: page.rows.map((row) => Number(row.id.slice(-6))), nextToken: page.nextToken };
}

describe.each(kinds)('a %s with a popular tag and a rare one', (kind) => {
  it.each(['created_at', 'updated_at'] as const)(
    'is found by the rare one, though the popular one is named first, in the order of %s',
    async (by) => {
      const ids: number[] = [];
      const statements = await sentDuring(async () => {
        const first = await find(kind, { 'a popular': 'x', 'b rare': 'y' }, { by });
        const second = await find(kind, { 'a popular': 'x', 'b rare': 'y' }, { by }, first.nextToken);
        ids.push(...first.ids, ...second.ids);
      });

      const [oldest, middle, newest] = [count - 2, count - 1, count];
      expect(ids).toEqual(by === 'created_at' ? [oldest, middle, newest] : [newest, middle, oldest]);
      // Twice a thousand entries are counted; all of the popular ones are on some tens of thousands of pages.
      expect(await pagesOf(test.database, statements)).toBeLessThan(5_000);
    },
  );

  it.each(['created_at', 'updated_at'] as const)(
    'is one of many for the popular ones, of which no more are read than asked for, in the order of %s',
    async (by) => {
      const tags = { 'a popular': 'x', 'c parity': '0' };
      const ids: number[] = [];

      const statements = await sentDuring(async () => {
        ids.push(...(await find(kind, tags, { by, direction: 'desc' })).ids);
      });

      expect(ids).toEqual(by === 'created_at' ? [count, count - 2] : [2, 4]);
      expect(await pagesOf(test.database, statements)).toBeLessThan(5_000);
    },
  );
});

it('finds nothing for a tag that nothing has, nor for tags that nothing has together', async () => {
  expect((await find('user', { 'a popular': 'x', none: 'z' })).ids).toEqual([]);
  expect((await find('user', { 'a popular': 'y', 'b rare': 'y' })).ids).toEqual([]);
});
