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
let botId: string;

beforeAll(async () => {
  api = await startPublicApi(
    GatewayModule,
    AdminModule,
    configured(TablesModule, TablesConfig, { findTimeoutMs: 2_000 }),
  );
  alice = await api.newAccount();
  botId = (await alice.client.createBot({ name: 'shop' })).bot.id;
  client = api.client(alice.token, alice.workspaceId, botId);
});

afterAll(() => api?.stop());

async function newBot(): Promise<Client> {
  const { bot } = await alice.client.createBot({ name: 'shop' });
  return api.client(alice.token, alice.workspaceId, bot.id);
}

const properties = {
  name: { type: 'string' },
  price: { type: 'number' },
  sold: { type: 'boolean' },
  when: { type: 'string', format: 'date-time' },
  tags: { type: 'array' },
  meta: { type: 'object' },
};
const columnNames = 'name, price, sold, when, tags, meta, id, createdAt, updatedAt';
const goods = [
  {
    name: 'cup',
    price: 3.5,
    sold: true,
    when: '2024-01-01T00:00:00.000Z',
    tags: ['red', 'tea'],
    meta: { size: { cm: 9 } },
  },
  { name: 'pot', price: 20, sold: false, when: '2024-02-01T00:00:00.000Z', tags: ['tea'], meta: { size: { cm: 30 } } },
  { name: 'Jug', price: 20, sold: false, tags: [], meta: { size: { cm: 25 }, note: 'chipped' } },
  { name: 'tray' },
];
let number = 0;

async function newTable(rows: object[] = goods, options: { keyColumn?: string } = {}): Promise<string> {
  const name = `Goods${++number}Table`;
  await client.createTable({ name, schema: { type: 'object', properties }, ...options });
  if (rows.length > 0) await client.createTableRows({ table: name, rows: rows });
  return name;
}

type Query = Omit<Parameters<Client['findTableRows']>[0], 'table'>;

async function names(table: string, query: Query): Promise<unknown[]> {
  const { rows } = await client.findTableRows({ table, ...query });
  return rows.map(({ name }) => name);
}

describe('getTableRow', () => {
  it('returns a row with every column', async () => {
    const table = await newTable();

    const { row } = await client.getTableRow({ table, id: 4 });

    expect(row).toEqual({
      id: 4,
      name: 'tray',
      price: null,
      sold: null,
      when: null,
      tags: null,
      meta: null,
      computed: {},
      createdAt: expect.stringMatching(/^\d{4}-.*Z$/),
      updatedAt: expect.stringMatching(/^\d{4}-.*Z$/),
    });
  });

  it('returns 404 for an unknown row and for a table of another bot', async () => {
    const table = await newTable();
    const other = await newBot();

    await expect(client.getTableRow({ table, id: 5 })).rejects.toMatchObject({
      type: 'ResourceNotFound',
      message: 'The row "5" was not found.',
    });
    await expect(other.getTableRow({ table, id: 1 })).rejects.toMatchObject({ type: 'ResourceNotFound' });
    await expect(client.getTableRow({ table, id: 0 })).rejects.toMatchObject({ type: 'InvalidQuery' });
  });
});

describe('findTableRows', () => {
  it('finds the first hundred rows by id by default', async () => {
    const table = await newTable(Array.from({ length: 101 }, (_entry, price) => ({ price })));

    const answer = await client.findTableRows({ table });

    expect(answer.rows.map(({ id }) => id)).toEqual(Array.from({ length: 100 }, (_entry, index) => index + 1));
    expect(answer).toEqual({ rows: expect.anything(), hasMore: true, offset: 0, limit: 100 });
  });

  it('pages rows with offset and limit', async () => {
    const table = await newTable();

    const middle = await client.findTableRows({ table, offset: 1, limit: 2 });
    const last = await client.findTableRows({ table, offset: 2, limit: 2 });
    const none = await client.findTableRows({ table, offset: 4, limit: 2 });

    expect(middle).toMatchObject({ rows: [{ name: 'pot' }, { name: 'Jug' }], hasMore: true, offset: 1, limit: 2 });
    expect(last).toMatchObject({ rows: [{ name: 'Jug' }, { name: 'tray' }], hasMore: false });
    expect(none).toMatchObject({ rows: [], hasMore: false });
  });

  it.each<[Query['filter'], string[]]>([
    [{ name: 'cup' }, ['cup']],
    [{ price: { $gt: 3.5 } }, ['pot', 'Jug']],
    [{ price: { $gte: 3.5, $lt: 20 } }, ['cup']],
    [{ price: { $ne: 20 } }, ['cup', 'tray']],
    [{ price: null }, ['tray']],
    [{ price: { $in: [3.5, null] } }, ['cup', 'tray']],
    [{ sold: { $exists: true } }, ['cup', 'pot', 'Jug']],
    [{ price: { $mod: [10, 0] } }, ['pot', 'Jug']],
    [{ tags: 'tea' }, ['cup', 'pot']],
    [{ tags: { $size: 2 } }, ['cup']],
    [{ name: { $regex: '^[jp]' } }, ['pot']],
    [{ name: { $regex: '^[jp]', $options: 'i' } }, ['pot', 'Jug']],
    [{ when: { $gt: '2024-01-31T23:00:00-01:00' } }, []],
    [{ when: '2024-02-01T01:00:00+01:00' }, ['pot']],
    [{ when: '2024-02-01T01:00:00+0100' }, ['pot']],
    [{ when: '2024-02-01' }, ['pot']],
    [{ 'meta.size.cm': { $lt: 26 } }, ['cup', 'Jug']],
    [{ 'meta.note': { $exists: false } }, ['cup', 'pot', 'tray']],
    [{ meta: { size: { cm: 30 } } }, ['pot']],
    [{ $or: [{ sold: true }, { price: { $not: { $exists: true } } }] }, ['cup', 'tray']],
    [{ $not: { $and: [{ price: 20 }, { sold: false }] } }, ['cup', 'tray']],
    [{ id: { $in: [2, 3] } }, ['pot', 'Jug']],
    [{ createdAt: { $gt: '2020-01-01' }, id: { $gt: 2.5 } }, ['Jug', 'tray']],
    [{}, ['cup', 'pot', 'Jug', 'tray']],
  ])('finds table rows by %j', async (filter, expected) => {
    const table = await newTable();

    expect(await names(table, { filter })).toEqual(expected);
  });

  it('orders rows by any column, with rows without a value last', async () => {
    const table = await newTable();

    expect(await names(table, { orderBy: 'price' })).toEqual(['cup', 'pot', 'Jug', 'tray']);
    expect(await names(table, { orderBy: 'price', orderDirection: 'desc' })).toEqual(['pot', 'Jug', 'cup', 'tray']);
    expect(await names(table, { orderBy: 'name' })).toEqual(['Jug', 'cup', 'pot', 'tray']);
    expect(await names(table, { orderBy: 'meta.size.cm' })).toEqual(['cup', 'Jug', 'pot', 'tray']);
    expect(await names(table, { orderBy: 'id', orderDirection: 'desc' })).toEqual(['tray', 'Jug', 'pot', 'cup']);
    expect(await names(table, { orderBy: 'updatedAt', limit: 1 })).toEqual(['cup']);
  });

  it('finds rows by the key column, alone and combined with other conditions', async () => {
    const table = await newTable(goods, { keyColumn: 'name' });

    expect(await names(table, { filter: { name: 'pot' } })).toEqual(['pot']);
    expect(await names(table, { filter: { name: 'pot', price: 3.5 } })).toEqual([]);
    expect(await names(table, { filter: { name: { $in: ['tray', 'cup', 'lid'] } } })).toEqual(['cup', 'tray']);
    expect(await names(table, { filter: { $not: { name: 'pot' } } })).toEqual(['cup', 'Jug', 'tray']);
    expect(await names(table, { filter: { $or: [{ name: 'pot' }, { sold: true }] } })).toEqual(['cup', 'pot']);
  });

  it('returns the selected columns and the system columns of rows', async () => {
    const table = await newTable();

    const { rows, warnings } = await client.findTableRows({
      table,
      limit: 1,
      select: ['name', 'meta.size.cm', 'colour', 'createdAt'],
    });

    const row = { id: 1, createdAt: expect.any(String), updatedAt: expect.any(String), computed: {} };
    expect(rows).toEqual([{ ...row, name: 'cup', meta: { size: { cm: 9 } } }]);
    expect(warnings).toEqual(['select: colour is not a column of this table and was ignored.']);
  });

  it('returns the whole column when it is selected both as a whole and in part', async () => {
    const table = await newTable();

    for (const select of [
      ['meta', 'meta.note'],
      ['meta.note', 'meta'],
    ]) {
      const { rows } = await client.findTableRows({ table, filter: { name: 'Jug' }, select });
      expect(rows[0]).toMatchObject({ meta: { size: { cm: 25 }, note: 'chipped' } });
    }
  });

  it('aggregates all rows of a table', async () => {
    const table = await newTable();

    const { rows, hasMore } = await client.findTableRows({
      table,
      group: {
        price: ['sum', 'avg', 'max', 'min', 'count', 'unique'],
        when: 'max',
        name: 'min',
        'meta.size.cm': 'sum',
      },
    });

    expect({ rows, hasMore }).toEqual({
      rows: [
        {
          id: 1,
          computed: {},
          priceSum: 43.5,
          priceAvg: 14.5,
          priceMax: 20,
          priceMin: 3.5,
          priceCount: 3,
          priceUnique: 2,
          whenMax: '2024-02-01T00:00:00.000Z',
          nameMin: 'Jug',
          'meta.size.cmSum': 64,
        },
      ],
      hasMore: false,
    });
  });

  it('aggregates groups of the matching rows, ordered by their keys or by orderBy', async () => {
    const table = await newTable();
    const group = { price: 'key', name: ['count', 'max'] };

    const all = await client.findTableRows({ table, group });
    const largest = await client.findTableRows({
      table,
      group,
      orderBy: 'nameCount',
      orderDirection: 'desc',
      limit: 1,
    });
    const some = await client.findTableRows({ table, group: { sold: 'key' }, filter: { price: 20 } });
    const none = await client.findTableRows({ table, group: { price: 'sum', id: 'count' }, filter: { price: 0 } });

    expect(all.rows).toMatchObject([
      { id: 1, priceKey: 3.5, nameCount: 1, nameMax: 'cup' },
      { id: 2, priceKey: 20, nameCount: 2, nameMax: 'pot' },
      { id: 3, priceKey: null, nameCount: 1, nameMax: 'tray' },
    ]);
    expect(largest).toMatchObject({ rows: [{ priceKey: 20 }], hasMore: true });
    expect(some.rows).toMatchObject([{ soldKey: false }]);
    expect(none.rows).toMatchObject([{ priceSum: null, idCount: 0 }]);
  });

  it.each<[Query, string]>([
    [{ filter: { colour: 'red' } }, `filter.colour is not a column of this table. Columns: ${columnNames}.`],
    [{ filter: { $nor: [{}] } }, 'filter.$nor is not a known operator: use $and, $or or $not.'],
    [{ filter: { price: { $gt: 'a' } } }, 'filter.price.$gt must be a number.'],
    [{ filter: { price: '3.5' } }, 'filter.price must be a number.'],
    [{ filter: { price: { $gt: null } } }, 'filter.price.$gt must be a number.'],
    [
      { filter: { price: { $gt: 1, max: 2 } } },
      'filter.price.max is not an operator: operators and fields cannot be mixed.',
    ],
    [
      { filter: { price: { $near: 1 } } },
      'filter.price.$near is not one of $eq, $ne, $gt, $gte, $lt, $lte, $in, $nin, $exists, $mod, $size, $regex, $not.',
    ],
    [{ filter: { sold: { $gt: false } } }, 'filter.sold.$gt is not supported for a column of type boolean.'],
    [{ filter: { when: 'yesterday' } }, 'filter.when must be a date, or a date and time such as 2025-01-31T12:00:00Z.'],
    [
      { filter: { when: '0000-01-01' } },
      'filter.when must be a date, or a date and time such as 2025-01-31T12:00:00Z.',
    ],
    [
      { filter: { createdAt: { $gt: '2024-02-30' } } },
      'filter.createdAt.$gt must be a date, or a date and time such as 2025-01-31T12:00:00Z.',
    ],
    [
      { filter: { $and: [{ name: 'a' }, { $or: [] }] } },
      'filter.$and.1.$or must be an array with at least one filter.',
    ],
    [{ filter: { $not: [] } }, 'filter.$not must be an object.'],
    [{ filter: { name: { $in: 'a' } } }, 'filter.name.$in must be an array.'],
    [{ filter: { name: { $in: [1] } } }, 'filter.name.$in must be a string.'],
    [{ filter: { name: { $exists: 1 } } }, 'filter.name.$exists must be a boolean.'],
    [
      { filter: { price: { $mod: [0, 1] } } },
      'filter.price.$mod must be a divisor other than 0 and a remainder, both integers.',
    ],
    [{ filter: { name: { $size: 1 } } }, 'filter.name.$size is not supported for a column of type string.'],
    [{ filter: { tags: { $size: -1 } } }, 'filter.tags.$size must be an integer of at least 0.'],
    [{ filter: { id: { $regex: '1' } } }, 'filter.id.$regex is not supported for the id.'],
    [{ filter: { name: { $options: 'i' } } }, 'filter.name.$options is allowed only next to $regex.'],
    [
      { filter: { name: { $regex: 'a', $options: 'x' } } },
      'filter.name.$options must be "i", which ignores case, or "c", which does not.',
    ],
    [
      { filter: { name: { $regex: '(' } } },
      'filter.name.$regex: invalid regular expression: parentheses () not balanced.',
    ],
    [
      { filter: { name: { $regex: '((a{1,100}){1,100}){1,100}' } } },
      // Rejected by Postgres, or by the time limit on a slow machine.
      expect.stringMatching(
        /^filter\.name\.\$regex: (invalid regular expression: regular|the) expression is too complex\.$/,
      ) as string,
    ],
    ...['(a{1,200}){1,200}', '(.{1,190}){1,190}', '(x|(a{1,200}){1,200})\\1'].map((expression): [Query, string] => [
      { filter: { name: { $regex: expression, $options: 'i' } } },
      expect.stringMatching(/^filter\.name\.\$regex: .+\.$/) as string,
    ]),
    [{ filter: { name: { $regex: 'a'.repeat(251) } } }, 'filter.name.$regex must be at most 250 characters.'],
    [{ filter: { 'price.cents': 1 } }, `filter.price.cents is not a column of this table. Columns: ${columnNames}.`],
    [{ filter: { meta: 'a' } }, 'filter.meta must be an object.'],
    [{ orderBy: 'colour' }, `orderBy "colour" is not a column of this table. Columns: ${columnNames}.`],
    [{ group: {} }, 'group must name at least one column.'],
    [{ group: { colour: 'key' } }, `group.colour is not a column of this table. Columns: ${columnNames}.`],
    [{ group: { price: 'median' } }, 'group.price must be one or more of key, count, sum, avg, max, min, unique.'],
    [{ group: { name: 'sum' } }, 'group.name: sum needs a column of type number.'],
    [{ group: { sold: 'max' } }, 'group.sold: max needs a column of numbers, texts or times.'],
    [
      { group: { price: ['key', 'sum'] }, orderBy: 'name' },
      'orderBy must be a column of the answer: one of priceKey, priceSum.',
    ],
    [{ search: 'tea', group: { name: 'key' } }, 'search and group cannot be combined: omit one of them.'],
  ])('refuses the query %j', async (query, message) => {
    const table = await newTable([]);

    await expect(client.findTableRows({ table, ...query })).rejects.toMatchObject({ type: 'InvalidPayload', message });
  });

  it('refuses an expression in a filter that is too complex for the text of a row', async () => {
    const table = await newTable([{ name: 'aaxy' }]);
    const tooComplex = { name: { $regex: 'x(?<=(a{1,200}){1,200}x)y' } };
    const refusal = (message: RegExp) => ({
      type: 'InvalidPayload',
      message: expect.stringMatching(message) as string,
    });
    const alone = refusal(/^filter\.name\.\$regex: .+\.$/);

    await expect(client.findTableRows({ table, filter: tooComplex })).rejects.toMatchObject(alone);
    await expect(client.findTableRows({ table, filter: tooComplex, group: { name: 'key' } })).rejects.toMatchObject(
      alone,
    );
    await expect(client.deleteTableRows({ table, filter: tooComplex })).rejects.toMatchObject(alone);
    await expect(
      client.findTableRows({ table, filter: { $or: [{ name: { $regex: '^b' } }, { $not: tooComplex }] } }),
    ).rejects.toMatchObject(refusal(/^One of filter\.\$or\.0\.name\.\$regex, filter\.\$or\.1\.\$not\.name\.\$regex: /));
  });

  it.each([
    ['filters within filters', nested(11, { name: 'a' }), /is nested more than 10 levels deep/],
    ['conditions on one column', { name: nested(10, { $eq: 'a' }) }, /is nested more than 10 levels deep/],
    ['a value of many levels', { tags: { $eq: deep(30) } }, /filter.tags.\$eq is nested more than 20 levels deep/],
    ['conditions', { $or: Array.from({ length: 101 }, () => ({ name: 'a' })) }, /exceeds the limit of 100 conditions/],
    [
      'values',
      { price: { $in: Array.from({ length: 1001 }, (_entry, index) => index) } },
      /exceeds the limit of 1000 values/,
    ],
    [
      'expressions',
      { $or: Array.from({ length: 11 }, () => ({ name: { $regex: 'a' } })) },
      /exceeds the limit of 10 regular/,
    ],
    ['bytes', { name: 'a'.repeat(140_000) }, /filter must be at most/],
  ])('refuses a filter with too many or too deep: %s', async (_what, filter, message) => {
    const table = await newTable([]);

    await expect(client.findTableRows({ table, filter })).rejects.toMatchObject({
      type: 'InvalidPayload',
      message: expect.stringMatching(message),
    });
  });

  it.each(["name' OR true --", '"; DROP TABLE row; --', '$1', '__proto__', 'constructor', ''])(
    'treats %j in a query as a name or a text only',
    async (text) => {
      const table = await newTable([...goods, { name: text }]);
      const bodies = [{ filter: { [text]: 1 } }, { orderBy: text }, { group: { [text]: 'key' } }];

      // Sent without the client, which drops names such as `__proto__`.
      for (const body of bodies) expect(await send(table, body)).toMatchObject({ type: 'InvalidPayload' });
      for (const filter of [{ name: text }, { name: { $in: [text] } }, { name: { $gte: text, $lte: text } }])
        expect(await names(table, { filter })).toEqual([text]);
      expect(await send(table, { filter: { [`meta.${text}.x`]: { $exists: true } } })).not.toHaveProperty('rows.0');
      expect(await names(table, { filter: { 'meta.a': text } })).toEqual([]);
      expect(await names(table, { select: ['name', text], limit: 1 })).toEqual(['cup']);
    },
  );

  it.each(['{"price":1e400}', '{"price":{"$gt":-1e400}}', '{"meta.size":{"$in":[{"cm":1e400}]}}'])(
    'refuses a number in a filter that is too large: %s',
    async (filter) => {
      const table = await newTable();

      expect(await send(table, `{"filter":${filter}}`)).toMatchObject({
        type: 'InvalidPayload',
        message: expect.stringMatching(/^filter\..* must be a number up to/),
      });
    },
  );

  it('does not find rows of tables of another bot, even with the same name', async () => {
    const table = await newTable();
    const other = await newBot();

    await expect(other.findTableRows({ table })).rejects.toMatchObject({ type: 'ResourceNotFound' });

    await other.createTable({ name: table, schema: { type: 'object', properties } });
    expect((await other.findTableRows({ table, filter: { name: 'cup' } })).rows).toEqual([]);
    expect((await other.findTableRows({ table, group: { id: 'count' } })).rows).toMatchObject([{ idCount: 0 }]);
  });

  it('cuts a page of rows at 16 MB and names the offset of the rest', async () => {
    const table = `Goods${++number}Table`;
    await client.createTable({ name: table, factor: 30, schema: { text: { type: 'string' } } });
    await client.createTableRows({ table, rows: [{ text: 'x' }] });
    await api.sql(
      `INSERT INTO tables.row (table_number, id, data)
       SELECT table_number, place, jsonb_build_object(text.key, place || repeat('x', 100000))
       FROM tables.row JOIN tables."table" ON number = table_number, jsonb_object_keys(data) AS text (key),
         generate_series(2, 200) AS place
       WHERE "table".name = $1`,
      [table],
    );

    for (const query of [{}, { orderBy: 'id', filter: { id: { $gt: 0 } } }, { group: { text: 'key' } }]) {
      const first = await client.findTableRows({ table, limit: 1000, ...query });
      const rest = await client.findTableRows({ table, limit: 1000, offset: first.rows.length, ...query });

      expect(first).toMatchObject({
        hasMore: true,
        warnings: [`The page ends before limit, at 16 MB: request the rest with offset ${first.rows.length}.`],
      });
      expect(rest).toMatchObject({ hasMore: false });
      expect(rest).not.toHaveProperty('warnings');
      expect(JSON.stringify(first.rows).length).toBeGreaterThan(15_000_000);
      expect(JSON.stringify(first.rows).length).toBeLessThan(16_500_000);
      const texts = [...first.rows, ...rest.rows].map(({ text, textKey }) => String(text ?? textKey));
      expect(new Set(texts).size).toBe(200);
    }
  });

  it('warns where a sum exceeds the range of a number', async () => {
    const table = await newTable([{ price: 1.7e308 }, { price: 1.7e308 }]);

    const { rows, warnings } = await client.findTableRows({ table, group: { price: ['sum', 'max'] } });

    expect(rows).toMatchObject([{ priceSum: null, priceMax: 1.7e308 }]);
    expect(warnings).toEqual(['priceSum is null where its value exceeds the range of a number.']);
  });

  it('reads rows again when the table changes during the query', async () => {
    const table = await newTable(goods, { keyColumn: 'name' });
    await names(table, {});
    await api.sql('BEGIN; LOCK TABLE tables.row');

    const found = names(table, { filter: { name: 'pot' } });
    await waitFor(() => blockedSessions({ query: api.sql }));
    await removeKeyColumn(table);

    expect(await found).toEqual(['pot']);
  });

  it('suggests how to narrow the filter when the query times out', async () => {
    const table = await newTable(goods, { keyColumn: 'name' });
    await api.sql('BEGIN; LOCK TABLE tables.row');

    const answers = [
      { filter: { price: 20 } },
      { orderBy: 'price' },
      { group: { price: 'sum' } },
      { filter: { id: 1, name: { $regex: 'c' } } },
    ].map((query) => client.findTableRows({ table, ...query }).catch((error: unknown) => error));

    for (const error of await Promise.all(answers))
      expect(error).toMatchObject({
        type: 'OperationTimeout',
        message: expect.stringMatching(/^Finding these rows took more than 2 s. Narrow the filter/),
      });
    await api.sql('ROLLBACK');
    expect(await names(table, { filter: { price: 20 } })).toEqual(['pot', 'Jug']);
  });
});

/** Simulates another process. */
async function removeKeyColumn(table: string): Promise<void> {
  const [{ number } = {}] = await api.sql(
    'UPDATE tables."table" SET key_column = NULL WHERE name = $1 RETURNING number',
    [table],
  );
  await api.sql('UPDATE tables.row SET key = NULL WHERE table_number = $1', [number]);
  await api.sql('UPDATE tables.table_state SET version = version + 1 WHERE number = $1', [number]);
  await api.sql('COMMIT');
}

async function send(table: string, body: object | string): Promise<unknown> {
  const headers = { authorization: `Bearer ${alice.token}`, 'x-bot-id': botId, 'content-type': 'application/json' };
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return (await api.send(`POST /v1/tables/${table}/rows/find`, { headers, body: text })).json;
}

function nested(depth: number, filter: object): object {
  return depth === 0 ? filter : { $not: nested(depth - 1, filter) };
}

function deep(depth: number): unknown {
  return depth === 0 ? 'a' : [deep(depth - 1)];
}

describe('a table that another process has changed', () => {
  const table = 'ChangedTable';
  let others: Client;

  beforeAll(async () => {
    others = await newBot();
    await others.createTable({ name: table, schema: { type: 'object', properties: { sku: { type: 'string' } } } });
    await others.createTableRows({ table, rows: [{ sku: 'a1' }] });
  });

  const row = expect.objectContaining({ id: 1, stockNumber: 'a1' }) as object;

  it('reads a table that another process has changed by its new columns, by id and as a page', async () => {
    await others.findTableRows({ table });
    await api.sql(
      `WITH changed AS (
         UPDATE tables."table" SET schema = replace(schema::text, '"sku"', '"stockNumber"')::jsonb WHERE name = $1
         RETURNING number)
       UPDATE tables.table_state SET version = version + 1 FROM changed WHERE table_state.number = changed.number`,
      [table],
    );

    expect((await others.getTableRow({ table, id: 1 })).row).toEqual(row);
    expect((await others.findTableRows({ table })).rows).toEqual([row]);
  });

  it('returns 404 for a table that another process has deleted, although its rows still exist', async () => {
    await others.findTableRows({ table });
    await api.sql(
      `WITH gone AS (DELETE FROM tables."table" WHERE name = $1 RETURNING number)
       DELETE FROM tables.table_state USING gone WHERE table_state.number = gone.number`,
      [table],
    );

    await expect(others.getTableRow({ table, id: 1 })).rejects.toMatchObject({ type: 'ResourceNotFound' });
    await expect(others.findTableRows({ table })).rejects.toMatchObject({ type: 'ResourceNotFound' });
  });
});
