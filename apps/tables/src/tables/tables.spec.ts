import type { Client } from '@botpress/client';
import { type Account, configured, type PublicApi, startPublicApi } from '@parley/testing/public-api';
import { waitFor } from '@parley/testing/wait-for';
import { AdminModule } from '../../../admin/src/admin.module';
import { GatewayModule } from '../../../gateway/src/gateway.module';
import { TablesConfig } from '../config';
import { TablesModule } from '../tables.module';
import { holdWork } from '../test/held-work';

let api: PublicApi;
let alice: Account;
let client: Client;
let other: Client;

beforeAll(async () => {
  api = await startPublicApi(GatewayModule, AdminModule, configured(TablesModule, TablesConfig));
  await holdWork(api);
  alice = await api.newAccount();
  [client, other] = await Promise.all([newBot(), newBot()]);
});

afterAll(() => api?.stop());

async function newBot(): Promise<Client> {
  const { bot } = await alice.client.createBot({ name: 'shop' });
  return api.client(alice.token, alice.workspaceId, bot.id);
}

type Options = Partial<Parameters<Client['createTable']>[0]>;
type Row = Record<string, unknown>;

const columns = { name: { type: 'string' }, price: { type: 'number' }, sold: { type: 'boolean' } };
const computed = (code: string, ...dependencies: string[]) => ({
  type: 'number',
  'x-zui': { computed: { action: 'code', code, dependencies } },
});
let number = 0;
const newName = () => `Goods${++number}Table`;

async function newTable(options: Options = {}, rows: Row[] = []): Promise<string> {
  const { table } = await client.createTable({ name: newName(), schema: columns, ...options });
  if (rows.length > 0) await client.createTableRows({ table: table.name, rows });
  return table.name;
}

async function tableOf(name: string) {
  return (await client.getTable({ table: name })).table;
}

/** Stored rows: data by column key, in the order of their ids. */
function storedRows(table: string) {
  return api.sql<{
    id: number;
    key: string | null;
    data: Row;
    stale: string[] | null;
    computed: Row;
    unindexed: boolean;
  }>(`SELECT row.* FROM tables.row JOIN tables."table" ON number = table_number WHERE name = $1 ORDER BY row.id`, [
    table,
  ]);
}

const failsWith = (type: string, message: string | RegExp = /./) => ({
  type,
  message: expect.stringMatching(message) as unknown,
});

describe('createTable', () => {
  it('creates a table and returns it whole', async () => {
    const name = newName();

    const { table } = await client.createTable({ name, schema: { type: 'object', properties: columns } });

    expect(table).toEqual({
      id: expect.stringMatching(/^table_[0-9A-HJKMNP-TV-Z]{26}$/),
      name,
      factor: 1,
      frozen: false,
      keyColumn: null,
      schema: {
        type: 'object',
        properties: {
          name: { type: 'string', nullable: true, 'x-zui': { index: 0 } },
          price: { type: 'number', nullable: true, 'x-zui': { index: 1 } },
          sold: { type: 'boolean', nullable: true, 'x-zui': { index: 2 } },
        },
        additionalProperties: true,
      },
      tags: {},
      isComputeEnabled: true,
      createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      updatedAt: table.createdAt,
    });
    expect(await client.getTable({ table: table.id })).toEqual({ table, rows: 0, stale: 0, indexing: 0 });
  });

  it('stores all given options of a table', async () => {
    const given = { factor: 30, frozen: true, keyColumn: 'name', tags: { kind: 'goods' }, isComputeEnabled: false };

    const table = await newTable(given);

    expect(await tableOf(table)).toMatchObject(given);
  });

  it.each<[string, Row]>([
    ['a map of columns', { name: { type: 'string' }, at: { type: 'string', format: 'date-time' } }],
    ['an example', { name: 'cup', at: '2026-01-31T09:30:00Z' }],
  ])('creates a table with %s', async (_shape, schema) => {
    const table = await newTable({ schema });

    const { properties } = (await tableOf(table)).schema;
    expect(properties).toMatchObject({ name: { type: 'string' }, at: { type: 'string', format: 'date-time' } });
    expect(Object.keys(properties)).toEqual(['name', 'at']);
  });

  it.each<[Row, string, RegExp]>([
    [{ keyColumn: 'gone' }, 'InvalidPayload', /^keyColumn must be a column .* "gone" is not/],
    [{ keyColumn: 'list' }, 'InvalidPayload', /^keyColumn must be a column/],
    [{ keyColumn: 'constructor' }, 'InvalidPayload', /^keyColumn must be a column/],
    [{ schema: { id: { type: 'string' } } }, 'InvalidJsonSchema', /column id has a name that/],
    [{ schema: { a: { type: 'text' } } }, 'InvalidJsonSchema', /column a must have one type/],
  ])('refuses to create the table %j', async (wrong, type, message) => {
    const schema = { ...columns, list: { type: 'array' } };

    await expect(client.createTable({ name: newName(), schema, ...wrong })).rejects.toMatchObject(
      failsWith(type, message),
    );
  });

  it('refuses a name of a table that another one of the bot has', async () => {
    const name = await newTable();

    await expect(client.createTable({ name, schema: {} })).rejects.toMatchObject(
      failsWith('AlreadyExists', `Table "${name}" already exists.`),
    );
    expect((await other.createTable({ name, schema: {} })).table.name).toBe(name);
  });

  it('refuses more tables than one list can return', async () => {
    const { bot } = await alice.client.createBot({ name: 'full' });
    const full = api.client(alice.token, alice.workspaceId, bot.id);
    await full.createTable({ name: 'first', schema: {} });
    await api.sql(
      `WITH state AS (
         INSERT INTO tables.table_state (number) SELECT nextval('tables.table_number') FROM generate_series(1, 499)
         RETURNING number)
       INSERT INTO tables."table" (id, number, bot_id, name, factor, frozen, schema, next_index, tags, is_compute_enabled)
       SELECT 'table_' || state.number, state.number, bot_id, 't' || state.number, factor, frozen, schema, next_index, tags,
         is_compute_enabled
       FROM tables."table", state WHERE bot_id = $1`,
      [bot.id],
    );

    expect((await full.listTables({})).tables).toHaveLength(500);
    await expect(full.createTable({ name: 'last', schema: {} })).rejects.toMatchObject(
      failsWith('LimitExceeded', 'At most 500 tables per bot'),
    );
  });
});

describe('getOrCreateTable', () => {
  it('creates a missing table by getOrCreate, and returns it afterwards', async () => {
    const name = newName();

    const first = await client.getOrCreateTable({ table: name, schema: columns, tags: { a: 'b' } });
    await client.createTableRows({ table: name, rows: [{ name: 'cup' }] });
    const second = await client.getOrCreateTable({ table: name, schema: { other: 'x' } });

    expect(first).toMatchObject({ created: true, rows: 0, stale: 0, indexing: 0, table: { name, tags: { a: 'b' } } });
    expect(second).toEqual({ created: false, rows: 1, stale: 0, indexing: 0, table: first.table });
    expect(await client.getOrCreateTable({ table: first.table.id, schema: {} })).toEqual(second);
  });

  it('creates one table for concurrent requests', async () => {
    const table = newName();

    const answers = await Promise.all(
      Array.from({ length: 20 }, () => client.getOrCreateTable({ table, schema: columns })),
    );

    expect(answers.filter(({ created }) => created)).toHaveLength(1);
    expect(new Set(answers.map((answer) => answer.table.id)).size).toBe(1);
  });

  it('refuses an invalid name for getOrCreate of a table', async () => {
    await expect(client.getOrCreateTable({ table: 'a b', schema: {} })).rejects.toMatchObject(
      failsWith('InvalidPayload', /^table must be 1 to 50 letters/),
    );
    await expect(client.getOrCreateTable({ table: `table_${'0'.repeat(26)}`, schema: {} })).rejects.toMatchObject(
      failsWith('ResourceNotFound', /^The table "/),
    );
  });
});

describe('listTables', () => {
  it('lists the tables of the bot, oldest first, by tags', async () => {
    const bot = await newBot();
    const tagsOf: Record<string, Record<string, string>> = { zoo: { a: '1', b: '1' }, ant: { a: '2' }, bee: {} };
    for (const [name, tags] of Object.entries(tagsOf)) await bot.createTable({ name, schema: columns, tags });
    const namesOf = async (query: Parameters<Client['listTables']>[0]) =>
      (await bot.listTables(query)).tables.map(({ name }) => name);

    expect(await namesOf({})).toEqual(['zoo', 'ant', 'bee']);
    expect(await namesOf({ tags: { a: '1' } })).toEqual(['zoo']);
    expect(await namesOf({ tags: { a: '1', b: '2' } })).toEqual([]);
    expect((await bot.listTables({})).tables[0]).toEqual((await bot.getTable({ table: 'zoo' })).table);
  });
});

describe('updateTable', () => {
  it('updates the given options of a table and keeps the others', async () => {
    const table = await newTable({ tags: { a: '1', b: '2' }, factor: 2 });
    const before = await tableOf(table);
    const name = newName();

    const { table: after, staleColumns } = await client.updateTable({
      table,
      name,
      factor: 3,
      tags: { a: null, c: '3' } as never,
      isComputeEnabled: false,
    });

    expect(after).toEqual({
      ...before,
      name,
      factor: 3,
      tags: { b: '2', c: '3' },
      isComputeEnabled: false,
      updatedAt: expect.any(String) as unknown,
    });
    expect(Date.parse(after.updatedAt!)).toBeGreaterThan(Date.parse(before.updatedAt!));
    expect(staleColumns).toEqual([]);
    expect(await tableOf(before.id)).toEqual(after);
    await expect(client.getTable({ table })).rejects.toMatchObject(failsWith('ResourceNotFound'));
  });

  it('replaces, removes and adds columns and keeps the others with their values', async () => {
    const table = await newTable({}, [{ name: 'cup', price: 3, sold: true }]);

    const { table: after } = await client.updateTable({
      table,
      schema: { price: { type: 'string' }, sold: null, color: { type: 'string' } },
    });
    await client.createTableRows({ table, rows: [{ name: 'pot', price: 'much', color: 'red' }] });

    const { name, price, color } = after.schema.properties;
    expect([name, price, color].map((column) => column!['x-zui'].index)).toEqual([0, 3, 4]);
    expect(Object.keys(after.schema.properties)).toEqual(['name', 'price', 'color']);
    const stored = await storedRows(table);
    const [former, fresh] = stored.map(({ data }) =>
      Object.fromEntries(Object.entries(data).map(([key, value]) => [key.split('.')[1], value])),
    );
    expect(former).toMatchObject({ 0: 'cup' });
    expect(Object.keys(former)).not.toEqual(expect.arrayContaining(['3']));
    expect(fresh).toEqual({ 0: 'pot', 3: 'much', 4: 'red' });
  });

  it('removes the values of removed columns', async () => {
    const table = await newTable({}, [{ name: 'cup', price: 3, sold: true }]);

    await client.updateTable({ table, schema: { price: { type: 'string' }, sold: null } });

    const [stored] = await storedRows(table);
    expect(Object.values(stored!.data)).toEqual(['cup']);
  });

  it('accepts the schema of a table as it was returned', async () => {
    const table = await newTable({ schema: { ...columns, total: computed('t', 'price') } });
    const before = await tableOf(table);

    const { table: after, staleColumns } = await client.updateTable({ table, schema: before.schema });

    expect(after).toEqual({ ...before, updatedAt: after.updatedAt });
    expect(staleColumns).toEqual([]);
  });

  it('validates rows by the current schema of a table', async () => {
    const table = await newTable({}, [{ name: 'cup' }]);
    await client.updateTable({
      table,
      schema: { type: 'object', properties: { color: { type: 'string' } }, required: ['color'] },
    });

    const { rows, errors } = await client.createTableRows({ table, rows: [{ name: 'pot' }, { color: 'red' }] });

    expect(rows).toMatchObject([{ color: 'red' }]);
    expect(errors).toEqual(['Row 0: color is required.']);
  });

  it('returns the stale columns of an updated table and marks their rows', async () => {
    const schema = {
      ...columns,
      tax: computed('t', 'price'),
      total: computed('s', 'tax'),
      length: computed('l', 'name'),
    };
    const table = await newTable({ schema }, [{ name: 'cup' }, { name: 'pot' }]);
    await api.sql(
      `UPDATE tables.row SET stale = NULL, computed = NULL FROM tables."table" WHERE number = table_number AND name = $1`,
      [table],
    );

    const { staleColumns } = await client.updateTable({ table, schema: { price: { type: 'string' } } });

    expect(staleColumns).toEqual(['tax', 'total']);
    const stored = await storedRows(table);
    for (const { stale, computed: states } of stored) {
      expect(stale!.map((key) => key.split('.')[1]).sort()).toEqual(['3', '4']);
      expect(Object.values(states)).toEqual([{ status: 'pending' }, { status: 'pending' }]);
    }
    expect(await client.getTable({ table })).toMatchObject({ rows: 2, stale: 2 });
  });

  it('stops computing columns that are no longer computed', async () => {
    const schema = { ...columns, tax: computed('t', 'price'), length: computed('l', 'name') };
    const table = await newTable({ schema, isComputeEnabled: false }, [{ name: 'cup' }]);
    const enabled = await client.updateTable({ table, isComputeEnabled: true });
    const marked = await storedRows(table);

    const { staleColumns } = await client.updateTable({ table, schema: { tax: { type: 'number' }, length: null } });

    expect(enabled.staleColumns).toEqual(['tax', 'length']);
    expect(marked[0]!.stale).toHaveLength(2);
    expect(staleColumns).toEqual([]);
    expect(await storedRows(table)).toMatchObject([{ stale: null, computed: null }]);
  });

  it('indexes the rows of a table again when the searchable columns change', async () => {
    const table = await newTable({}, [{ name: 'cup' }]);
    const isUnindexed = async () => (await storedRows(table))[0]!.unindexed;
    const before = await isUnindexed();

    await client.updateTable({ table, schema: { name: { type: 'string', 'x-zui': { searchable: true } } } });
    const searchable = await isUnindexed();
    await client.updateTable({ table, schema: { name: { type: 'string' } } });

    expect([before, searchable, await isUnindexed()]).toEqual([false, true, false]);
  });

  it('keeps both of two concurrent changes of a table', async () => {
    const table = await newTable();
    const names = Array.from({ length: 10 }, (_entry, index) => `c${index}`);

    await Promise.all(
      names.map((name) => client.updateTable({ table, schema: { [name]: { type: 'string' } }, tags: { [name]: 'x' } })),
    );

    const { schema, tags } = await tableOf(table);
    expect(Object.keys(schema.properties).sort()).toEqual([...names, ...Object.keys(columns)].sort());
    expect(Object.keys(tags!).sort()).toEqual(names);
    const indexes = Object.values(schema.properties).map((column) => column['x-zui'].index);
    expect(new Set(indexes).size).toBe(13);
  });

  it('increments the version of the table, so that no process writes rows by an outdated schema', async () => {
    const table = await newTable();
    const versionOf = async () => {
      const [state] = await api.sql<{ version: number }>(
        'SELECT version FROM tables.table_state JOIN tables."table" USING (number) WHERE name = $1',
        [table],
      );
      return state!.version;
    };
    const before = await versionOf();

    await client.updateTable({ table, schema: { color: { type: 'string' } } });
    const updated = await versionOf();
    await client.renameTableColumn({ table, name: 'color', newName: 'colour' });

    expect([updated, await versionOf()]).toEqual([before + 1, before + 2]);
  });

  it('stores no row by a schema that was replaced concurrently', async () => {
    const table = await newTable({ schema: { value: { type: 'number' } } });
    const types = Array.from({ length: 12 }, (_entry, index) => (index % 2 ? 'number' : 'string'));
    let isChanging = true;
    const inserting = (async () => {
      for (let count = 0; isChanging; count++)
        await client.createTableRows({ table, rows: [{ value: count }, { value: `${count}` }] });
    })();

    for (const type of types) await client.updateTable({ table, schema: { value: { type } } });
    isChanging = false;
    await inserting;

    const stored = await storedRows(table);
    // The key contains the index, which is even for numbers.
    const wrong = stored.filter(({ data }) =>
      Object.entries(data).some(
        ([key, value]) => (typeof value === 'number') !== (Number(key.split('.')[1]) % 2 === 0),
      ),
    );
    expect(stored.length).toBeGreaterThan(0);
    expect(wrong).toEqual([]);
  });

  it.each<[Row, string, RegExp]>([
    [{ factor: 1 }, 'InvalidPayload', /^factor must be at least 2: it cannot be reduced/],
    [{ keyColumn: 'gone' }, 'InvalidPayload', /^keyColumn must be a column/],
    [{ schema: { name: null } }, 'InvalidPayload', /^keyColumn must be a column .* "name" is not/],
    [{ schema: { name: { type: 'object' } } }, 'InvalidPayload', /^keyColumn must be a column/],
    [{ schema: { price: { type: 'text' } } }, 'InvalidJsonSchema', /column price must have one type/],
    [
      { tags: Object.fromEntries(Array.from({ length: 101 }, (_entry, index) => [index, 'x'])) },
      'InvalidPayload',
      /tags/,
    ],
  ])('refuses to update a table by %j and changes nothing', async (change, type, message) => {
    const table = await newTable({ factor: 2, keyColumn: 'name' });
    const before = await tableOf(table);

    await expect(client.updateTable({ table, ...change })).rejects.toMatchObject(failsWith(type, message));

    expect(await tableOf(table)).toEqual(before);
  });

  it('refuses to update a table to the name of another one', async () => {
    const [table, taken] = [await newTable(), await newTable()];

    await expect(client.updateTable({ table, name: taken })).rejects.toMatchObject(failsWith('AlreadyExists'));
    expect((await client.updateTable({ table, name: table })).table.name).toBe(table);
  });
});

describe('a frozen table', () => {
  it.each([{ name: 'other' }, { schema: { price: { type: 'string' } } }, { keyColumn: 'name' }])(
    'refuses %j for a frozen table',
    async (change) => {
      const table = await newTable({ frozen: true });

      await expect(client.updateTable({ table, ...change })).rejects.toMatchObject(
        failsWith('ResourceLockedConflict', `The table "${table}" is frozen`),
      );
    },
  );

  it('refuses to rename a column of a frozen table', async () => {
    const table = await newTable({ frozen: true });

    await expect(client.renameTableColumn({ table, name: 'name', newName: 'title' })).rejects.toMatchObject(
      failsWith('ResourceLockedConflict'),
    );
  });

  it('accepts changes of a frozen table other than its name and columns, and rows', async () => {
    const table = await newTable({ frozen: true });
    const { schema } = await tableOf(table);

    const { table: after } = await client.updateTable({ table, name: table, schema, factor: 2, tags: { a: 'b' } });
    const { rows } = await client.createTableRows({ table, rows: [{ name: 'cup' }] });

    expect(after).toMatchObject({ factor: 2, tags: { a: 'b' }, frozen: true });
    expect(rows).toHaveLength(1);
  });

  it('changes a frozen table in the request that unfreezes it, and in the one that freezes it', async () => {
    const table = await newTable({ frozen: true });

    await client.updateTable({ table, frozen: false, schema: { color: { type: 'string' } } });
    const { table: after } = await client.updateTable({ table, frozen: true, schema: { size: { type: 'string' } } });

    expect(Object.keys(after.schema.properties)).toEqual(['name', 'price', 'sold', 'color', 'size']);
  });
});

describe('a large table', () => {
  /** One more than a request updates itself. */
  const rows = 5_001;

  async function largeTable(schema: object): Promise<string> {
    const table = await newTable({ schema: schema });
    await api.sql(
      `WITH state AS (
         UPDATE tables.table_state SET next_row_id = next_row_id + $2 FROM tables."table"
         WHERE name = $1 AND table_state.number = "table".number RETURNING table_state.number)
       INSERT INTO tables.row (table_number, id, data)
       SELECT number, i, jsonb_build_object($3 || '.0', 'row ' || i, $3 || '.1', i)
       FROM state, generate_series(1, $2::int) AS i`,
      [table, rows, await numberInKeys(table)],
    );
    return table;
  }

  async function numberInKeys(table: string): Promise<string> {
    const [row] = await api.sql<{ number: string }>('SELECT number FROM tables."table" WHERE name = $1', [table]);
    return Number(row!.number).toString(36);
  }

  async function jobsOf(table: string): Promise<string[]> {
    const { jobs } = await waitFor(
      () => client.getTableJobs({ table }),
      (answer) => answer.jobs.every(({ status }) => status === 'completed'),
      30_000,
    );
    return jobs.map(({ type }) => type);
  }

  it('indexes a large table again by a job when the searchable columns change', async () => {
    const table = await largeTable(columns);

    await client.updateTable({ table, schema: { name: { type: 'string', 'x-zui': { searchable: true } } } });
    await client.createTableRows({ table, rows: [{ name: 'new' }] });
    const jobs = await jobsOf(table);
    const { indexing } = await client.getTable({ table });
    await client.updateTable({ table, schema: { name: { type: 'string' } } });

    expect(jobs).toEqual(['clear_vectors']);
    expect(indexing).toBe(rows + 1);
    expect(await jobsOf(table)).toEqual(['clear_vectors', 'clear_vectors']);
    expect(await client.getTable({ table })).toMatchObject({ indexing: 0 });
  });

  it('updates a large table by a job when computed columns or their dependencies change', async () => {
    const table = await largeTable({ ...columns, length: computed('l', 'name'), tax: computed('t', 'price') });

    const { staleColumns } = await client.updateTable({ table, schema: { price: { type: 'string' } } });
    const jobs = await jobsOf(table);

    expect([staleColumns, jobs]).toEqual([['tax'], ['clear_column']]);
    expect(await client.getTable({ table })).toMatchObject({ stale: rows });
    const stored = await storedRows(table);
    expect(stored.filter(({ data }) => Object.keys(data).length !== 1)).toEqual([]);
    expect(new Set(stored.flatMap(({ stale }) => stale!.map((key) => key.split('.')[1])))).toEqual(new Set(['4']));
  });

  it('changes the key column of a large table without a job', async () => {
    const table = await largeTable(columns);
    const insert = async (row: Row) => (await client.createTableRows({ table, rows: [row] })).rows.length;

    await client.updateTable({ table, keyColumn: 'name' });
    const byName = [await insert({ name: 'row 1', price: -1 }), await insert({ name: 'row 0', price: 1 })];
    await client.updateTable({ table, keyColumn: null });
    const byNothing = [await insert({ name: 'row 1', price: -1 }), await insert({ name: 'row 1', price: -2 })];
    const setting = client.updateTable({ table, keyColumn: 'price' });

    expect([byName, byNothing]).toEqual([
      [0, 1],
      [1, 1],
    ]);
    await expect(setting).rejects.toMatchObject(failsWith('AlreadyExists', /1 in rows 1 and 5003\.$/));
    await client.deleteTableRows({ table, ids: [rows + 2] });
    await client.updateTable({ table, keyColumn: 'price' });
    expect([await insert({ price: -2 }), await insert({ price: 0 })]).toEqual([0, 1]);
    expect(await jobsOf(table)).toEqual([]);
  });

  it('refuses a key column of a table above 150,000 rows and suggests an import', async () => {
    const table = await newTable({ keyColumn: 'name' }, [{ name: 'cup' }]);
    await api.sql(
      'UPDATE tables.table_state SET next_row_id = 150002 FROM tables."table" WHERE name = $1 AND table_state.number = "table".number',
      [table],
    );

    await expect(client.updateTable({ table, keyColumn: 'price' })).rejects.toMatchObject(
      failsWith('LimitExceeded', /^keyColumn can be set for a table of at most 150000 rows, got 150001\. Create/),
    );
    expect((await client.updateTable({ table, keyColumn: null })).table.keyColumn).toBeNull();
  });

  it('keeps the keys of a large table when setting new ones times out', async () => {
    const table = await newTable({}, [{ name: 'tooSlow' }]);
    await api.sql(`
      CREATE FUNCTION tables.too_slow() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN RAISE EXCEPTION 'canceling statement due to statement timeout' USING ERRCODE = '57014'; END $$;
      CREATE TRIGGER too_slow BEFORE UPDATE ON tables.row FOR EACH ROW WHEN (NEW.key = '"tooSlow"')
        EXECUTE FUNCTION tables.too_slow()`);

    await expect(client.updateTable({ table, keyColumn: 'name' })).rejects.toMatchObject(
      failsWith(
        'OperationTimeout',
        /^keyColumn: setting the keys of all rows took more than 9 s; nothing was changed\./,
      ),
    );
    await api.sql('DROP FUNCTION tables.too_slow CASCADE');
    expect((await tableOf(table)).keyColumn).toBeNull();
  });
});

describe('the key column', () => {
  const rows = [{ name: 'cup', price: 1 }, { name: 'pot', price: 2 }, { name: null, price: 3 }, {}];
  const addTwice = (table: string, row: Row) => client.createTableRows({ table, rows: [row, row] });

  it('sets the key column later and makes its values unique', async () => {
    const table = await newTable({}, rows);

    const { table: after } = await client.updateTable({ table, keyColumn: 'name' });

    expect(after.keyColumn).toBe('name');
    expect((await storedRows(table)).map(({ key }) => key)).toEqual(['"cup"', '"pot"', null, null]);
    expect((await addTwice(table, { name: 'cup' })).errors).toHaveLength(2);
    expect((await addTwice(table, { name: 'pan' })).errors).toHaveLength(1);
  });

  it('refuses a key column while its values are not unique, and lists duplicates in the error', async () => {
    const twice = ['a', 'b', 'c', 'd', 'e', 'f'].flatMap((name) => [{ name }, { name }]);
    const table = await newTable({}, [...twice, { name: 'g' }]);

    await expect(client.updateTable({ table, keyColumn: 'name', tags: { a: 'b' } })).rejects.toMatchObject(
      failsWith(
        'AlreadyExists',
        'keyColumn: the values of name are not unique: a in rows 1 and 2, b in rows 3 and 4, c in rows 5 and 6, ' +
          'd in rows 7 and 8, e in rows 9 and 10, and others.',
      ),
    );
    expect(await tableOf(table)).toMatchObject({ keyColumn: null, tags: {} });
  });

  it('changes the key column to one with overlapping values', async () => {
    const table = await newTable({ schema: { a: 'x', b: 'x' }, keyColumn: 'a' }, [
      { a: '1', b: '2' },
      { a: '2', b: '1' },
    ]);

    await client.updateTable({ table, keyColumn: 'b' });

    expect((await storedRows(table)).map(({ key }) => key)).toEqual(['"2"', '"1"']);
  });

  it('removes a key column', async () => {
    const table = await newTable({ keyColumn: 'name' }, rows);

    await client.updateTable({ table, keyColumn: null });

    expect((await addTwice(table, { name: 'cup' })).errors).toBeUndefined();
  });

  it('empties the key column when its type changes', async () => {
    const table = await newTable({ keyColumn: 'name' }, rows);

    await client.updateTable({ table, schema: { name: { type: 'number' } } });

    expect((await addTwice(table, { name: 1 })).rows).toHaveLength(1);
    expect((await storedRows(table)).map(({ key }) => key)).toEqual([null, null, null, null, '1']);
  });

  it('keeps a key column that is renamed', async () => {
    const table = await newTable({ keyColumn: 'name' }, rows);

    const { table: after } = await client.renameTableColumn({ table, name: 'name', newName: 'title' });

    expect(after.keyColumn).toBe('title');
    expect((await addTwice(table, { title: 'cup' })).errors).toHaveLength(2);
  });
});

describe('renameTableColumn', () => {
  it('keeps the values of a renamed column', async () => {
    const table = await newTable({}, [{ name: 'cup' }]);
    const before = await storedRows(table);

    const { table: after } = await client.renameTableColumn({ table, name: 'name', newName: 'Full name' });

    expect(Object.keys(after.schema.properties)).toEqual(['Full name', 'price', 'sold']);
    expect(await storedRows(table)).toEqual(before);
    expect((await client.createTableRows({ table, rows: [{ 'Full name': 'pot' }] })).rows).toMatchObject([
      { 'Full name': 'pot' },
    ]);
  });

  it.each([
    [{ name: 'gone', newName: 'a' }, 'ReferenceNotFound', /^name: the table has no column "gone"/],
    [{ name: 'name', newName: 'price' }, 'AlreadyExists', /^Column "price" already exists/],
    [{ name: 'name', newName: 'id' }, 'InvalidPayload', /^newName is the name of a system field/],
    [{ name: 'name', newName: 'a.b' }, 'InvalidPayload', /^newName must be/],
  ])('refuses to rename a column by %j', async (names, type, message) => {
    const table = await newTable();

    await expect(client.renameTableColumn({ table, ...names })).rejects.toMatchObject(failsWith(type, message));
  });
});

describe('keyColumn', () => {
  it('refuses a computed column as key column', async () => {
    const computed = { type: 'string', 'x-zui': { computed: { action: 'code', code: '1' } } };
    const table = await newTable({ keyColumn: 'name' });

    await expect(newTable({ schema: { key: computed }, keyColumn: 'key' })).rejects.toMatchObject({
      type: 'InvalidPayload',
      message: expect.stringContaining('"key" is computed') as string,
    });
    await expect(client.updateTable({ table, schema: { name: computed } })).rejects.toMatchObject({
      type: 'InvalidPayload',
    });
  });
});

describe('duplicateTable', () => {
  const schema = { ...columns, total: computed('t', 'price') };

  it('duplicates a table and its rows', async () => {
    const table = await newTable(
      { schema, keyColumn: 'name', tags: { a: 'b' }, factor: 2, frozen: true, isComputeEnabled: false },
      [{ name: 'cup', price: 1 }, { name: 'cup' }, { name: 'pot', sold: true }],
    );
    await client.updateTable({ table, frozen: false, schema: { price: { type: 'string' } } });
    await client.createTableRows({ table, rows: [{ name: 'pan', price: 'much' }] });
    const before = await tableOf(table);

    const { table: copy, rows } = await client.duplicateTable({ sourceTableId: table });

    expect(rows).toBe(3);
    expect(copy).toEqual({
      ...before,
      id: expect.stringMatching(/^table_/) as unknown,
      name: `${table}_copy`,
      createdAt: copy.createdAt,
      updatedAt: copy.createdAt,
    });
    expect(copy.id).not.toBe(before.id);
    expect(await client.getTable({ table: copy.id })).toMatchObject({ rows: 3 });
    const { rows: added, errors } = await client.createTableRows({
      table: copy.id,
      rows: [{ name: 'pot' }, { name: 'jug' }],
    });
    expect(errors).toEqual([expect.stringMatching(/^Row 0: another row has the same name/)]);
    expect(added).toMatchObject([{ id: 5 }]);
    const valuesOf = async (name: string) =>
      (await storedRows(name)).map(({ data }) =>
        Object.entries(data).map(([key, value]) => [key.split('.')[1], value]),
      );
    expect((await valuesOf(copy.name)).slice(0, 3)).toEqual([
      [['0', 'cup']],
      [
        ['0', 'pot'],
        ['2', true],
      ],
      [
        ['0', 'pan'],
        ['4', 'much'],
      ],
    ]);
    expect(await client.getTable({ table })).toMatchObject({ rows: 3 });
  });

  it('duplicates the state of computed columns and of the index of a table', async () => {
    const name = { type: 'string', 'x-zui': { searchable: true } };
    const table = await newTable({ schema: { ...schema, name } }, [{ name: 'cup' }]);

    const { table: copy } = await client.duplicateTable({ sourceTableId: table });

    expect(await client.getTable({ table: copy.id })).toMatchObject({ rows: 1, stale: 1, indexing: 1 });
    const [row] = await storedRows(copy.name);
    expect(row).toMatchObject({ stale: Object.keys(row!.computed), unindexed: true });
  });

  it('duplicates many rows of a table by a job', async () => {
    const table = await newTable({ keyColumn: 'name' });
    for (let batch = 0; batch < 6; batch++) {
      const rows = Array.from({ length: 1000 }, (_entry, index) => ({ name: `${batch * 1000 + index}` }));
      await client.createTableRows({ table, rows });
    }

    const { table: copy, rows, job } = await client.duplicateTable({ sourceTableId: table });

    expect(rows).toBe(6000);
    expect(job).toEqual({ id: expect.stringMatching(/^job_/) as unknown, status: 'pending' });
    const done = await waitFor(
      () => client.getTableJobs({ table: copy.id }),
      ({ jobs }) => jobs[0]?.status === 'completed',
    );
    expect(done.jobs).toMatchObject([{ id: job!.id, type: 'duplicate_table' }]);
    expect(await client.getTable({ table: copy.id })).toMatchObject({ rows: 6000 });
    const keys = (await storedRows(copy.name)).map(({ key }) => key);
    expect(keys).toEqual((await storedRows(table)).map(({ key }) => key));
  });

  it('duplicates only the schema of a table', async () => {
    const table = await newTable({ factor: 3 }, [{ name: 'cup' }]);

    const copy = await client.duplicateTable({
      sourceTableId: table,
      schemaOnly: true,
      factor: 1,
      tableName: newName(),
    });

    expect(copy).toMatchObject({ rows: 0, table: { factor: 1 } });
    expect(await client.getTable({ table: copy.table.id })).toMatchObject({ rows: 0 });
  });

  it('finds a free name for each of many concurrent copies of a table', async () => {
    const table = await newTable({ name: `${'x'.repeat(45)}${++number}` }, [{ name: 'cup' }]);

    const copies = await Promise.all(Array.from({ length: 5 }, () => client.duplicateTable({ sourceTableId: table })));

    const names = copies.map(({ table: copy }) => copy.name);
    expect(new Set(names).size).toBe(5);
    expect(Math.max(...names.map(({ length }) => length))).toBeLessThanOrEqual(50);
    expect(copies.map(({ rows }) => rows)).toEqual([1, 1, 1, 1, 1]);
  });

  it('refuses a name for a copy that is taken and a factor that is too small for the rows', async () => {
    const table = await newTable({ factor: 3 }, [{ name: 'cup' }]);
    const taken = await newTable();

    const copy = (change: Row) => client.duplicateTable({ sourceTableId: table, ...change });

    await expect(copy({ tableName: taken })).rejects.toMatchObject(failsWith('AlreadyExists'));
    await expect(copy({ tableName: 'a b' })).rejects.toMatchObject(failsWith('InvalidPayload', /^tableName must be/));
    await expect(copy({ factor: 2 })).rejects.toMatchObject(failsWith('InvalidPayload', /^factor must be at least 3/));
  });
});

describe('deleteTable', () => {
  it('deletes a table with its rows, and frees its name', async () => {
    const table = await newTable({}, [{ name: 'cup' }]);

    expect(await client.deleteTable({ table })).toEqual({});

    await expect(client.getTable({ table })).rejects.toMatchObject(failsWith('ResourceNotFound'));
    await expect(client.createTableRows({ table, rows: [{}] })).rejects.toMatchObject(failsWith('ResourceNotFound'));
    await client.createTable({ name: table, schema: columns });
    expect(await client.getTable({ table })).toMatchObject({ rows: 0 });
  });

  it('deletes a table once for concurrent requests', async () => {
    const table = await newTable();

    const answers = await Promise.allSettled(Array.from({ length: 5 }, () => client.deleteTable({ table })));

    expect(answers.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    const refusals = answers.flatMap((answer) => (answer.status === 'rejected' ? [answer.reason as unknown] : []));
    expect(refusals).toEqual(refusals.map(() => expect.objectContaining({ type: 'ResourceNotFound' }) as unknown));
  });
});

describe('a table of another bot', () => {
  const schema = { price: { type: 'string' } };

  it.each<[string, (as: Client, table: string) => Promise<unknown>]>([
    ['getTable', (as, table) => as.getTable({ table })],
    ['updateTable', (as, table) => as.updateTable({ table, schema })],
    ['renameTableColumn', (as, table) => as.renameTableColumn({ table, name: 'name', newName: 'title' })],
    ['duplicateTable', (as, table) => as.duplicateTable({ sourceTableId: table })],
    ['deleteTable', (as, table) => as.deleteTable({ table })],
  ])('returns 404 from %s for a table of another bot, by name or id', async (_operation, ask) => {
    const name = await newTable();
    const before = await tableOf(name);

    for (const table of [name, before.id])
      await expect(ask(other, table)).rejects.toMatchObject(
        failsWith('ResourceNotFound', `The table "${table}" was not found.`),
      );

    expect(await tableOf(name)).toEqual(before);
    expect((await other.listTables({})).tables.map(({ id }) => id)).not.toContain(before.id);
  });
});
