import type { Client } from '@botpress/client';
import { type Account, configured, type FrontDoor, startFrontDoor } from '@parley/testing/front-door';
import { AdminModule } from '../../../admin/src/admin.module';
import { GatewayModule } from '../../../gateway/src/gateway.module';
import { TablesConfig } from '../config';
import { TablesModule } from '../tables.module';

let door: FrontDoor;
let alice: Account;
let client: Client;

beforeAll(async () => {
  door = await startFrontDoor(GatewayModule, AdminModule, configured(TablesModule, TablesConfig));
  alice = await door.newAccount();
  client = await newBot(alice);
});

afterAll(() => door?.stop());

async function newBot({ client: owner, token, workspaceId }: Account): Promise<Client> {
  const { bot } = await owner.createBot({ name: 'shop' });
  return door.client(token, workspaceId, bot.id);
}

const columns = { name: { type: 'string' }, price: { type: 'number' }, sold: { type: 'boolean' } };
let number = 0;

/** The name of a new table with these columns. */
async function newTable(options: { keyColumn?: string } = {}): Promise<string> {
  const name = `Goods${++number}Table`;
  await client.createTable({ name, schema: { type: 'object', properties: columns }, ...options });
  return name;
}

describe('createTableRows', () => {
  it('stores rows in their order and answers every column', async () => {
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

  it('stores the good rows and tells what is wrong with the others', async () => {
    const table = await newTable();

    const { rows, errors } = await client.createTableRows({
      table,
      rows: [{ name: 'cup' }, { price: 'cheap' }, { name: 'pot' }],
    });

    expect(rows.map(({ name }) => name)).toEqual(['cup', 'pot']);
    expect(errors).toEqual([expect.stringMatching(/^Row 1: .*price.*number/)]);
  });

  it('refuses a row whose key another one has, of the same request too', async () => {
    const table = await newTable({ keyColumn: 'name' });
    await client.createTableRows({ table, rows: [{ name: 'cup' }] });

    const { rows, errors } = await client.createTableRows({
      table,
      rows: [{ name: 'pot' }, { name: 'cup' }, { name: 'pot' }, {}, {}],
    });

    expect(rows.map(({ name }) => name)).toEqual(['pot', null, null]);
    expect(errors).toEqual([1, 2].map((row) => `Row ${row}: another row has this name, which is unique in the table.`));
    expect(await client.getTable({ table })).toMatchObject({ rows: 4 });
  });

  it('is found by the id of the table too', async () => {
    const { table } = await client.getTable({ table: await newTable() });

    const { rows } = await client.createTableRows({ table: table.id, rows: [{ name: 'cup' }] });

    expect(rows).toHaveLength(1);
  });

  it('stores every row of many requests at once, once', async () => {
    const table = await newTable();

    const answers = await Promise.all(
      Array.from({ length: 300 }, (_entry, price) => client.createTableRows({ table, rows: [{ price }] })),
    );

    const rows = answers.flatMap((answer) => answer.rows);
    expect(rows.map(({ price }) => price)).toEqual(Array.from({ length: 300 }, (_entry, price) => price));
    expect(new Set(rows.map(({ id }) => id)).size).toBe(300);
    expect(await client.getTable({ table })).toMatchObject({ rows: 300 });
  });

  it('knows nothing of the tables of another bot', async () => {
    const table = await newTable();
    const other = await newBot(alice);

    await expect(other.createTableRows({ table, rows: [{}] })).rejects.toMatchObject({ type: 'ResourceNotFound' });
  });
});
