import type { Client } from '@botpress/client';
import { type Account, configured, type PublicApi, startPublicApi } from '@parley/testing/public-api';
import { AdminModule } from '../../../admin/src/admin.module';
import { GatewayModule } from '../../../gateway/src/gateway.module';
import { TablesConfig } from '../config';
import type { CheckedRow } from '../schema/row-validator';
import { TablesModule } from '../tables.module';
import { TableCache } from '../tables/table.cache';
import { InsertQueueService } from './insert-queue.service';

let api: PublicApi;
let alice: Account;
let client: Client;

beforeAll(async () => {
  api = await startPublicApi(GatewayModule, AdminModule, configured(TablesModule, TablesConfig));
  alice = await api.newAccount();
  client = await newBot(alice);
});

afterAll(() => api?.stop());

async function newBot({ client: owner, token, workspaceId }: Account): Promise<Client> {
  const { bot } = await owner.createBot({ name: 'shop' });
  return api.client(token, workspaceId, bot.id);
}

const columns = {
  name: { type: 'string' },
  price: { type: 'number' },
  sold: { type: 'boolean' },
  parts: { type: 'array' },
};
let number = 0;

async function newTable(options: { keyColumn?: string; factor?: number } = {}): Promise<string> {
  const name = `Goods${++number}Table`;
  await client.createTable({ name, schema: { type: 'object', properties: columns }, ...options });
  return name;
}

async function knownTable(name: string) {
  const [owner] = await api.sql<{ bot_id: string }>('SELECT bot_id FROM tables."table" WHERE name = $1', [name]);
  return api.apps.at(-1)!.get(TableCache, { strict: false }).current(owner!.bot_id, name);
}

const insertQueue = () => api.apps.at(-1)!.get(InsertQueueService, { strict: false });

describe('createTableRows', () => {
  it('creates rows in order and returns every column', async () => {
    const table = await newTable();

    const { rows, warnings, errors } = await client.createTableRows({
      table,
      rows: [{ name: 'cup', price: 3.5, sold: true }, { name: 'pot' }],
    });

    expect(rows).toEqual([
      expect.objectContaining({ id: 1, name: 'cup', price: 3.5, sold: true, computed: {} }),
      expect.objectContaining({ id: 2, name: 'pot', price: null, sold: null, computed: {} }),
    ]);
    expect(Date.parse(rows[0]!.createdAt!)).toBeGreaterThan(Date.now() - 60_000);
    expect({ warnings, errors }).toEqual({ warnings: undefined, errors: undefined });
    expect(await client.getTable({ table })).toMatchObject({ rows: 2, stale: 0, indexing: 0 });
  });

  it('creates the valid rows and reports errors for the others', async () => {
    const table = await newTable();

    const { rows, errors } = await client.createTableRows({
      table,
      rows: [{ name: 'cup' }, { price: 'cheap' }, { name: 'pot' }],
    });

    expect(rows.map(({ name }) => name)).toEqual(['cup', 'pot']);
    expect(errors).toEqual([expect.stringMatching(/^Row 1: .*price.*number/)]);
  });

  it('refuses a row with the key of another row, also in the same request', async () => {
    const table = await newTable({ keyColumn: 'name' });
    await client.createTableRows({ table, rows: [{ name: 'cup' }] });

    const { rows, errors } = await client.createTableRows({
      table,
      rows: [{ name: 'pot' }, { name: 'cup' }, { name: 'pot' }, {}, {}],
    });

    expect(rows.map(({ name }) => name)).toEqual(['pot', null, null]);
    expect(errors).toEqual([1, 2].map((row) => `Row ${row}: another row has the same name, which must be unique.`));
    expect(await client.getTable({ table })).toMatchObject({ rows: 4 });
  });

  it('accepts the id of the table to create rows', async () => {
    const { table } = await client.getTable({ table: await newTable() });

    const { rows } = await client.createTableRows({ table: table.id, rows: [{ name: 'cup' }] });

    expect(rows).toHaveLength(1);
  });

  it('stores every row of concurrent requests once', async () => {
    const table = await newTable();

    const answers = await Promise.all(
      Array.from({ length: 300 }, (_entry, price) => client.createTableRows({ table, rows: [{ price }] })),
    );

    const rows = answers.flatMap((answer) => answer.rows);
    expect(rows.map(({ price }) => price)).toEqual(Array.from({ length: 300 }, (_entry, price) => price));
    expect(new Set(rows.map(({ id }) => id)).size).toBe(300);
    expect(await client.getTable({ table })).toMatchObject({ rows: 300 });
  });

  it('combines waiting requests into one statement, within the size limit', async () => {
    const known = await knownTable(await newTable({ factor: 30 }));
    const checked = known.validator.checkNew({ name: 'x'.repeat(100_000) }) as CheckedRow;
    const queue = insertQueue();

    await Promise.all(Array.from({ length: 20 }, () => queue.insert(known, Array<CheckedRow>(10).fill(checked))));

    const statements = await api.sql<{ rows: number }>(
      'SELECT count(*)::int AS rows FROM tables.row WHERE table_number = $1 GROUP BY xmin ORDER BY 1',
      [known.number],
    );
    expect(statements.map(({ rows }) => rows)).toEqual([10, 10, 40, 70, 70]);
  });

  it('returns 503 while 128 MB of rows are waiting, over all tables, until they are stored', async () => {
    const [table, other] = [await newTable(), await newTable()];
    const [known, another] = [await knownTable(table), await knownTable(other)];
    const small = known.validator.checkNew({ name: 'cup' }) as CheckedRow;
    const large = { ...small, sizeBytes: 128_000_000 };
    const queue = insertQueue();

    // Two statements run at once, the third waits.
    const taken = [large, large, large].map((row) => queue.insert(known, [row]));
    const refused = queue.insert(another, [small]);

    await expect(refused).rejects.toMatchObject({ code: 503, message: expect.stringContaining('were not inserted') });
    await Promise.all(taken);
    await queue.insert(another, [small]);
    expect(await client.getTable({ table })).toMatchObject({ rows: 3 });
    expect(await client.getTable({ table: other })).toMatchObject({ rows: 1 });
  });

  it.each([
    [
      'a value of many levels',
      '{"parts":' + '['.repeat(60) + ']'.repeat(60) + '}',
      'parts is nested more than 20 levels deep',
    ],
    ['a value too large by itself', `{"name":"${'x'.repeat(1_000_000)}"}`, 'it must be at most 4096 bytes of JSON'],
  ])('refuses only the row that has %s', async (_what, bad, problem) => {
    const table = await newTable();

    const { rows, errors } = await client.createTableRows({
      table,
      rows: [JSON.parse(bad) as object, { name: 'cup' }],
    });

    expect(rows).toMatchObject([{ name: 'cup' }]);
    expect(errors).toEqual([expect.stringContaining(`Row 0: ${problem}`)]);
  });

  it('does not create rows in tables of another bot', async () => {
    const table = await newTable();
    const other = await newBot(alice);

    await expect(other.createTableRows({ table, rows: [{}] })).rejects.toMatchObject({ type: 'ResourceNotFound' });
  });
});

describe('two processes', () => {
  let publicApi: PublicApi;
  let shop: Client;

  beforeAll(async () => {
    const process = () => configured(TablesModule, TablesConfig);
    publicApi = await startPublicApi(GatewayModule, AdminModule, process(), process());
    const { client: owner, token, workspaceId } = await publicApi.newAccount();
    const { bot } = await owner.createBot({ name: 'shop' });
    shop = publicApi.client(token, workspaceId, bot.id);
  });

  afterAll(() => publicApi?.stop());

  const create = (rows: object[]) =>
    Promise.allSettled([1, 2].map(() => shop.createTableRows({ table: 'PricesTable', rows })));

  it('refuses no row because of an outdated cache entry of a table in another process', async () => {
    await shop.createTable({ name: 'PricesTable', schema: { price: { type: 'string' } } });
    await create([{ price: '3' }]);
    await shop.updateTable({ table: 'PricesTable', schema: { price: { type: 'number' } } });

    const after = await create([{ price: 3 }]);
    await shop.deleteTable({ table: 'PricesTable' });
    const gone = await create([{ price: '3' }]);

    expect(after).toMatchObject([{ value: { rows: [{ price: 3 }] } }, { value: { rows: [{ price: 3 }] } }]);
    expect(gone).toMatchObject([1, 2].map(() => ({ reason: { type: 'ResourceNotFound' } })));
  });
});
