import type { Client } from '@botpress/client';
import { CompletionServer, textOf } from '@parley/testing/completion-server';
import { joinService } from '@parley/testing/joined-service';
import { type Account, configured, type PublicApi, startPublicApi } from '@parley/testing/public-api';
import { waitFor } from '@parley/testing/wait-for';
import { AdminModule } from '../../../admin/src/admin.module';
import { GatewayModule } from '../../../gateway/src/gateway.module';
import { ModelsConfig } from '../../../models/src/config';
import { ModelsModule } from '../../../models/src/models.module';
import { TablesConfig } from '../config';
import { TablesModule } from '../tables.module';

let models: CompletionServer;
let api: PublicApi;
let alice: Account;
let client: Client;
/** The service that asks the model server. */
let asking: { stop(): Promise<void> };

function startModels() {
  // Longer than any test delays an answer.
  const settings = { completionsUrl: models.url, completionsTimeoutMs: 3_000 };
  return joinService(api, 'models', (platform) =>
    ModelsModule.register(Object.assign(new ModelsConfig(), api.settings, settings), platform),
  );
}

beforeAll(async () => {
  models = await CompletionServer.start(['small']);
  api = await startPublicApi(GatewayModule, AdminModule, configured(TablesModule, TablesConfig));
  asking = await startModels();
  alice = await api.newAccount();
  const { bot } = await alice.client.createBot({});
  client = api.client(alice.token, alice.workspaceId, bot.id);
});

afterAll(async () => {
  await asking?.stop();
  await api?.stop();
  await models?.stop();
});

const code = (text: string, dependencies: string[] = [], more: object = {}) => ({
  'x-zui': { computed: { action: 'code', code: text, dependencies, ...more } },
});
const price = { type: 'number' };
const total = { type: 'number', ...code('row.price * row.count', ['price', 'count']) };
const label = { type: 'string', ...code('row.total === null ? null : `${row.total} EUR`', ['total']) };

let number = 0;
async function newTable(properties: object, options: { isComputeEnabled?: boolean } = {}): Promise<string> {
  const name = `Computed${++number}Table`;
  await client.createTable({ name, schema: { type: 'object', properties }, ...options });
  return name;
}

function settled(table: string, id: number) {
  return waitFor(
    async () => (await client.getTableRow({ table, id })).row,
    ({ stale }) => stale === undefined,
    20_000,
  );
}

async function settledRow(table: string, row: object) {
  const { rows } = await client.createTableRows({ table, rows: [row] });
  return settled(table, rows[0]!.id);
}

const done = { status: 'computed', updatedAt: expect.any(String) as string };

describe('code', () => {
  it('computes code columns after the insert, which does not wait, in dependency order', async () => {
    const table = await newTable({ label, price, count: price, total });

    const { rows } = await client.createTableRows({ table, rows: [{ price: 2.5, count: 4 }, { price: 1 }] });

    expect(rows[0]).toMatchObject({ total: null, label: null, stale: ['label', 'total'] });
    expect(rows[0]!.computed).toEqual({ label: { status: 'pending' }, total: { status: 'pending' } });
    expect(await settled(table, 1)).toMatchObject({
      total: 10,
      label: '10 EUR',
      computed: { total: done, label: done },
    });
    expect(await settled(table, 2)).toMatchObject({ total: 0, label: '0 EUR' });
    expect(await client.getTable({ table })).toMatchObject({ rows: 2, stale: 0 });
  });

  it('computes a code column again only when a column that it depends on changes', async () => {
    const table = await newTable({ price, count: price, note: { type: 'string' }, total, label });
    const before = await settledRow(table, { price: 2, count: 3 });

    const noted = await client.updateTableRows({ table, rows: [{ id: before.id, note: 'x' }] });
    const { rows } = await client.updateTableRows({ table, rows: [{ id: before.id, price: 5 }] });

    expect(noted.rows[0]).toMatchObject({ computed: before.computed });
    expect(noted.rows[0]!.stale).toBeUndefined();
    expect(rows[0]).toMatchObject({ total: 6, stale: ['total', 'label'] });
    expect(await settled(table, before.id)).toMatchObject({ total: 15, label: '15 EUR', note: 'x' });
  });

  it('computes a code column again in every row when its definition changes', async () => {
    const table = await newTable({ price, count: price, total });
    await client.createTableRows({ table, rows: Array.from({ length: 150 }, (_, i) => ({ price: i, count: 2 })) });
    await settled(table, 150);

    const changed = { type: 'number', ...code('row.price + row.count', ['price', 'count']) };
    await client.updateTable({ table, schema: { properties: { total: changed } } });

    const { rows } = await waitFor(
      () => client.findTableRows({ table, limit: 200 }),
      ({ rows }) => rows.every(({ stale }) => !stale),
      20_000,
    );
    expect(rows.map((row) => row.total)).toEqual(Array.from({ length: 150 }, (_, i) => i + 2));
  });

  it('rejects code with a syntax error when it is declared', async () => {
    const broken = { properties: { price, total: { type: 'number', ...code('const a = 1;\nreturn a +* row.price') } } };
    const unended = { properties: { price, total: { type: 'number', ...code('row.price *') } } };
    const refusal = (problem: string) => ({
      type: 'InvalidJsonSchema',
      message: `schema: column total.x-zui.computed.code cannot be read. ${problem}.`,
    });
    const table = await newTable({ price, count: price, total });

    await expect(client.createTable({ name: 'BrokenTable', schema: broken })).rejects.toMatchObject(
      refusal("Error in line 2: unexpected token in expression: '*'"),
    );
    for (const ask of [
      () => client.getOrCreateTable({ table: 'BrokenTable', schema: unended }),
      () => client.updateTable({ table, schema: unended }),
    ]) {
      await expect(ask()).rejects.toMatchObject(refusal('Error in line 1: the code ends too early'));
    }
    expect((await client.getTable({ table })).table.schema.properties).toMatchObject({ total });
    await expect(client.getTable({ table: 'BrokenTable' })).rejects.toMatchObject({ type: 'ResourceNotFound' });
  });

  it.each([
    ['nothing.price', 'Error in line 1: nothing is not defined'],
    ['"text"', 'The result does not fit the column: total must be number.'],
    ['"x".repeat(5000)', 'The result does not fit'],
    ['for (;;);', 'The code took longer than 250 ms.'],
  ])('fails the code %j with the reason and leaves no value', async (text, error) => {
    const table = await newTable({ price, total: { type: 'number', ...code(text) } });

    const row = await settledRow(table, { price: 1 });

    expect(row.total).toBeNull();
    expect(row.computed['total']).toEqual({
      status: 'failed',
      error: expect.stringContaining(error) as string,
      updatedAt: expect.any(String) as string,
    });
  });

  it('computes other rows when the code fails for one', async () => {
    const table = await newTable({
      price,
      total: { type: 'number', ...code('if (row.price === 1) for (;;);\nreturn 7') },
    });

    await client.createTableRows({ table, rows: [{ price: 1 }, { price: 2 }] });

    expect((await settled(table, 1)).computed['total']).toMatchObject({ status: 'failed' });
    expect(await settled(table, 2)).toMatchObject({ total: 7, computed: { total: done } });
  });

  it('does not compute code while its column or table is disabled, and does once it is enabled again', async () => {
    const table = await newTable(
      { price, total: { type: 'number', ...code('row.price') } },
      { isComputeEnabled: false },
    );
    const one = await newTable({ price, total: { type: 'number', ...code('row.price', [], { enabled: false }) } });

    const { rows } = await client.createTableRows({ table, rows: [{ price: 3 }] });
    const { rows: others } = await client.createTableRows({ table: one, rows: [{ price: 3 }] });
    expect([...rows, ...others]).toMatchObject([
      { total: null, computed: {} },
      { total: null, computed: {} },
    ]);
    await client.updateTable({ table, isComputeEnabled: true });
    await client.updateTable({
      table: one,
      schema: { properties: { total: { type: 'number', ...code('row.price', [], { enabled: true }) } } },
    });

    for (const name of [table, one])
      await waitFor(
        async () => (await client.getTableRow({ table: name, id: 1 })).row,
        (row) => row.total === 3,
        20_000,
      );
  });
});

describe('waitComputed', () => {
  it('returns a single row with its columns computed for waitComputed', async () => {
    const table = await newTable({ price, count: price, total, label });

    const created = await client.createTableRows({ table, rows: [{ price: 2, count: 2 }], waitComputed: true });
    const updated = await client.updateTableRows({ table, rows: [{ id: 1, count: 3 }], waitComputed: true });
    const upserted = await client.upsertTableRows({ table, rows: [{ id: 1, count: 4 }], waitComputed: true });

    expect(created.rows).toMatchObject([{ total: 4, label: '4 EUR', computed: { total: done, label: done } }]);
    expect(updated.rows).toMatchObject([{ total: 6, label: '6 EUR' }]);
    expect(upserted.updated).toMatchObject([{ total: 8, label: '8 EUR' }]);
    for (const answer of [created.rows, updated.rows, upserted.updated]) expect(answer[0]!.stale).toBeUndefined();
    expect(created.warnings).toBeUndefined();
  });

  it('ignores waitComputed with a warning for several rows', async () => {
    const table = await newTable({ price, count: price, total });

    const { rows, warnings } = await client.createTableRows({
      table,
      rows: [{ price: 2, count: 2 }, {}],
      waitComputed: true,
    });

    expect(warnings).toEqual([expect.stringContaining('waitComputed')]);
    expect(rows).toMatchObject([{ stale: ['total'] }, { stale: ['total'] }]);
  });

  it('returns from waitComputed after a timeout while the completion server is busy', async () => {
    const table = await newTable({ price, text: ai('what is this?') });
    // Enough for the request and for the worker, in either order.
    const busy = { status: 503, message: 'busy', headers: { 'retry-after': '1' } };
    models.order(busy, busy, busy);

    const { rows } = await client.createTableRows({ table, rows: [{ price: 2 }], waitComputed: true });

    expect(rows).toMatchObject([{ text: null, stale: ['text'] }]);
    expect((await settled(table, 1)).text).toMatch(/^answer to/);
  });
});

it('returns the stored row when its columns cannot be computed now', async () => {
  const table = await newTable({ price, count: price, total });
  await api.sql(`CREATE FUNCTION tables.broken() RETURNS trigger LANGUAGE plpgsql AS
    'BEGIN RAISE EXCEPTION ''broken''; END'`);
  await api.sql(`CREATE TRIGGER broken BEFORE UPDATE ON tables.row FOR EACH ROW EXECUTE FUNCTION tables.broken()`);

  const { rows } = await client.createTableRows({ table, rows: [{ price: 2, count: 2 }], waitComputed: true });
  await api.sql('DROP FUNCTION tables.broken CASCADE');

  expect(rows).toMatchObject([{ price: 2, total: null, stale: ['total'] }]);
  expect(await settled(table, 1)).toMatchObject({ total: 4 });
});

function ai(prompt: string, dependencies: string[] = [], type = 'string') {
  return { type, 'x-zui': { computed: { action: 'ai', prompt, dependencies, model: 'small' } } };
}

describe('ai', () => {
  it('sends the model the prompt and only the columns that the column depends on', async () => {
    const table = await newTable({ price, secret: price, text: ai('Is it dear?', ['price']) });
    models.order({ text: 'Yes, it is.' });

    const row = await settledRow(table, { price: 77, secret: 88 });

    expect(row).toMatchObject({ text: 'Yes, it is.', computed: { text: done } });
    const request = models.requests.find((asked) => textOf(asked).includes('77'))!;
    expect(request.model).toBe('small');
    expect(textOf(request)).toMatch(/^Is it dear\?\s+\{"price":77\}$/);
  });

  it.each([
    ['number', '42', 42],
    ['boolean', 'true', true],
    ['object', '```json\n{"a":1}\n```', { a: 1 }],
    ['array', '[1,2]', [1, 2]],
    ['array', '```\n[1,2]\n```', [1, 2]],
  ])('parses an answer of the model of the type %s', async (type, text, value) => {
    const table = await newTable({ price, answer: ai('?', ['price'], type) });
    models.order({ text });

    expect((await settledRow(table, { price: 1 })).answer).toEqual(value);
  });

  it.each([
    [{ text: 'dear' }, 'not JSON: dear'],
    [{ text: '['.repeat(5_000) + ']'.repeat(5_000) }, 'The result is nested deeper than 20 levels.'],
    [{ text: '```' + ' \n'.repeat(200_000) + 'x' }, 'not JSON: ```'],
    [{ text: '"dear"' }, 'The result does not fit the column: answer must be number.'],
    [{ status: 400, message: 'too long' }, 'The provider "default" answered 400: too long.'],
  ])('fails an AI column with the reason after %j', async (order, error) => {
    const table = await newTable({ price, answer: ai('?', ['price'], 'number') });
    models.order(order);

    const row = await settledRow(table, { price: 1 });

    expect(row.computed['answer']).toMatchObject({ status: 'failed', error: expect.stringContaining(error) as string });
  });

  it('reads an answer of the model of 100,000 blanks in linear time', async () => {
    const table = await newTable({ price, answer: ai('?', ['price'], 'number') });
    models.order({ text: `\`\`\`${' '.repeat(100_000)}x` });

    const row = await settledRow(table, { price: 1 });

    expect(row.computed['answer']).toMatchObject({ error: expect.stringContaining('not JSON') as string });
  });

  it('requests an AI column again when the row changes before the answer arrives', async () => {
    const table = await newTable({ price, answer: ai('?', ['price']) });
    let release = () => undefined as void;
    const after = new Promise<void>((resolve) => (release = resolve));
    models.order({ text: 'of the former price', after }, { text: 'of the present price' });
    const asked = models.requests.length;
    await client.createTableRows({ table, rows: [{ price: 1 }] });
    await waitFor(() => models.requests.length > asked);

    await client.updateTableRows({ table, rows: [{ id: 1, price: 2 }] });
    release();

    expect(await settled(table, 1)).toMatchObject({ price: 2, answer: 'of the present price' });
  });

  it('retries an AI column when the server is busy, silent or rejects the key, without blocking tables', async () => {
    const table = await newTable({ price, answer: ai('?', ['price'], 'number') });
    const other = await newTable({ price, count: price, total });
    const busy = { status: 429, message: 'slow down', headers: { 'retry-after': '1' } };
    models.order(busy, 'never', { status: 401, message: 'no such key' }, { text: '5' });

    const { rows } = await client.createTableRows({ table, rows: [{ price: 1 }] });

    expect(await settledRow(other, { price: 2, count: 2 })).toMatchObject({ total: 4 });
    expect(await settled(table, rows[0]!.id)).toMatchObject({ answer: 5 });
  });
});

describe('a language model that does not answer', () => {
  const answers = { price, answer: ai('?', ['price'], 'number') };

  it('delays tables with columns of the action ai only', async () => {
    let answer = () => undefined as void;
    const after = new Promise<void>((resolve) => (answer = resolve));
    const slow = await Promise.all([1, 2, 3].map(() => newTable(answers)));
    const other = await newTable({ price, count: price, total });
    models.order(...slow.map(() => ({ text: '5', after })));
    const asked = models.requests.length;
    for (const table of slow) await client.createTableRows({ table, rows: [{ price: 1 }] });
    await waitFor(() => models.requests.length === asked + 2);

    expect(await settledRow(other, { price: 2, count: 2 })).toMatchObject({ total: 4 });

    answer();
    for (const table of slow) expect(await settled(table, 1)).toMatchObject({ answer: 5 });
  });

  it('fails the cell after five pauses in a row of the completion server', async () => {
    const table = await newTable(answers);
    const failure = { status: 503, message: 'out of order' };
    models.order(...Array.from({ length: 6 }, () => failure));

    await client.createTableRows({ table, rows: [{ price: 1 }] });
    for (let pauses = 1; pauses <= 5; pauses++) {
      await waitFor(
        () =>
          api.sql(`UPDATE tables.work SET due_at = now() WHERE state = 'waiting' AND attempts = $1 RETURNING 1`, [
            pauses,
          ]),
        (waiting) => waiting.length === 1,
      );
    }

    const row = await settled(table, 1);
    expect(row.computed['answer']).toMatchObject({
      status: 'failed',
      error: expect.stringContaining('did not answer after several attempts') as string,
    });
  });
});

describe('models', () => {
  const answers = { price, answer: ai('?', ['price'], 'number') };

  it('computes columns once the models service is back, however long it was away', async () => {
    const table = await newTable(answers);
    await asking.stop();
    await client.createTableRows({ table, rows: [{ price: 1 }] });
    const retried = () =>
      api.sql<{ attempts: number }>(
        `SELECT attempts FROM tables.work WHERE state = 'waiting' AND last_error LIKE 'No service instance%'`,
      );
    for (let tries = 0; tries < 7; tries++) {
      expect(await waitFor(retried, (waiting) => waiting.length === 1)).toEqual([{ attempts: 0 }]);
      await api.sql(`UPDATE tables.work SET due_at = now(), last_error = NULL WHERE state = 'waiting'`);
    }
    models.order({ text: '5' });

    asking = await startModels();

    expect(await settled(table, 1)).toMatchObject({ answer: 5 });
  });

  it('lets the workspace of the bot pay, also after a transfer', async () => {
    const other = await api.newAccount();
    await api.addMember(other.workspaceId, alice.accountId, 'owner');
    const { bot } = await alice.client.createBot({});
    const here = api.client(alice.token, alice.workspaceId, bot.id);
    const there = api.client(alice.token, other.workspaceId, bot.id);
    const { table } = await here.createTable({ name: 'MovedTable', schema: { type: 'object', properties: answers } });
    const insert = (by: Client) => by.createTableRows({ table: table.id, rows: [{ price: 1 }], waitComputed: true });
    models.order({ text: '1' }, { text: '2' });
    await insert(here);

    await alice.client.transferBot({ id: bot.id, targetWorkspaceId: other.workspaceId });
    await waitFor(
      () => api.sql('SELECT 1 FROM tables.bot_home WHERE workspace_id = $1', [other.workspaceId]),
      (homes) => homes.length === 1,
    );
    await insert(there);

    const calls = 'SELECT kind, workspace_id FROM models.model_call WHERE bot_id = $1 ORDER BY created_at';
    expect(await api.sql(calls, [bot.id])).toEqual([
      { kind: 'computed-column', workspace_id: alice.workspaceId },
      { kind: 'computed-column', workspace_id: other.workspaceId },
    ]);
  });
});

describe('workflow', () => {
  it('fails a workflow column that names no workflow', async () => {
    const computed = { action: 'workflow' };
    const table = await newTable({ price, answer: { type: 'string', 'x-zui': { computed } } });

    const row = await settledRow(table, { price: 1 });

    expect(row.computed['answer']).toMatchObject({
      status: 'failed',
      error: 'The column names no workflow: set workflowId to the name of a workflow of the bot.',
    });
  });
});
