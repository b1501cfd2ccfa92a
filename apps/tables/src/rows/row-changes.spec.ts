import type { Client } from '@botpress/client';
import type { Caller } from '@parley/contracts/caller';
import { tables } from '@parley/contracts/tables/tables';
import { type Account, configured, type PublicApi, startPublicApi } from '@parley/testing/public-api';
import { AdminModule } from '../../../admin/src/admin.module';
import { GatewayModule } from '../../../gateway/src/gateway.module';
import { TablesConfig } from '../config';
import { TablesModule } from '../tables.module';
import { holdWork } from '../test/held-work';

let api: PublicApi;
let alice: Account;
let client: Client;

beforeAll(async () => {
  const small = { maxBodyBytes: 1_000_000 };
  api = await startPublicApi(GatewayModule, AdminModule, configured(TablesModule, TablesConfig, small));
  await holdWork(api);
  alice = await api.newAccount();
  client = await newBot(alice);
});

afterAll(() => api?.stop());

async function newBot({ client: owner, token, workspaceId }: Account): Promise<Client> {
  const { bot } = await owner.createBot({ name: 'shop' });
  return api.client(token, workspaceId, bot.id);
}

type Rows = Record<string, unknown>[];

const goods = { name: { type: 'string' }, price: { type: 'number' }, sold: { type: 'boolean' } };
let number = 0;

async function newTable(rows: Rows, options: { keyColumn?: string; schema?: object } = {}): Promise<string> {
  const name = `Goods${++number}Table`;
  const { keyColumn, schema: properties = goods } = options;
  await client.createTable({ name, schema: properties, keyColumn });
  if (rows.length > 0) await client.createTableRows({ table: name, rows });
  return name;
}

/** Stored rows with these ids, read by an empty update. */
async function rowsOf(table: string, ...ids: number[]): Promise<Rows> {
  const { rows } = await client.updateTableRows({ table, rows: ids.map((id) => ({ id })) });
  return rows;
}

function update(table: string, rows: Rows) {
  return client.updateTableRows({ table, rows: rows as { id: number }[] });
}

function upsert(table: string, rows: Rows, keyColumn?: string) {
  return client.upsertTableRows({ table, rows, ...(keyColumn ? { keyColumn } : {}) });
}

async function countOf(table: string): Promise<number> {
  return (await client.getTable({ table })).rows;
}

describe('updateTableRows', () => {
  it('replaces the given columns of a row, removes the values that are null and keeps the others', async () => {
    const table = await newTable([{ name: 'cup', price: 3, sold: true }, { name: 'pot' }]);

    const { rows, warnings, errors } = await update(table, [
      { id: 2, name: 'jug' },
      { id: 1, price: 4, sold: null },
    ]);

    expect(rows).toEqual([
      expect.objectContaining({ id: 2, name: 'jug', price: null, sold: null }),
      expect.objectContaining({ id: 1, name: 'cup', price: 4, sold: null }),
    ]);
    expect({ warnings, errors }).toEqual({ warnings: undefined, errors: undefined });
    expect(await rowsOf(table, 2, 1)).toEqual(rows.map((row) => ({ ...row, updatedAt: expect.any(String) })));
    expect(await countOf(table)).toBe(2);
  });

  it('sets updatedAt of an updated row and increments the revision', async () => {
    const table = await newTable([{ name: 'cup' }]);

    const [first] = (await update(table, [{ id: 1, price: 1 }])).rows;
    const [second] = (await update(table, [{ id: 1, price: 2 }])).rows;

    expect(second!.createdAt).toBe(first!.createdAt);
    expect(Date.parse(second!.updatedAt!)).toBeGreaterThanOrEqual(Date.parse(first!.updatedAt!));
    expect(Date.parse(first!.updatedAt!)).toBeGreaterThanOrEqual(Date.parse(first!.createdAt!));
    const [state] = await api.sql<{ revision: number; same: boolean }>(
      `SELECT revision, row.updated_at = $2 AS same FROM tables.row JOIN tables."table" ON number = table_number WHERE name = $1`,
      [table, second!.updatedAt],
    );
    expect(state).toEqual({ revision: 3, same: true });
  });

  it('accepts the update of a row as it was read', async () => {
    const table = await newTable([{ name: 'cup', price: 3 }]);
    const [row] = await rowsOf(table, 1);

    const { rows, warnings, errors } = await update(table, [{ ...row, price: 4, colour: 'red' }]);

    expect(rows).toEqual([expect.objectContaining({ id: 1, name: 'cup', price: 4 })]);
    expect(errors).toBeUndefined();
    expect(warnings).toEqual([
      expect.stringMatching(/^Row 0: createdAt.*updatedAt.*computed.*platform/),
      'Row 0: colour is not a column of this table and was ignored.',
    ]);
  });

  it('updates the valid rows and reports errors for the others', async () => {
    const table = await newTable([{ name: 'cup' }, { name: 'pot' }, { name: 'jug' }]);

    const { rows, errors } = await update(table, [
      { id: 3, price: 3 },
      { id: 99, price: 3 },
      { id: 2, price: 'cheap' },
      { name: 'none' },
      { id: 3, price: 4 },
      { id: 'two' },
      { id: 2 ** 31 },
      { id: 1, price: 1 },
    ]);

    expect(rows.map(({ id, price }) => [id, price])).toEqual([
      [3, 3],
      [1, 1],
    ]);
    expect(errors).toEqual([
      'Row 1: there is no row 99 in this table.',
      expect.stringMatching(/^Row 2: .*price.*number/),
      'Row 3: id is needed to find the row.',
      'Row 4: an earlier row of the request has the id 3.',
      'Row 5: id must be an integer from 1 to 2147483647.',
      'Row 6: id must be an integer from 1 to 2147483647.',
    ]);
    expect(await rowsOf(table, 2)).toEqual([expect.objectContaining({ name: 'pot', price: null })]);
  });

  it('returns only errors when no updated row is valid', async () => {
    const table = await newTable([]);

    expect(await update(table, [{ id: 1 }])).toEqual({ rows: [], errors: ['Row 0: there is no row 1 in this table.'] });
  });

  it('refuses a change that makes the row too large', async () => {
    const table = await newTable([{ name: 'x'.repeat(2500) }, {}], {
      schema: { name: { type: 'string' }, note: { type: 'string' } },
    });

    const { rows, errors } = await update(
      table,
      [1, 2].map((id) => ({ id, note: 'y'.repeat(2500) })),
    );

    expect(rows.map(({ id }) => id)).toEqual([2]);
    expect(errors).toEqual([expect.stringMatching(/^Row 0: it must be at most 4096 bytes/)]);
  });

  it('ignores and clears leftover values of deleted columns', async () => {
    const table = await newTable([{ name: 'cup' }]);
    const left = `FROM tables."table" WHERE number = table_number AND name = $1`;
    await api.sql(`UPDATE tables.row SET data = data || jsonb_build_object('gone', repeat('x', 4096)) ${left}`, [
      table,
    ]);

    const { rows, errors } = await update(table, [{ id: 1, price: 1 }]);

    expect(errors).toBeUndefined();
    expect(rows).toEqual([expect.objectContaining({ name: 'cup', price: 1 })]);
    expect(await api.sql(`SELECT data ? 'gone' AS has FROM tables.row, ${left.slice(5)}`, [table])).toEqual([
      { has: false },
    ]);
  });

  it('updates nothing when the response would be too large', async () => {
    const table = await newTable(Array.from({ length: 200 }, () => ({ name: 'x'.repeat(3000), price: 1 })));
    const change = (from: number, to: number) =>
      Array.from({ length: to - from + 1 }, (_entry, index) => ({ id: from + index, price: 2 }));

    const attempts = [update(table, change(1, 200)), upsert(table, change(1, 200))];

    for (const attempt of attempts) {
      await expect(attempt).rejects.toMatchObject({
        type: 'LimitExceeded',
        message: expect.stringMatching(/ 60\d{4} bytes .* 500000 .*fewer rows/),
      });
    }
    expect((await update(table, change(1, 100))).rows).toHaveLength(100);
    expect(await rowsOf(table, 100, 101)).toMatchObject([{ price: 2 }, { price: 1 }]);
  });

  it('refuses the key of another row or of an earlier change, and applies the other updates', async () => {
    const rows = ['cup', 'pot', 'jug', 'mug', 'pan'].map((name) => ({ name }));
    const table = await newTable(rows, { keyColumn: 'name' });

    const answer = await update(table, [
      { id: 1, name: 'pot' },
      { id: 2, name: 'pot', price: 2 },
      { id: 3, name: 'cup' },
      { id: 4, name: 'urn' },
      { id: 5, name: 'urn' },
    ]);

    expect(answer.rows.map(({ id, name }) => [id, name])).toEqual([
      [2, 'pot'],
      [4, 'urn'],
    ]);
    expect(answer.errors).toEqual(
      [0, 2, 4].map((index) => `Row ${index}: another row has the same name, which must be unique.`),
    );
    expect((await update(table, [{ id: 5, name: 'mug' }])).errors).toBeUndefined();
  });

  it('frees the key of a row when its value is removed', async () => {
    const table = await newTable([{ name: 'cup' }, { name: 'pot' }], { keyColumn: 'name' });

    await update(table, [{ id: 1, name: null }]);

    expect((await update(table, [{ id: 2, name: 'cup' }])).errors).toBeUndefined();
  });

  it('keeps every column of concurrent updates of one row', async () => {
    const names = Array.from({ length: 20 }, (_entry, index) => `column${index}`);
    const schema = Object.fromEntries(names.map((name) => [name, { type: 'number' }]));
    const table = await newTable([{}], { schema });

    await Promise.all(names.map((name, index) => update(table, [{ id: 1, [name]: index }])));

    expect(await rowsOf(table, 1)).toEqual([
      expect.objectContaining(Object.fromEntries(names.map((name, index) => [name, index]))),
    ]);
  });

  it('avoids deadlocks between concurrent updates of the same rows in different order', async () => {
    const table = await newTable(Array.from({ length: 50 }, () => ({ price: 0 })));
    const ids = Array.from({ length: 50 }, (_entry, index) => index + 1);

    const answers = await Promise.all(
      Array.from({ length: 12 }, (_entry, price) =>
        update(
          table,
          (price % 2 ? [...ids].reverse() : ids).map((id) => ({ id, price })),
        ),
      ),
    );

    expect(answers.every(({ rows, errors }) => rows.length === 50 && !errors)).toBe(true);
    expect(new Set((await rowsOf(table, ...ids)).map(({ price }) => price)).size).toBe(1);
  });

  it('avoids deadlocks between concurrent updates that queue work of several kinds', async () => {
    const computed = { action: 'code', code: 'return ""', dependencies: ['price'] };
    const table = await newTable(
      Array.from({ length: 40 }, () => ({ name: 'cup', price: 0 })),
      {
        schema: {
          name: { type: 'string', 'x-zui': { searchable: true } },
          price: { type: 'number' },
          tag: { type: 'string', 'x-zui': { computed } },
        },
      },
    );
    const writer = async (_entry: unknown, index: number) => {
      for (let round = 1; round <= 10; round++) {
        const rows = [
          { id: 2 * index + 1, name: `cup ${round}` },
          { id: 2 * index + 2, price: round },
        ];
        await update(table, index % 2 ? rows.reverse() : rows);
      }
    };

    await Promise.all(Array.from({ length: 20 }, writer));

    expect(await rowsOf(table, 1, 2)).toMatchObject([{ name: 'cup 10' }, { price: 10 }]);
  });

  it('gives a key to one of many concurrent updates', async () => {
    const table = await newTable(
      Array.from({ length: 10 }, (_entry, index) => ({ name: `cup ${index}` })),
      { keyColumn: 'name' },
    );

    const answers = await Promise.all(
      Array.from({ length: 10 }, (_entry, index) => update(table, [{ id: index + 1, name: 'the cup' }])),
    );

    expect(answers.flatMap(({ rows }) => rows)).toHaveLength(1);
    expect(answers.flatMap(({ errors = [] }) => errors)).toHaveLength(9);
  });

  it('marks the dependent computed columns of an updated row, and its changed searchable text', async () => {
    const computed = (dependencies: string[]) => ({ type: 'string', 'x-zui': { computed: computedBy(dependencies) } });
    const computedBy = (dependencies: string[]) => ({ action: 'code', code: 'return ""', dependencies });
    const table = await newTable([{ name: 'cup', price: 1, sold: true }], {
      schema: {
        ...goods,
        name: { type: 'string', 'x-zui': { searchable: true } },
        label: computed(['name']),
        tag: computed(['price']),
        sign: computed(['tag']),
      },
    });
    const settled = async () => {
      await api.sql(`DELETE FROM tables.work`);
      await api.sql(`UPDATE tables.row SET stale = NULL, unindexed = false, computed = '{}'`);
    };
    const kinds = async () =>
      (await api.sql<{ queue: string }>('SELECT queue FROM tables.work ORDER BY queue')).map(({ queue }) =>
        queue.replace('tables.', ''),
      );

    await settled();
    const [sold] = (await update(table, [{ id: 1, sold: false, price: 1 }])).rows;
    const noWork = await kinds();
    const [priced] = (await update(table, [{ id: 1, price: 2 }])).rows;
    const computeWork = await kinds();
    await settled();
    const [named] = (await update(table, [{ id: 1, name: 'pot' }])).rows;

    expect([sold!.stale, noWork]).toEqual([undefined, []]);
    expect([priced!.stale, computeWork]).toEqual([['tag', 'sign'], ['compute']]);
    expect(priced!.computed).toEqual({ tag: { status: 'pending' }, sign: { status: 'pending' } });
    expect([named!.stale, await kinds()]).toEqual([['label'], ['compute', 'index']]);
    expect(await client.getTable({ table })).toMatchObject({ stale: 1, indexing: 1 });
  });

  it('uses the current schema for an update while columns are renamed concurrently', async () => {
    const table = await newTable([{ name: 'cup' }]);
    const rename = async (name: string, newName: string) => client.renameTableColumn({ table, name, newName });

    const [answers] = await Promise.all([
      Promise.all(Array.from({ length: 30 }, (_entry, price) => update(table, [{ id: 1, price, cost: price }]))),
      (async () => {
        for (let times = 0; times < 5; times++) {
          await rename('price', 'cost');
          await rename('cost', 'price');
        }
      })(),
    ]);

    for (const { rows, warnings } of answers) {
      const [left] = ['price', 'cost'].filter((name) => !(name in rows[0]!));
      expect(rows).toEqual([expect.objectContaining({ id: 1, name: 'cup' })]);
      expect(warnings).toEqual([`Row 0: ${left} is not a column of this table and was ignored.`]);
    }
  });

  it('refuses an empty list and more than 1,000 rows to update', async () => {
    const table = await newTable([]);

    await expect(update(table, [])).rejects.toMatchObject({ type: 'InvalidPayload' });
    await expect(update(table, Array(1001).fill({ id: 1 }))).rejects.toMatchObject({ type: 'InvalidPayload' });
  });
});

describe('upsertTableRows', () => {
  it('upserts the rows that have the value of the column and inserts the others', async () => {
    const table = await newTable([
      { name: 'cup', price: 1 },
      { name: 'pot', price: 2 },
    ]);

    const { inserted, updated, warnings, errors } = await upsert(
      table,
      [{ name: 'jug', price: 9 }, { name: 'pot', sold: true }, { name: 'urn' }, { name: 'cup', price: null }],
      'name',
    );

    expect(inserted).toEqual([
      expect.objectContaining({ id: 3, name: 'jug', price: 9, sold: null }),
      expect.objectContaining({ id: 4, name: 'urn', price: null, sold: null }),
    ]);
    expect(updated).toEqual([
      expect.objectContaining({ id: 2, name: 'pot', price: 2, sold: true }),
      expect.objectContaining({ id: 1, name: 'cup', price: null, sold: null }),
    ]);
    expect({ warnings, errors }).toEqual({ warnings: undefined, errors: undefined });
    expect(await rowsOf(table, 3, 4, 2, 1)).toEqual(
      [...inserted, ...updated].map((row) => ({ ...row, updatedAt: expect.any(String) })),
    );
    expect(await countOf(table)).toBe(4);
  });

  it('reserves ids for the rows that an upsert inserts', async () => {
    const table = await newTable([]);
    await upsert(table, [{ name: 'cup' }], 'name');

    const { rows } = await client.createTableRows({ table, rows: [{ name: 'pot' }] });

    expect(rows).toEqual([expect.objectContaining({ id: 2 })]);
  });

  it('matches upserted rows by the key column of the table', async () => {
    const table = await newTable([{ name: 'cup', price: 1 }], { keyColumn: 'name' });

    const { inserted, updated } = await upsert(table, [{ name: 'pot' }, { name: 'cup', price: 2 }], 'name');

    expect([inserted, updated]).toMatchObject([[{ id: 2, name: 'pot' }], [{ id: 1, name: 'cup', price: 2 }]]);
    expect(await countOf(table)).toBe(2);
  });

  it.each(['name', undefined])(
    'upserts the first of two rows with one key, and requires a key: key column %s',
    async (key) => {
      const table = await newTable([], { keyColumn: key });

      const { inserted, errors } = await upsert(
        table,
        [{ name: 'cup', price: 1 }, { name: 'cup', price: 2 }, { price: 3 }, { name: null }],
        'name',
      );

      expect(inserted).toMatchObject([{ name: 'cup', price: 1 }]);
      expect(errors).toEqual([
        'Row 1: an earlier row of the request has this name.',
        'Row 2: name is needed to find the row.',
        'Row 3: name is needed to find the row.',
      ]);
      expect(await countOf(table)).toBe(1);
    },
  );

  it('matches upserted rows by id by default, and inserts rows without one', async () => {
    const table = await newTable([{ name: 'cup' }]);

    const answers = [
      await upsert(table, [{ id: 1, price: 1 }, { name: 'pot' }, { id: 7 }, { id: 1 }]),
      await upsert(table, [{ id: 1, price: 2 }], 'id'),
    ];

    expect(answers).toMatchObject([
      {
        inserted: [{ id: 2, name: 'pot' }],
        updated: [{ id: 1, name: 'cup', price: 1 }],
        errors: ['Row 2: there is no row 7 in this table.', 'Row 3: an earlier row of the request has the id 1.'],
      },
      { inserted: [], updated: [{ id: 1, name: 'cup', price: 2 }] },
    ]);
  });

  it('refuses an upserted row whose value matches two rows', async () => {
    const table = await newTable([{ name: 'cup' }, { name: 'cup' }, { name: 'pot' }]);

    const { inserted, updated, errors } = await upsert(table, [{ name: 'cup' }, { name: 'pot', price: 1 }], 'name');

    expect([inserted, updated]).toMatchObject([[], [{ id: 3, price: 1 }]]);
    expect(errors).toEqual(['Row 0: more than one row has this name.']);
  });

  it('refuses the key of another row for an upsert that matches by another column', async () => {
    const rows = [
      { name: 'cup', price: 1 },
      { name: 'pot', price: 2 },
    ];
    const table = await newTable(rows, { keyColumn: 'name' });

    const { inserted, updated, errors } = await upsert(
      table,
      [
        { price: 1, name: 'pot' },
        { price: 3, name: 'cup' },
        { price: 4, name: 'jug' },
        { price: 2, name: 'jug' },
      ],
      'price',
    );

    expect([inserted, updated]).toMatchObject([[{ id: 3, name: 'jug' }], []]);
    expect(errors).toEqual(
      [0, 1, 3].map((index) => `Row ${index}: another row has the same name, which must be unique.`),
    );
    expect(await countOf(table)).toBe(3);
  });

  it.each([
    ['price', 3.5, 4],
    ['sold', true, false],
    ['name', 'a "quoted" \\ name', 'another'],
  ])('finds a row to upsert by a %s', async (column, value, other) => {
    const table = await newTable([{ [column]: value }, { [column]: other }]);

    const { inserted, updated } = await upsert(table, [{ [column]: value }], column);

    expect([inserted, updated]).toMatchObject([[], [{ id: 1 }]]);
  });

  it.each(['name', undefined])(
    'treats texts as equal in an upsert that are stored as equal: key column %s',
    async (keyColumn) => {
      const table = await newTable([], { keyColumn });
      const [owner] = await api.sql<{ bot_id: string }>('SELECT bot_id FROM tables."table" WHERE name = $1', [table]);
      const { workspaceId } = alice;
      const caller: Caller = { requestId: 'test', credential: 'pat', bot: { id: owner!.bot_id, workspaceId } };
      const names = ['a\0', 'a\ufffd', 'a\ud83d', 'b'];
      const rows = names.map((name) => ({ name }));

      const first = await api.call(tables.rows.upsert, caller, { table, rows, keyColumn: 'name' });
      const again = await api.call(tables.rows.upsert, caller, { table, rows, keyColumn: 'name' });

      const errors = [1, 2].map((index) => `Row ${index}: an earlier row of the request has this name.`);
      expect(first).toMatchObject({ inserted: [{ name: 'a\ufffd' }, { name: 'b' }], errors });
      expect(again).toMatchObject({ inserted: [], updated: [{ id: 1 }, { id: 2 }], errors });
    },
  );

  it('upserts many rows by a column other than the key column, each value once', async () => {
    const rows = Array.from({ length: 300 }, (_entry, price) => ({ name: `cup ${price}`, price }));
    const table = await newTable([...rows, { name: 'cup 7' }]);

    const answer = await upsert(
      table,
      [...rows, { name: 'a new one' }].map(({ name }) => ({ name, sold: true })),
      'name',
    );

    expect(answer.updated.map(({ price }) => price)).toEqual(rows.map(({ price }) => price).filter((at) => at !== 7));
    expect(answer.inserted).toMatchObject([{ id: 302, name: 'a new one', sold: true }]);
    expect(answer.errors).toEqual(['Row 7: more than one row has this name.']);
  });

  it('refuses an upsert by columns that cannot be compared', async () => {
    const table = await newTable([], { schema: { name: { type: 'string' }, parts: { type: 'object' } } });

    for (const column of ['parts', 'createdAt', 'colour']) {
      await expect(upsert(table, [{ name: 'cup' }], column)).rejects.toMatchObject({
        type: 'InvalidPayload',
        message: expect.stringContaining('keyColumn must be id or a column of type string, number or boolean: name'),
      });
    }
  });

  it('inserts one row for many concurrent upserts of a new key', async () => {
    for (const keyColumn of ['name', undefined]) {
      const table = await newTable([], { keyColumn });

      const answers = await Promise.all(
        Array.from({ length: 50 }, (_entry, price) => upsert(table, [{ name: 'cup', price }], 'name')),
      );

      expect(answers.flatMap(({ inserted }) => inserted)).toHaveLength(1);
      expect(answers.flatMap(({ updated }) => updated)).toHaveLength(49);
      expect(await countOf(table)).toBe(1);
    }
  });

  it('requires the required columns of a new upserted row, and keeps those of an existing row', async () => {
    const name = { type: 'string' };
    const schema = { type: 'object', properties: { name, note: name }, required: ['name'] };
    const table = await newTable([{ name: 'cup' }], { schema });

    const answer = await upsert(table, [{ id: 1, note: 'good' }, { note: 'bad' }, { name: 'pot' }]);
    const emptied = await update(table, [{ id: 2, name: null }]);

    expect([answer.inserted, answer.updated]).toMatchObject([[{ id: 2, name: 'pot' }], [{ id: 1, note: 'good' }]]);
    expect(answer.errors).toEqual(['Row 1: name is required.']);
    expect(emptied).toEqual({ rows: [], errors: ['Row 0: name may not be null.'] });
  });

  it('keeps upserts consistent with concurrent inserts and updates', async () => {
    const table = await newTable([{ name: 'cup 0' }], { keyColumn: 'name' });

    const answers = await Promise.all(
      Array.from({ length: 60 }, async (_entry, index) => {
        const name = `cup ${index % 7}`;
        if (index % 3 === 0) return (await client.createTableRows({ table, rows: [{ name }] })).errors;
        if (index % 3 === 1) return (await upsert(table, [{ name, price: index }], 'name')).errors;
        return (await update(table, [{ id: 1, name, price: index }])).errors;
      }),
    );

    const refused = 'Row 0: another row has the same name, which must be unique.';
    expect(new Set(answers.flatMap((errors) => errors ?? []))).toEqual(new Set([refused]));
    expect(await countOf(table)).toBe(7);
  });

  it('returns the rows of a thousand inserts and updates in order', async () => {
    const table = await newTable([], { keyColumn: 'name' });
    const rows = Array.from({ length: 1000 }, (_entry, price) => ({ name: `cup ${price}`, price }));

    const first = await upsert(table, rows, 'name');
    const second = await upsert(table, rows, 'name');

    expect(first.inserted.map(({ price }) => price)).toEqual(rows.map(({ price }) => price));
    expect(second.inserted).toEqual([]);
    expect(second.updated.map(({ id }) => id)).toEqual(first.inserted.map(({ id }) => id));
    expect(await countOf(table)).toBe(1000);
  });
});

describe('a table of another bot', () => {
  it("returns 404 for changes of rows of another bot's table", async () => {
    const table = await newTable([{ name: 'cup' }]);
    const other = await newBot(alice);

    const attempts = [table, 'NoTable'].flatMap((name) => [
      other.updateTableRows({ table: name, rows: [{ id: 1, name: 'pot' }] }),
      other.upsertTableRows({ table: name, rows: [{ id: 1, name: 'pot' }] }),
    ]);

    for (const attempt of attempts) await expect(attempt).rejects.toMatchObject({ type: 'ResourceNotFound' });
    expect(await rowsOf(table, 1)).toEqual([expect.objectContaining({ name: 'cup' })]);
  });
});
