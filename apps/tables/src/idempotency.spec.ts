import { randomUUID } from 'node:crypto';
import {
  type Account,
  type TestResponse,
  configured,
  type PublicApi,
  startPublicApi,
} from '@parley/testing/public-api';
import { AdminModule } from '../../admin/src/admin.module';
import { GatewayModule } from '../../gateway/src/gateway.module';
import { TablesConfig } from './config';
import { TablesModule } from './tables.module';
import { holdWork } from './test/held-work';

let api: PublicApi;
let alice: Account;
let bot: string;
let otherBot: string;

beforeAll(async () => {
  api = await startPublicApi(GatewayModule, AdminModule, configured(TablesModule, TablesConfig));
  await holdWork(api);
  alice = await api.newAccount();
  [bot, otherBot] = (await Promise.all([alice.client.createBot({}), alice.client.createBot({})])).map(
    (created) => created.bot.id,
  ) as [string, string];
});

afterAll(() => api?.stop());

const schema = { type: 'object', properties: { name: { type: 'string' }, count: { type: 'number' } } };
let number = 0;
const newName = () => `Things${++number}Table`;

function send(key: string, line: string, json?: unknown, botId = bot): Promise<TestResponse> {
  return api.send(line, {
    headers: {
      authorization: `Bearer ${alice.token}`,
      'x-bot-id': botId,
      ...(key === '' ? {} : { 'idempotency-key': key }),
    },
    json,
  });
}

async function newTable(properties: object = schema.properties, options: object = {}): Promise<string> {
  const json = { name: newName(), schema: { type: 'object', properties }, ...options };
  const { status, text } = await send('', 'POST /v1/tables', json);
  if (status !== 200) throw new Error(text);
  return json.name;
}

async function rowsOf(table: string): Promise<Record<string, unknown>[]> {
  return (await send('', `POST /v1/tables/${table}/rows/find`, {})).json.rows;
}

async function tablesOf(botId: string): Promise<string[]> {
  const { json } = await api.send('GET /v1/tables', {
    headers: { authorization: `Bearer ${alice.token}`, 'x-bot-id': botId },
  });
  return (json.tables as { name: string }[]).map(({ name }) => name);
}

function expectReplayed(again: TestResponse, first: TestResponse): void {
  expect(first).toMatchObject({ status: 200 });
  expect(first.headers).not.toHaveProperty('idempotent-replayed');
  expect({ status: again.status, text: again.text }).toEqual({ status: first.status, text: first.text });
  expect(again.headers).toMatchObject({ 'idempotent-replayed': 'true' });
}

function refusal(status: number, type: string, message: RegExp) {
  return expect.objectContaining({
    status,
    json: expect.objectContaining({ code: status, type, message: expect.stringMatching(message) }),
  });
}

describe('rows sent again with the same idempotency key', () => {
  it('stores rows once that are sent again with the same idempotency key', async () => {
    const table = await newTable();
    const line = `POST /v1/tables/${table}/rows`;
    const json = { rows: [{ name: 'b', count: 1 }, { count: 2, name: 'a' }, { name: 7 }] };
    const key = randomUUID();

    const first = await send(key, line, json);
    const again = await send(key, line, json);

    expect(first.json).toMatchObject({ rows: [{ id: 1 }, { id: 2 }], errors: [expect.stringContaining('Row 2')] });
    expectReplayed(again, first);
    expect(await rowsOf(table)).toHaveLength(2);
  });

  it('stores rows once when ten requests with one idempotency key arrive at the same time', async () => {
    const table = await newTable();
    const key = randomUUID();

    const answers = await Promise.all(
      Array.from({ length: 10 }, () => send(key, `POST /v1/tables/${table}/rows`, { rows: [{ name: 'a' }] })),
    );

    const served = answers.filter(({ status }) => status === 200);
    expect(new Set(served.map(({ text }) => text)).size).toBe(1);
    expect(served.filter(({ headers }) => !headers['idempotent-replayed'])).toHaveLength(1);
    answers
      .filter(({ status }) => status !== 200)
      .forEach((answer) => expect(answer).toEqual(refusal(409, 'ResourceLockedConflict', /still being processed/)));
    expect(await rowsOf(table)).toHaveLength(1);
  });

  it('stores rows with the same idempotency key for each of two bots', async () => {
    const name = newName();
    for (const botId of [bot, otherBot]) await send('', 'POST /v1/tables', { name, schema }, botId);
    const key = randomUUID();

    const [first, second] = [
      await send(key, `POST /v1/tables/${name}/rows`, { rows: [{ name: 'a' }] }),
      await send(key, `POST /v1/tables/${name}/rows`, { rows: [{ name: 'b' }] }, otherBot),
    ];

    expect(second.headers).not.toHaveProperty('idempotent-replayed');
    expect([first.json.rows[0].name, second.json.rows[0].name]).toEqual(['a', 'b']);
  });

  it('returns the same response to an idempotency key after the table has changed or is deleted', async () => {
    const table = await newTable();
    const line = `POST /v1/tables/${table}/rows`;
    const json = { rows: [{ name: 'a' }] };
    const key = randomUUID();
    const first = await send(key, line, json);
    await send('', `PUT /v1/tables/${table}`, { schema: { type: 'object', properties: { name: null } } });
    expectReplayed(await send(key, line, json), first);

    await send('', `DELETE /v1/tables/${table}`);

    expectReplayed(await send(key, line, json), first);
  });

  it('accepts a thousand rows with an idempotency key', async () => {
    const table = await newTable();
    const json = { rows: Array.from({ length: 1_000 }, (_, count) => ({ name: 'x'.repeat(1_000), count })) };
    const key = randomUUID();

    const first = await send(key, `POST /v1/tables/${table}/rows`, json);
    const again = await send(key, `POST /v1/tables/${table}/rows`, json);

    expectReplayed(again, first);
    expect(again.json.rows).toHaveLength(1_000);
  });

  it('returns the values computed for the first request with an idempotency key', async () => {
    const total = {
      type: 'number',
      'x-zui': { computed: { action: 'code', code: 'row.count * 2', dependencies: ['count'] } },
    };
    const table = await newTable({ count: { type: 'number' }, total });
    const json = { rows: [{ count: 4 }], waitComputed: true };
    const key = randomUUID();

    const first = await send(key, `POST /v1/tables/${table}/rows`, json);
    await send('', `PUT /v1/tables/${table}/rows`, { rows: [{ id: 1, count: 100 }] });
    const again = await send(key, `POST /v1/tables/${table}/rows`, json);

    expect(first.json.rows).toMatchObject([{ count: 4, total: 8 }]);
    expectReplayed(again, first);
  });

  it('stores rows when the first request with their idempotency key failed', async () => {
    const name = newName();
    const key = randomUUID();
    const line = `POST /v1/tables/${name}/rows`;
    expect(await send(key, line, { rows: [{ name: 'a' }] })).toMatchObject({ status: 404 });
    await send('', 'POST /v1/tables', { name, schema });

    const answer = await send(key, line, { rows: [{ name: 'a' }] });

    expect(answer).toMatchObject({ status: 200, json: { rows: [{ id: 1 }] } });
    expect(answer.headers).not.toHaveProperty('idempotent-replayed');
  });

  it('inserts rows once for an upsert with an idempotency key', async () => {
    const table = await newTable();
    const json = { rows: [{ name: 'a' }] };
    const key = randomUUID();

    const first = await send(key, `POST /v1/tables/${table}/rows/upsert`, json);
    const again = await send(key, `POST /v1/tables/${table}/rows/upsert`, json);

    expect(first.json.inserted).toMatchObject([{ id: 1 }]);
    expectReplayed(again, first);
    expect(await rowsOf(table)).toHaveLength(1);
  });
});

describe('a table created again with the same idempotency key', () => {
  it('returns the response of the first request for a table instead of AlreadyExists', async () => {
    const json = { name: newName(), schema };
    const key = randomUUID();

    const first = await send(key, 'POST /v1/tables', json);
    const again = await send(key, 'POST /v1/tables', json);

    expectReplayed(again, first);
    expect(await send(randomUUID(), 'POST /v1/tables', json)).toEqual(
      refusal(409, 'AlreadyExists', /^Table ".*" already exists/),
    );
  });

  it('reports created: true again for a repeated getOrCreate of a table', async () => {
    const name = newName();
    const key = randomUUID();

    const first = await send(key, `POST /v1/tables/${name}`, { schema });
    const again = await send(key, `POST /v1/tables/${name}`, { schema });
    const another = await send(randomUUID(), `POST /v1/tables/${name}`, { schema });

    expect(first.json.created).toBe(true);
    expectReplayed(again, first);
    expect(another.json.created).toBe(false);
  });

  it('creates a table once for twenty getOrCreate requests with different idempotency keys', async () => {
    const name = newName();

    const answers = await Promise.all(
      Array.from({ length: 20 }, () => send(randomUUID(), `POST /v1/tables/${name}`, { schema })),
    );

    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    expect(answers.filter(({ json }) => json.created)).toHaveLength(1);
  });

  it('duplicates a table once for an idempotency key', async () => {
    const table = await newTable();
    const key = randomUUID();

    const first = await send(key, `POST /v1/tables/${table}/duplicate`, {});
    const again = await send(key, `POST /v1/tables/${table}/duplicate`, {});

    expectReplayed(again, first);
    expect((await tablesOf(bot)).filter((name) => name.startsWith(table.replace(/Table$/, '')))).toHaveLength(2);
  });
});

describe('a key', () => {
  it('returns InvalidPayload for an idempotency key with another body, and changes nothing', async () => {
    const table = await newTable();
    const line = `POST /v1/tables/${table}/rows`;
    const key = randomUUID();
    const first = await send(key, line, { rows: [{ name: 'a' }] });

    const other = await send(key, line, { rows: [{ name: 'b' }] });
    const elsewhere = await send(key, `POST /v1/tables/${await newTable()}/rows`, { rows: [{ name: 'a' }] });

    const refused = refusal(400, 'InvalidPayload', /^The Idempotency-Key was used for a different request\..*new key/);
    expect([other, elsewhere]).toEqual([refused, refused]);
    expectReplayed(await send(key, line, { rows: [{ name: 'a' }] }), first);
    expect(await rowsOf(table)).toHaveLength(1);
  });

  it('returns ResourceLockedConflict with Retry-After for the idempotency key of a request in progress', async () => {
    const table = await newTable();
    const key = randomUUID();
    await api.sql('BEGIN');
    await api.sql(`SELECT 1 FROM tables.table_state JOIN tables."table" USING (number) WHERE name = $1 FOR UPDATE`, [
      table,
    ]);

    const both = [1, 2].map(() => send(key, `POST /v1/tables/${table}/rows`, { rows: [{ name: 'a' }] }));
    const refused = await Promise.race(both);
    await api.sql('COMMIT');

    expect(refused).toEqual(refusal(409, 'ResourceLockedConflict', /Idempotency-Key is still being processed/));
    expect(refused.headers['retry-after']).toBe('1');
    expect((await Promise.all(both)).map(({ status }) => status).sort()).toEqual([200, 409]);
  });

  it.each(['x'.repeat(256), 'caf\u00e9'])(
    'returns InvalidPayload that names the header for the idempotency key %j',
    async (key) => {
      const answer = await send(key, 'POST /v1/tables', { name: newName(), schema });

      expect(answer).toEqual(
        refusal(400, 'InvalidPayload', /^The header Idempotency-Key must have 1 to 255 printable/),
      );
    },
  );

  it('ignores an idempotency key where nothing is created', async () => {
    const table = await newTable();

    const answer = await send('x'.repeat(256), `POST /v1/tables/${table}/rows/find`, {});

    expect(answer).toMatchObject({ status: 200 });
  });

  it('forgets an idempotency key after 24 hours', async () => {
    const table = await newTable();
    const key = randomUUID();
    await send(key, `POST /v1/tables/${table}/rows`, { rows: [{ name: 'a' }] });
    await api.sql(`UPDATE tables.idempotency_key SET created_at = now() - interval '25 hours' WHERE key = $1`, [key]);

    const answer = await send(key, `POST /v1/tables/${table}/rows`, { rows: [{ name: 'b' }] });

    expect(answer).toMatchObject({ status: 200, json: { rows: [{ id: 2, name: 'b' }] } });
  });
});
