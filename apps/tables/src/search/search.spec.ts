import type { Client } from '@botpress/client';
import { systemCaller } from '@parley/contracts/caller';
import { tables } from '@parley/contracts/tables/tables';
import { type EmbeddingResponse, EmbeddingServer } from '@parley/testing/embedding-server';
import { type Account, configured, type PublicApi, startPublicApi } from '@parley/testing/public-api';
import { waitFor } from '@parley/testing/wait-for';
import { AdminModule } from '../../../admin/src/admin.module';
import { GatewayModule } from '../../../gateway/src/gateway.module';
import { TablesConfig } from '../config';
import { TablesModule } from '../tables.module';
import { RowModelService } from './row-model.service';

let embeddings: EmbeddingServer;
let api: PublicApi;
let alice: Account;
let client: Client;
let botId: string;

beforeAll(async () => {
  embeddings = await EmbeddingServer.start();
  const service = configured(TablesModule, TablesConfig, {
    embeddingsUrl: embeddings.url,
    embeddingsTimeoutMs: 1_000,
    // Shorter than the lock timeout of Postgres.
    findTimeoutMs: 2_500,
  });
  api = await startPublicApi(GatewayModule, AdminModule, service);
  alice = await api.newAccount();
  ({ client, botId } = await newBot());
});

afterAll(async () => {
  await api?.stop();
  await embeddings?.stop();
});

async function newBot() {
  const { bot } = await alice.client.createBot({});
  return { botId: bot.id, client: api.client(alice.token, alice.workspaceId, bot.id) };
}

const text = { type: 'string', 'x-zui': { searchable: true } };
const properties = { text, kind: { type: 'string' }, note: { type: 'string' } };

let number = 0;
async function newTable(rows: object[] = [], columns: object = properties, owner = client): Promise<string> {
  const name = `Search${++number}Table`;
  await owner.createTable({ name, schema: { type: 'object', properties: columns } });
  if (rows.length > 0) await owner.createTableRows({ table: name, rows: rows });
  return name;
}

function indexed(table: string, owner = client) {
  return waitFor(
    () => owner.getTable({ table }),
    ({ indexing }) => indexing === 0,
    20_000,
  );
}

async function find(table: string, search: string, more: object = {}) {
  return client.findTableRows({ table, search, ...more });
}
const ids = ({ rows }: { rows: { id: number }[] }) => rows.map(({ id }) => id);

async function pointsOf(table: string): Promise<number> {
  const [row] = await api.sql<{ count: string }>(
    `SELECT count(*) FROM tables.local_index_point JOIN tables."table" ON local_index_point.bot_id = 'tables:' || number WHERE name = $1`,
    [table],
  );
  return Number(row!.count);
}

describe('words of an older lexicon', () => {
  const rebuilt = () =>
    waitFor(
      () => api.call(tables.reindexWords, systemCaller('test'), {}),
      ({ left }) => left === 0,
    );
  const makeOld = (table: string) =>
    api.sql(
      `WITH old AS (UPDATE tables."table" SET lexicon = 1 WHERE name = $1 RETURNING number)
       UPDATE tables.local_index_point SET term_indices = '', term_values = '' FROM old WHERE bot_id = 'tables:' || number`,
      [table],
    );

  it('rebuilds words of rows without the model, and only where they are old', async () => {
    const rows = Array.from({ length: 300 }, (_, i) => ({ text: `valve E-${4000 + i}` }));
    const [table, fresh] = [await newTable(rows), await newTable([{ text: 'fresh' }])];
    await Promise.all([indexed(table), indexed(fresh)]);
    const revisionOf = () =>
      api.sql(
        `SELECT revision FROM tables.local_index_point JOIN tables."table" ON local_index_point.bot_id = 'tables:' || number WHERE name = $1`,
        [fresh],
      );
    await makeOld(table);
    const [asked, untouched] = [embeddings.requests.length, await revisionOf()];

    await rebuilt();

    expect(embeddings.requests.length).toBe(asked);
    expect(await revisionOf()).toEqual(untouched);
    expect(ids(await find(table, 'e4299', { limit: 1 }))).toEqual([300]);
    expect(ids(await find(table, 'E 4003', { limit: 1 }))).toEqual([4]);
  });
});

describe('search', () => {
  it('returns the nearest rows first, with their similarity, then all others', async () => {
    const table = await newTable([{ text: 'aaaa' }, { note: 'silent' }, { text: 'bbbb' }, { text: 'bbba' }]);
    await indexed(table);

    const found = await find(table, 'bbbb');

    expect(ids(found)).toEqual([3, 4, 1, 2]);
    const similarities = found.rows.map(({ similarity }) => similarity);
    expect(similarities[0]).toBeCloseTo(1, 5);
    expect(similarities[1]).toBeLessThan(similarities[0]!);
    expect(similarities[2]).toBeLessThan(similarities[1]!);
    expect(similarities[3]).toBeUndefined();
    expect(found).toMatchObject({ hasMore: false, offset: 0 });
    expect(found.warnings).toBeUndefined();
  });

  it('applies filter and selection to a search of rows', async () => {
    const table = await newTable([
      { text: 'bbbb', kind: 'x' },
      { text: 'aaaa', kind: 'y' },
      { text: 'bbba', kind: 'y' },
    ]);
    await indexed(table);

    const found = await find(table, 'bbbb', { filter: { kind: 'y' }, select: ['text'] });

    expect(ids(found)).toEqual([3, 2]);
    expect(found.rows[0]).toMatchObject({ text: 'bbba', similarity: expect.any(Number) as number });
    expect(found.rows[0]).not.toHaveProperty('kind');
  });

  it('pages a search without gaps or repeats, over rows with and without a point', async () => {
    const rows = Array.from({ length: 25 }, (_, i) =>
      i % 3 === 0 ? {} : { text: 'a'.repeat(i) + 'b'.repeat(25 - i) },
    );
    const table = await newTable(rows);
    await indexed(table);
    const whole = await find(table, 'b', { limit: 100 });

    const pages = await Promise.all([0, 7, 14, 21].map((offset) => find(table, 'b', { offset, limit: 7 })));

    expect(pages.flatMap(ids)).toEqual(ids(whole));
    expect(pages.map(({ hasMore }) => hasMore)).toEqual([true, true, true, false]);
    expect(new Set(ids(whole)).size).toBe(25);
  });

  it('finds matching rows behind hundreds of nearer rows', async () => {
    const near = Array.from({ length: 400 }, () => ({ text: 'bbbb', kind: 'near' }));
    const table = await newTable([...near, { text: 'aaaa', kind: 'far' }, { text: 'aaab', kind: 'far' }]);
    await indexed(table);

    const found = await find(table, 'bbbb', { filter: { kind: 'far' } });

    expect(ids(found)).toEqual([402, 401]);
    expect(found.rows.every(({ similarity }) => similarity !== undefined)).toBe(true);
  });

  it('finds rows after they change, lose their text or are deleted', async () => {
    const table = await newTable([{ text: 'aaaa' }, { text: 'bbbb' }, { text: 'cccc' }, { text: 'dddd' }]);
    await indexed(table);

    await client.updateTableRows({
      table,
      rows: [
        { id: 1, text: 'bbbb' },
        { id: 3, text: null },
      ],
    });
    await client.deleteTableRows({ table, ids: [2] });
    await indexed(table);

    const { rows } = await find(table, 'bbbb');
    expect(rows.map(({ id, similarity }) => [id, similarity === undefined])).toEqual([
      [1, false],
      [4, false],
      [3, true],
    ]);
    await waitFor(
      () => pointsOf(table),
      (count) => count === 2,
    );
    await waitFor(
      () => api.sql('SELECT 1 FROM tables.dropped_point'),
      (notes) => notes.length === 0,
    );
  });

  it('finds rows after a change that happens while the former text is embedded', async () => {
    const table = await newTable([{ text: 'aaaa' }]);
    await indexed(table);
    const held = embeddings.hold('former');
    await client.updateTableRows({ table, rows: [{ id: 1, text: 'former' }] });
    await held.reached;

    await client.updateTableRows({ table, rows: [{ id: 1, text: 'bbbb' }] });
    held.release();
    await indexed(table);

    expect((await find(table, 'bbbb')).rows[0]!.similarity).toBeCloseTo(1, 5);
  });

  it('searches a column that becomes searchable, and computed columns', async () => {
    const computed = { action: 'code', code: 'row.note.toUpperCase()', dependencies: ['note'] };
    const table = await newTable([{ note: 'bbbb' }, { note: 'aaaa' }], {
      note: { type: 'string' },
      loud: { type: 'string', 'x-zui': { searchable: true, computed } },
    });
    await waitFor(
      () => client.getTable({ table }),
      ({ indexing, stale }) => indexing === 0 && stale === 0,
    );
    expect(ids(await find(table, 'AAAA'))).toEqual([2, 1]);

    await client.updateTable({
      table,
      schema: { properties: { note: { type: 'string', 'x-zui': { searchable: true } } } },
    });
    await indexed(table);

    const [best] = (await find(table, 'bbbb\nBBBB')).rows;
    expect(best!.id).toBe(1);
    expect(best!.similarity).toBeCloseTo(1, 5);
  });

  it('warns when no column is searchable, or orderBy is ignored', async () => {
    const table = await newTable([{ note: 'x' }], { note: { type: 'string' } });
    const searchable = await newTable([{ text: 'x' }]);
    await indexed(searchable);

    const nothing = await find(table, 'x');
    const ordered = await find(searchable, 'x', { orderBy: 'note' });

    expect(nothing).toMatchObject({ rows: [{ id: 1 }], warnings: [expect.stringContaining('search was ignored')] });
    expect(ordered.warnings).toEqual([expect.stringContaining('orderBy was ignored')]);
  });

  it('does not find rows of another bot', async () => {
    const { client: other } = await newBot();
    const mine = await newTable([{ text: 'bbbb' }]);
    const theirs = await newTable([{ text: 'aaaa' }, { text: 'bbbb' }], properties, other);
    await indexed(mine);
    await indexed(theirs, other);

    expect(ids(await find(mine, 'bbbb'))).toEqual([1]);
    await expect(find(theirs, 'bbbb')).rejects.toMatchObject({ type: 'ResourceNotFound' });
  });
});

describe('a passage index that does not respond', () => {
  it('times out for the caller when the passage index hangs, and does not block later searches', async () => {
    const table = await newTable([{ text: 'bbbb' }]);
    await indexed(table);
    await api.sql('BEGIN');
    await api.sql('LOCK TABLE tables.local_index_point');

    const answer = await api.send(`POST /v1/tables/${table}/rows/find`, {
      headers: { authorization: `Bearer ${alice.token}`, 'x-bot-id': botId },
      json: { search: 'bbbb' },
    });

    await api.sql('ROLLBACK');
    expect(answer).toMatchObject({ status: 504, json: { type: 'OperationTimeout' } });
    expect(ids(await find(table, 'bbbb'))).toEqual([1]);
  });
});

describe('an unavailable embedding server', () => {
  it('delays only the indexing of rows until the embedding server is back', async () => {
    const busy = { status: 503, message: 'busy', headers: { 'retry-after': '1' } };
    embeddings.order('away', busy, 'never', busy);
    const table = await newTable([{ text: 'away' }]);
    const other = await newTable([{ text: 'here' }]);

    await indexed(other);
    expect(await client.getTable({ table })).toMatchObject({ rows: 1, indexing: 1 });
    expect(ids(await find(table, 'here'))).toEqual([1]);
    await client.updateTableRows({ table, rows: [{ id: 1, note: 'x' }] });

    embeddings.order('away', 'well');
    await indexed(table);
    expect((await find(table, 'away')).rows[0]).toMatchObject({ id: 1, note: 'x' });
  });

  it.each([401, 404, 500])('reports an unavailable embedding server without its own message: %d', async (status) => {
    embeddings.order('nobody', { status, message: 'broken' });
    const table = await newTable([{ text: 'x' }]);

    const answer = await api.send(`POST /v1/tables/${table}/rows/find`, {
      headers: { authorization: `Bearer ${alice.token}`, 'x-bot-id': botId },
      json: { search: 'nobody' },
    });

    expect(answer).toMatchObject({
      status: 503,
      json: { message: 'The embedding model does not answer. Try again in a moment.' },
    });
  });

  it('quotes the embedding server when it refuses the search text', async () => {
    embeddings.order('unwanted', { status: 400, message: 'too long' });
    const table = await newTable([{ text: 'x' }]);

    await expect(
      api.send(`POST /v1/tables/${table}/rows/find`, {
        headers: { authorization: `Bearer ${alice.token}`, 'x-bot-id': botId },
        json: { search: 'unwanted' },
      }),
    ).resolves.toMatchObject({
      status: 400,
      json: {
        type: 'InvalidQuery',
        message: 'search cannot be embedded: The embedding server answered 400: too long',
      },
    });
  });

  it('skips only the row that the embedding server refuses', async () => {
    embeddings.order('poison', { status: 400, message: 'too long' });
    const table = await newTable([{ text: 'aaaa' }, { text: 'poison' }, { text: 'bbbb' }]);

    await indexed(table);

    const { rows } = await find(table, 'bbbb');
    expect(rows.map(({ id, similarity }) => [id, similarity === undefined])).toEqual([
      [3, false],
      [1, false],
      [2, true],
    ]);
  });

  it.each([1, 40])('skips refused rows, even all %i of them', async (count) => {
    embeddings.order('poison', { status: 413, message: 'too long' });
    const table = await newTable(Array.from({ length: count }, () => ({ text: 'poison' })));

    await indexed(table);

    expect(await pointsOf(table)).toBe(0);
    await client.createTableRows({ table, rows: [{ text: 'bbbb' }] });
    await indexed(table);
    expect(ids(await find(table, 'bbbb', { limit: 1 }))).toEqual([count + 1]);
  });

  it('leaves rows waiting when the embedding server refuses every text, among them rows without text', async () => {
    const order = (answer: EmbeddingResponse) => ['locked', 'ready'].forEach((text) => embeddings.order(text, answer));
    order({ status: 401, message: 'no such key' });
    const table = await newTable([{ text: 'locked' }, { note: 'silent' }]);
    await waitFor(
      () => api.sql(`SELECT 1 FROM tables.work WHERE last_error LIKE '%no such key%'`),
      (failed) => failed.length > 0,
    );

    expect(await client.getTable({ table })).toMatchObject({ indexing: 2 });
    order('well');
    await indexed(table);
    expect(await pointsOf(table)).toBe(1);
  });

  it('removes the point of the former text of a refused row', async () => {
    embeddings.order('poison', { status: 400, message: 'too long' });
    const table = await newTable([{ text: 'aaaa' }, { text: 'bbbb' }]);
    await indexed(table);

    await client.updateTableRows({ table, rows: [{ id: 1, text: 'poison' }] });
    await indexed(table);

    expect((await find(table, 'aaaa')).rows.map(({ id, similarity }) => [id, similarity === undefined])).toEqual([
      [2, false],
      [1, true],
    ]);
  });

  it('does not restore a deleted row to the index after the embedding server was away', async () => {
    const table = await newTable([{ text: 'aaaa' }, { text: 'bbbb' }]);
    await indexed(table);
    embeddings.order('gone for long', { status: 500, message: 'broken' });
    await client.createTableRows({ table, rows: [{ text: 'gone for long' }] });

    await client.deleteTableRows({ table, ids: [1] });

    await waitFor(
      () => pointsOf(table),
      (count) => count === 1,
      20_000,
    );
    expect(await client.getTable({ table })).toMatchObject({ indexing: 1 });
    embeddings.order('gone for long', 'well');
  });
});

describe('a table whose last searchable column is no longer searchable', () => {
  it('removes points of a table that is no longer searchable, and finds no outdated hits later', async () => {
    const table = await newTable([{ text: 'aaaa' }, { text: 'bbbb' }]);
    await indexed(table);
    const search = (searchable: boolean) =>
      client.updateTable({ table, schema: { properties: { text: { type: 'string', 'x-zui': { searchable } } } } });

    await search(false);

    await waitFor(
      () => pointsOf(table),
      (count) => count === 0,
    );
    await client.deleteTableRows({ table, ids: [1] });
    await search(true);
    await indexed(table);
    expect(await pointsOf(table)).toBe(1);
  });
});

describe('a table that is emptied or deleted', () => {
  it('removes points of a table that is emptied or deleted', async () => {
    const [emptied, deleted] = [await newTable([{ text: 'aaaa' }]), await newTable([{ text: 'aaaa' }])];
    await indexed(emptied);
    await indexed(deleted);
    const tenants = () =>
      api.sql(
        `SELECT 1 FROM tables.local_index_tenant WHERE NOT EXISTS (
           SELECT 1 FROM tables."table" WHERE local_index_tenant.bot_id = 'tables:' || number)`,
      );

    await client.deleteTableRows({ table: emptied, deleteAllRows: true });
    await client.deleteTable({ table: deleted });

    await waitFor(
      () => api.sql(`SELECT 1 FROM tables.work WHERE queue = 'tables.erasure'`),
      (notes) => notes.length === 0,
      20_000,
    );
    expect(await tenants()).toEqual([]);
    await client.createTableRows({ table: emptied, rows: [{ text: 'bbbb' }] });
    await indexed(emptied);
    expect(ids(await find(emptied, 'bbbb'))).toEqual([2]);
  });
});

describe('a passage index that has lost its points', () => {
  async function lose(...tables: string[]) {
    const tenants = `SELECT 'tables:' || number FROM tables."table" WHERE name = ANY ($1)`;
    for (const lost of ['local_index_point', 'local_index_tenant'])
      await api.sql(`DELETE FROM tables.${lost} WHERE bot_id IN (${tenants})`, [tables]);
  }

  async function reindex(input: object) {
    const headers = { authorization: `Bearer ${api.operatorToken}` };
    const { status, json } = await api.send('POST /operator/tables/reindex', { headers, json: input });
    expect(status).toBe(200);
    return json as { tables: number; rows: number; next?: object };
  }

  it('rebuilds a passage index that has lost its points for one bot only', async () => {
    const owner = await newBot();
    const [mine, second, plain] = [
      await newTable([{ text: 'aaaa' }, { note: 'silent' }, { text: 'bbbb' }], properties, owner.client),
      await newTable([{ text: 'aaaa' }], properties, owner.client),
      await newTable([{ note: 'a' }], { note: { type: 'string' } }, owner.client),
    ];
    const theirs = await newTable([{ text: 'bbbb' }]);
    await Promise.all([mine, second, plain].map((table) => indexed(table, owner.client)));
    await indexed(theirs);
    await lose(mine, second, theirs);
    const nearest = async () => (await owner.client.findTableRows({ table: mine, search: 'bbbb' })).rows;
    expect((await nearest()).filter(({ similarity }) => similarity !== undefined)).toEqual([]);

    expect(await reindex({ botId: owner.botId })).toEqual({ tables: 2, rows: 4 });
    await Promise.all([mine, second].map((table) => indexed(table, owner.client)));

    expect((await nearest()).map(({ id, similarity }) => [id, similarity !== undefined])).toEqual([
      [3, true],
      [1, true],
      [2, false],
    ]);
    expect(await pointsOf(second)).toBe(1);
    expect(await pointsOf(theirs)).toBe(0);
  });

  it('indexes all rows again when the service starts with another model than before, and only then', async () => {
    const table = await newTable([{ text: 'aaaa' }, { text: 'bbbb' }]);
    await indexed(table);
    await lose(table);
    const models = api.apps[2]!.get(RowModelService, { strict: false });

    await models.onApplicationBootstrap();
    await waitFor(
      () => api.sql("SELECT 1 FROM tables.work WHERE queue = 'tables.markRows'"),
      ({ length }) => length === 0,
    );
    expect(await pointsOf(table)).toBe(0);
    await api.sql("UPDATE tables.row_model SET model = 'another'");
    await models.onApplicationBootstrap();

    await waitFor(
      () => pointsOf(table),
      (points) => points === 2,
      20_000,
    );
    expect(await api.sql('SELECT model, next FROM tables.row_model')).toEqual([
      { model: expect.not.stringMatching('another') as string, next: null },
    ]);
  });

  it('rebuilds a passage index for all bots, repeatedly and from any row', async () => {
    const table = await newTable();
    const rows = Array.from({ length: 700 }, () => ({ text: 'aaaa' }));
    for (let times = 0; times < 3; times++) await client.createTableRows({ table, rows });
    await indexed(table);
    await lose(table);
    const {
      table: { id },
    } = await client.getTable({ table });

    const rest = await reindex({ botId, after: { tableId: id, rowId: 2_090 } });
    await Promise.all([reindex({}), reindex({})]);
    await indexed(table);

    expect(rest).toEqual({ tables: 1, rows: 10 });
    expect(await pointsOf(table)).toBe(2_100);
    expect(await find(table, 'aaaa', { limit: 1 })).toMatchObject({ rows: [{ similarity: expect.closeTo(1, 5) }] });
  });
});
