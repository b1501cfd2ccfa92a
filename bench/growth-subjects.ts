import type { RunningPlatform } from '@parley/testing/running-platform';
import { openPool } from './bare-sql';
import { fillConversation, openConversations } from './conversations';
import { httpRequest, runLoad } from './load';
import { fileInput } from './recording';
import { blockName, cityName, columns, fillTable, firstNewBlock, rowsInBlock, rowsOf } from './table-rows';
import { openBot, poolSize, type Workbench } from './workbench';

/**
 * Long enough to empty the pending list of the GIN index several times. With inserts of 1,000 rows, the smallest table grows from
 * 10,000 rows to some 40,000 in the preparation and the round.
 */
export const secondsOfInserts = 0.5;
/** Aim for requests whose work does not depend on the size. */
const flat = 1.25;

export interface GrowthQuery {
  name: string;
  /** Maximum ratio of the latency at the largest and at the smallest size. */
  aim: number;
  isInsert?: boolean;
  /** Runs before each round; not measured. */
  prepare?: () => Promise<unknown>;
  next: () => string;
  /** Undoes the inserts of a round. */
  clear?: () => Promise<void>;
}

/** Platform of one size, on a database of its own. */
export interface FilledPlatform {
  bench: Workbench;
  platform: RunningPlatform;
  databaseUrl: string;
  size: number;
}

export interface GrowthSubject {
  things: string;
  /** Fills a new bot with `size` things. Returns the same queries for each size. */
  fill: (platform: FilledPlatform) => Promise<GrowthQuery[]>;
}

export const growthSubjects: GrowthSubject[] = [
  { things: 'rows', fill: fillRows },
  { things: 'messages', fill: fillMessages },
  { things: 'files', fill: fillFiles },
];

const anyOf = (count: number) => Math.floor(Math.random() * count);

async function fillRows({ bench, platform, databaseUrl, size }: FilledPlatform): Promise<GrowthQuery[]> {
  const name = 'BenchTable';
  const { id: botId, headers, client } = await openBot(platform);
  await client.createTable({ name, schema: { type: 'object', properties: columns }, keyColumn: 'key' });
  await fillTable(databaseUrl, botId, name, size);
  const pool = poolOf(bench, databaseUrl, 'tables');

  const request = (line: string, body?: object) =>
    httpRequest(line.replace(' ', ` /v1/tables/${name}`), headers, body && JSON.stringify(body));
  const find = (body: object) => request('POST /rows/find', body);
  const anyBlock = () => blockName(anyOf(size / rowsInBlock));
  let inserted = 0;
  const nextInsert = (count: number) =>
    request('POST /rows', { rows: rowsOf(blockName(firstNewBlock + ++inserted), count) });
  const nextBlock = () => nextInsert(rowsInBlock);
  const insert = (query: Pick<GrowthQuery, 'name' | 'next'> & Partial<GrowthQuery>): GrowthQuery => ({
    aim: flat,
    isInsert: true,
    clear: async () => {
      await pool.query('DELETE FROM row WHERE table_number = (SELECT number FROM "table") AND id > $1', [size]);
      await pool.query('VACUUM row');
      // A GIN index keeps the entries of deleted rows, which would make all sizes alike in the end.
      await pool.query('REINDEX INDEX row_data');
    },
    ...query,
  });
  return [
    insert({ name: 'insert of one row', next: () => nextInsert(1) }),
    // After a checkpoint, Postgres writes each page to the WAL once. Large indexes have many, and the sizes must not differ by
    // where checkpoints happen to fall.
    insert({
      name: `insert of ${rowsInBlock} rows`,
      prepare: () => runLoad({ url: platform.url, next: nextBlock, connections: 1, seconds: secondsOfInserts }),
      next: nextBlock,
    }),
    insert({
      name: `insert of ${rowsInBlock} rows, just after a checkpoint`,
      aim: 1.5,
      prepare: () => pool.query('CHECKPOINT'),
      next: nextBlock,
    }),
    { name: 'get by id', aim: flat, next: () => request(`GET /row?id=${1 + anyOf(size)}`) },
    {
      name: 'find by key column',
      aim: flat,
      next: () => find({ filter: { key: `${anyBlock()}/${anyOf(rowsInBlock)}` } }),
    },
    { name: 'first page', aim: flat, next: () => find({}) },
    { name: 'newest 20', aim: flat, next: () => find({ orderBy: 'id', orderDirection: 'desc', limit: 20 }) },
    {
      name: 'equality that one row has',
      aim: flat,
      next: () => find({ filter: { name: `Customer ${anyBlock()} number ${anyOf(rowsInBlock)}` } }),
    },
    // All hundred rows that have it at the smallest size, and the first hundred of ever more.
    { name: 'equality that 1 row in 100 has', aim: 3, next: () => find({ filter: { city: cityName(anyOf(100)) } }) },
    { name: 'equality that 1 row in 2 has', aim: flat, next: () => find({ filter: { isActive: true } }) },
  ];
}

async function fillMessages({ platform, databaseUrl, size }: FilledPlatform): Promise<GrowthQuery[]> {
  const scene = await openConversations(platform, 1);
  const { userId, headers } = scene;
  const conversationId = scene.ids[0]!;
  await fillConversation(databaseUrl, scene, conversationId, size);

  const message = JSON.stringify({ userId, conversationId, type: 'text', payload: { text: 'A few words.' }, tags: {} });
  return [
    {
      name: 'insert of one message',
      aim: flat,
      isInsert: true,
      next: () => httpRequest('POST /v1/chat/messages', headers, message),
    },
    {
      name: 'latest 20 messages',
      aim: flat,
      next: () => httpRequest(`GET /v1/chat/messages?conversationId=${conversationId}`, headers),
    },
  ];
}

async function fillFiles({ bench, platform, databaseUrl, size }: FilledPlatform): Promise<GrowthQuery[]> {
  const { id: botId, headers } = await openBot(platform);
  const pool = poolOf(bench, databaseUrl, 'files');
  await pool.query(
    `INSERT INTO file (id, bot_id, key, content_type, declared_size, size, tags, metadata, access_policies, index,
       indexing, immediately_public, status, upload_id, upload_expires_at, blob_version, content_version, created_at)
     SELECT 'file_' || lpad(number::text, 26, '0'), $1, 'filled/' || number, 'text/plain', 1, 1,
       '{"source": "bench", "language": "en"}', '{}', '{}', false, '{}', false, 'upload_completed',
       'upload_' || lpad(number::text, 26, '0'), now(), number, number, now() - ($2 + 1 - number) * interval '1 s'
     FROM generate_series(1, $2::int) number`,
    [botId, size],
  );
  await pool.query('VACUUM ANALYZE file, file_tag');

  let declared = 0;
  const newFile = () => JSON.stringify(fileInput(`new/${++declared}`));
  const anyId = () => `file_${String(1 + anyOf(size)).padStart(26, '0')}`;
  return [
    {
      name: 'insert of one file',
      aim: flat,
      isInsert: true,
      next: () => httpRequest('PUT /v1/files', headers, newFile()),
    },
    { name: 'getFile', aim: flat, next: () => httpRequest(`GET /v1/files/${anyId()}`, headers) },
    { name: 'first page', aim: flat, next: () => httpRequest('GET /v1/files', headers) },
    {
      name: 'first page by a tag of all files',
      aim: flat,
      next: () => httpRequest(`GET /v1/files?tags=${encodeURIComponent('{"source":"bench"}')}`, headers),
    },
  ];
}

function poolOf({ session }: Workbench, databaseUrl: string, schema: string): ReturnType<typeof openPool> {
  const pool = openPool({ databaseUrl, poolSize }, schema);
  session.keep({ stop: () => pool.end() });
  return pool;
}
