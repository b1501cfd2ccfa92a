import type { Client } from '@botpress/client';
import { blockedSessions } from '@parley/testing/lock-waits';
import { type Account, configured, type PublicApi, startPublicApi } from '@parley/testing/public-api';
import { waitFor } from '@parley/testing/wait-for';
import { AdminModule } from '../../../admin/src/admin.module';
import { GatewayModule } from '../../../gateway/src/gateway.module';
import { TablesConfig } from '../config';
import { TablesModule } from '../tables.module';

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

let number = 0;

async function newTable(rows: number, options: { keyColumn?: string } = {}): Promise<string> {
  const name = `Goods${++number}Table`;
  await client.createTable({ name, schema: { name: { type: 'string' }, price: { type: 'number' } }, ...options });
  if (rows > 0) await addRows(name, rows);
  return name;
}

async function addRows(table: string, count: number): Promise<number[]> {
  const { rows } = await client.createTableRows({
    table,
    rows: Array.from({ length: count }, (_entry, index) => ({ name: `cup ${index + 1}`, price: index + 1 })),
  });
  return rows.map(({ id }) => id);
}

async function addManyRows(table: string): Promise<void> {
  const [{ number } = { number: '' }] = await api.sql<{ number: string }>(
    `UPDATE tables.table_state SET next_row_id = 12001 FROM tables."table"
     WHERE name = $1 AND "table".number = table_state.number RETURNING table_state.number`,
    [table],
  );
  await api.sql(
    `INSERT INTO tables.row (table_number, id, data) SELECT $1, id, '{}' FROM generate_series(1, 12000) AS id`,
    [number],
  );
}

async function countsOf(table: string): Promise<{ counted: number; stored: number }> {
  const { rows: counted } = await client.getTable({ table });
  const [stored] = await api.sql<{ count: string }>(
    'SELECT count(*) FROM tables.row JOIN tables."table" ON number = table_number WHERE name = $1',
    [table],
  );
  return { counted, stored: Number(stored!.count) };
}

describe('deleteTableRows', () => {
  it('deletes rows by id and returns their number', async () => {
    const table = await newTable(5);

    const first = await client.deleteTableRows({ table, ids: [2, 4, 4, 99] });
    const again = await client.deleteTableRows({ table, ids: [2, 4] });
    const none = await client.deleteTableRows({ table, ids: [] });
    const impossible = await client.deleteTableRows({ table, ids: [0, -1, 2 ** 31, 2 ** 53] });

    expect([first, again, none, impossible]).toEqual([2, 0, 0, 0].map((deletedRows) => ({ deletedRows })));
    expect(await countsOf(table)).toEqual({ counted: 3, stored: 3 });
    const { errors } = await client.updateTableRows({ table, rows: [{ id: 2 }, { id: 3 }] });
    expect(errors).toEqual(['Row 0: there is no row 2 in this table.']);
  });

  it('frees the key of a deleted row and never reuses its id', async () => {
    const table = await newTable(1, { keyColumn: 'name' });

    await client.deleteTableRows({ table, ids: [1] });

    expect(await addRows(table, 1)).toEqual([2]);
    expect(await countsOf(table)).toEqual({ counted: 1, stored: 1 });
  });

  it('deletes each row once in concurrent requests', async () => {
    const table = await newTable(100);
    const ids = Array.from({ length: 100 }, (_entry, index) => index + 1);

    const answers = await Promise.all(
      Array.from({ length: 10 }, (_entry, index) =>
        client.deleteTableRows({ table, ids: index % 2 ? ids : [...ids].reverse() }),
      ),
    );

    expect(answers.reduce((sum, { deletedRows }) => sum + deletedRows, 0)).toBe(100);
    expect(await countsOf(table)).toEqual({ counted: 0, stored: 0 });
  });

  it('counts rows correctly during concurrent inserts, updates and deletions', async () => {
    const table = await newTable(30, { keyColumn: 'name' });

    const answers = await Promise.all(
      Array.from({ length: 60 }, async (_entry, index) => {
        if (index % 3 === 0) return -(await client.deleteTableRows({ table, ids: [index + 1, index + 2] })).deletedRows;
        const rows = [{ name: `cup ${index}` }, { name: `jug ${index}` }];
        if (index % 3 === 1) return (await client.createTableRows({ table, rows })).rows.length;
        return (await client.upsertTableRows({ table, rows, keyColumn: 'name' })).inserted.length;
      }),
    );

    const left = answers.reduce((sum, change) => sum + change, 30);
    expect(await countsOf(table)).toEqual({ counted: left, stored: left });
  });

  it('deletes all rows at once, and the sweeper erases them', async () => {
    const table = await newTable(20);
    await client.deleteTableRows({ table, ids: [1, 2] });
    const [before] = await api.sql<{ number: string }>('SELECT number FROM tables."table" WHERE name = $1', [table]);

    const first = await client.deleteTableRows({ table, deleteAllRows: true });
    const again = await client.deleteTableRows({ table, deleteAllRows: true });

    expect([first, again]).toEqual([{ deletedRows: 18 }, { deletedRows: 0 }]);
    expect(await countsOf(table)).toEqual({ counted: 0, stored: 0 });
    expect(await addRows(table, 2)).toEqual([21, 22]);
    expect(await countsOf(table)).toEqual({ counted: 2, stored: 2 });
    await waitFor(async () => {
      const left = await api.sql(
        `SELECT 1 FROM tables.row WHERE table_number = $1 UNION ALL
         SELECT 1 FROM tables.work WHERE queue = 'tables.erasure' AND key = $1::text UNION ALL
         SELECT 1 FROM tables.table_state WHERE number = $1`,
        [before!.number],
      );
      return left.length === 0;
    });
  });

  it('deletes all rows during concurrent inserts, and counts them correctly', async () => {
    const table = await newTable(10);

    const answers = await Promise.all([
      ...Array.from({ length: 20 }, async () => (await addRows(table, 3)).length),
      ...Array.from({ length: 3 }, async () => {
        return -(await client.deleteTableRows({ table, deleteAllRows: true })).deletedRows;
      }),
    ]);

    const left = answers.reduce((sum, change) => sum + change, 10);
    expect(await countsOf(table)).toEqual({ counted: left, stored: left });
  });

  it('deletes the rows that match a filter', async () => {
    const table = await newTable(20);

    const first = await client.deleteTableRows({ table, filter: { $or: [{ price: { $gt: 15 } }, { name: 'cup 3' }] } });
    const again = await client.deleteTableRows({ table, filter: { price: { $gt: 15 } } });

    expect([first, again]).toEqual([{ deletedRows: 6 }, { deletedRows: 0 }]);
    expect(await countsOf(table)).toEqual({ counted: 14, stored: 14 });
    const { rows } = await client.findTableRows({ table });
    expect(rows.map(({ price }) => price)).toEqual([1, 2, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]);
  });

  it('deletes matching rows in several batches', async () => {
    const table = await newTable(0);
    await addManyRows(table);

    const gone = await client.deleteTableRows({ table, filter: { id: { $gt: 500 } } });

    expect(gone).toEqual({ deletedRows: 11_500 });
    expect(await countsOf(table)).toEqual({ counted: 500, stored: 500 });
  });

  it('reports the number of deleted rows when a deletion fails', async () => {
    const table = await newTable(0);
    await addManyRows(table);
    await api.sql('BEGIN');
    await api.sql(
      `SELECT 1 FROM tables.row JOIN tables."table" ON number = table_number WHERE name = $1 AND row.id = 7000 FOR UPDATE OF row`,
      [table],
    );

    const failed = await client.deleteTableRows({ table, filter: { id: { $gt: 0 } } }).catch((error: unknown) => error);

    await api.sql('ROLLBACK');
    expect(failed).toMatchObject({
      type: 'OperationTimeout',
      message: expect.stringMatching(/^Another request is changing the same data.* 5000 rows were deleted before\.$/),
    });
    expect(await countsOf(table)).toEqual({ counted: 7000, stored: 7000 });
  });

  it('reads the filter of a deletion again when the table changed while no row was found', async () => {
    const table = await newTable(2, { keyColumn: 'name' });
    await api.sql('BEGIN; LOCK TABLE tables.row');

    const gone = client.deleteTableRows({ table, filter: { name: 'cup 2' } });
    await waitFor(() => blockedSessions({ query: api.sql }));
    const [{ number } = {}] = await api.sql(
      'UPDATE tables."table" SET key_column = NULL WHERE name = $1 RETURNING number',
      [table],
    );
    await api.sql('UPDATE tables.row SET key = NULL WHERE table_number = $1', [number]);
    await api.sql('UPDATE tables.table_state SET version = version + 1 WHERE number = $1', [number]);
    await api.sql('COMMIT');

    expect(await gone).toEqual({ deletedRows: 1 });
    expect(await countsOf(table)).toEqual({ counted: 1, stored: 1 });
  });

  it('keeps a row that no longer matches the filter of a deletion when it is locked', async () => {
    const table = await newTable(2);
    await api.sql('BEGIN');
    await api.sql(
      `UPDATE tables.row SET data = '{}' FROM tables."table" WHERE number = table_number AND name = $1 AND row.id = 2`,
      [table],
    );

    const gone = client.deleteTableRows({ table, filter: { price: { $gte: 1 } } });
    await waitFor(() => blockedSessions({ query: api.sql }));
    await api.sql('COMMIT');

    expect(await gone).toEqual({ deletedRows: 1 });
    expect(await countsOf(table)).toEqual({ counted: 1, stored: 1 });
  });

  it.each([{}, { $and: [{}, {}] }])('refuses %j as a filter of a deletion', async (filter) => {
    const table = await newTable(1);

    await expect(client.deleteTableRows({ table, filter })).rejects.toMatchObject({
      type: 'InvalidPayload',
      message: expect.stringContaining('deleteAllRows'),
    });
    expect(await countsOf(table)).toEqual({ counted: 1, stored: 1 });
  });

  it('refuses an invalid filter of a deletion', async () => {
    const table = await newTable(1);

    await expect(client.deleteTableRows({ table, filter: { colour: 'red' } })).rejects.toMatchObject({
      type: 'InvalidPayload',
      message: expect.stringContaining('colour'),
    });
    expect(await countsOf(table)).toEqual({ counted: 1, stored: 1 });
  });

  it.each([
    ['nothing', {}],
    ['two of them', { ids: [1], deleteAllRows: true }],
    ['ids and a filter', { ids: [1], filter: {} }],
    ['deleteAllRows: false', { deleteAllRows: false }],
  ])('refuses the deletion of %s', async (_what, choice) => {
    const table = await newTable(1);

    await expect(client.deleteTableRows({ table, ...choice })).rejects.toMatchObject({
      type: 'InvalidPayload',
      message: expect.stringContaining('ids'),
    });
    expect(await countsOf(table)).toEqual({ counted: 1, stored: 1 });
  });

  it('does not delete rows in tables of another bot', async () => {
    const table = await newTable(1);
    const other = await newBot(alice);

    for (const choice of [{ ids: [1] }, { filter: {} }, { deleteAllRows: true }]) {
      for (const name of [table, 'NoTable']) {
        await expect(other.deleteTableRows({ table: name, ...choice })).rejects.toMatchObject({
          type: 'ResourceNotFound',
        });
      }
    }
    expect(await countsOf(table)).toEqual({ counted: 1, stored: 1 });
  });
});
