import type { Client } from '@botpress/client';
import type { Consumer } from '@parley/contracts/operation';
import { computeRowsByBot, storeCellsOfBot } from '@parley/contracts/tables/computations';
import { json, type LoopbackRequest, LoopbackServer } from '@parley/testing/loopback-server';
import { type Account, configured, type PublicApi, startPublicApi } from '@parley/testing/public-api';
import { waitFor } from '@parley/testing/wait-for';
import { BackgroundTasks } from '@parley/work-queue/background-tasks.service';
import { AdminModule } from '../../../admin/src/admin.module';
import { ChatConfig } from '../../../chat/src/config';
import { ChatModule } from '../../../chat/src/chat.module';
import { GatewayModule } from '../../../gateway/src/gateway.module';
import { HubModule } from '../../../hub/src/hub.module';
import { TablesConfig } from '../../../tables/src/config';
import { TablesModule } from '../../../tables/src/tables.module';
import { RuntimeConfig } from '../config';
import { RuntimeModule } from '../runtime.module';

type Row = { id: number; [column: string]: unknown };
type Input = { tableId: string; botId: string; requests: { row: Row; columnsToRecompute: string[] }[] };
type Output = { isFinished: boolean; rows: Row[] };
type Answer = (input: Input) => Output | Promise<Output>;

const anything = { input: { schema: {} }, output: { schema: {} } };
const actions = { tablesRecomputeRows: anything };

let api: PublicApi;
let account: Account;
const servers: LoopbackServer[] = [];

beforeAll(async () => {
  api = await startPublicApi(
    GatewayModule,
    AdminModule,
    HubModule,
    configured(ChatModule, ChatConfig, { sweepIntervalMs: 100 }),
    configured(RuntimeModule, RuntimeConfig),
    configured(TablesModule, TablesConfig),
  );
  account = await api.newAccount();
});

afterAll(async () => {
  await api?.stop();
  await Promise.all(servers.map((server) => server.close()));
});

const inputOf = ({ body }: LoopbackRequest) => (body as { input: Input }).input;

/** Bot whose server answers the action like this; an error is answered with 500. */
async function newBot(answer: Answer, definition: Parameters<Client['createBot']>[0] = { actions }) {
  const server = await LoopbackServer.start(async (request, response) => {
    if (request.headers['x-bp-operation'] !== 'action_triggered') return json({})(request, response);
    const answered = await Promise.resolve(inputOf(request))
      .then(answer)
      .then((output) => json({ output }))
      .catch((error: Error) => json({ message: error.message }, 500));
    await answered(request, response);
  });
  servers.push(server);
  const { bot } = await account.client.createBot({ url: server.url, ...definition });
  if (definition.actions) await noted(bot.id);
  const client = api.client(account.token, account.workspaceId, bot.id);
  const calls = () =>
    server.requests.filter(({ headers: { 'x-bp-operation': kind } }) => kind === 'action_triggered').map(inputOf);
  return { id: bot.id, client, calls };
}

/** Waits until tables knows that the bot computes rows. */
async function noted(botId: string): Promise<void> {
  await waitFor(
    () => api.sql('SELECT 1 FROM tables.computing_bot WHERE bot_id = $1 AND computes_rows', [botId]),
    (rows) => rows.length === 1,
  );
}

const computedBy = (computed: object, type = 'number') => ({ type, 'x-zui': { computed } });
/** Refers to a constant that only the bundle has. */
const code = (...dependencies: string[]) => ({ action: 'code', code: '(row) => row.price * FACTOR', dependencies });
const price = { type: 'number' };
const gross = computedBy(code('price'));
const label = computedBy(code('gross'), 'string');

let tables = 0;
async function newTable({ client }: { client: Client }, properties: object): Promise<string> {
  const { table } = await client.createTable({ name: `Computed${++tables}Table`, schema: { properties } });
  return table.id;
}

const done = (value: unknown) => ({ status: 'computed', value });

/** As the action of published bots, with a factor of 2. */
const doubled = ({ requests }: Input): Output => ({
  isFinished: true,
  rows: requests.map(({ row, columnsToRecompute }) => ({
    id: row.id,
    ...Object.fromEntries(columnsToRecompute.map((name) => [name, done(valueOf(name, row))])),
  })),
});

function valueOf(name: string, row: Row): unknown {
  if (name !== 'gross') return `${Number(row['price']) * 2} EUR`;
  return Number(row['price']) * 2;
}

function settled({ client }: { client: Client }, table: string, id = 1) {
  return waitFor(
    async () => (await client.getTableRow({ table, id })).row as Row,
    ({ stale }) => stale === undefined,
    30_000,
  );
}

describe('code columns of a bot that defines tablesRecomputeRows', () => {
  it('computes rows of a table by the action of the bot, with columns that depend on each other in one call', async () => {
    const bot = await newBot(doubled);
    const table = await newTable(bot, { price, gross, label });

    const { rows } = await bot.client.createTableRows({ table, rows: [{ price: 3 }, { price: 4 }] });

    expect(rows[0]).toMatchObject({ gross: null, stale: ['gross', 'label'] });
    expect(await settled(bot, table, 1)).toMatchObject({
      gross: 6,
      label: '6 EUR',
      computed: { gross: { status: 'computed' } },
    });
    expect(await settled(bot, table, 2)).toMatchObject({ gross: 8, label: '8 EUR' });
    expect(bot.calls()).toEqual([
      {
        tableId: table,
        botId: bot.id,
        schema: expect.objectContaining({ type: 'object' }) as object,
        requests: [1, 2].map((id) => ({
          row: expect.objectContaining({ id, price: id + 2, stale: ['gross', 'label'] }) as object,
          columnsToRecompute: ['gross', 'label'],
        })),
      },
    ]);
    const [run] = (await account.client.listActionRuns({ id: bot.id } as never)).data;
    expect(run).toMatchObject({ actionType: 'tablesRecomputeRows', status: 'SUCCESS' });
  });

  it('waits for the bot when a request with waitComputed writes a row', async () => {
    const bot = await newBot(doubled);
    const table = await newTable(bot, { price, gross });

    const { rows } = await bot.client.createTableRows({ table, rows: [{ price: 5 }], waitComputed: true });

    expect(rows).toMatchObject([{ gross: 10, computed: { gross: { status: 'computed' } } }]);
    expect(rows[0]!.stale).toBeUndefined();
  });

  it('calls the action again for the rows that it has not finished', async () => {
    const bot = await newBot((input) => ({ isFinished: false, rows: doubled(input).rows.slice(0, 2) }));
    const table = await newTable(bot, { price, gross });

    await bot.client.createTableRows({ table, rows: [1, 2, 3].map((value) => ({ price: value })) });

    expect(await settled(bot, table, 3)).toMatchObject({ gross: 6 });
    expect(bot.calls().map(({ requests }) => requests.map(({ row }) => row.id))).toEqual([[1, 2, 3], [3]]);
  });

  it('requests many rows in calls of at most 50, each row once', async () => {
    const bot = await newBot(doubled);
    const table = await newTable(bot, { price, gross });

    await bot.client.createTableRows({ table, rows: Array.from({ length: 430 }, (_row, index) => ({ price: index })) });

    await waitFor(
      () => bot.client.getTable({ table }),
      ({ stale }) => stale === 0,
      30_000,
    );
    const sizes = bot.calls().map(({ requests }) => requests.length);
    expect(Math.max(...sizes)).toBe(50);
    expect(sizes.reduce((sum, size) => sum + size)).toBe(430);
  });

  it('shows errors of single cells, and values that do not fit their column', async () => {
    const bot = await newBot(({ requests }) => ({
      isFinished: true,
      rows: requests.map(({ row }) => ({
        id: row.id,
        ...(row.id === 1 ? { gross: { status: 'error', error: 'No price today.' } } : {}),
        ...(row.id === 2 ? { gross: done('much') } : {}),
        ...(row.id === 4 ? { gross: done(null) } : {}),
      })),
    }));
    const table = await newTable(bot, { price, gross });

    await bot.client.createTableRows({ table, rows: [1, 2, 3, 4].map((value) => ({ price: value })) });

    const cells = await Promise.all(
      [1, 2, 3, 4].map(async (id) => (await settled(bot, table, id))['computed'] as Record<string, object>),
    );
    expect(cells.map(({ gross: state }) => state)).toMatchObject([
      { status: 'failed', error: 'No price today.' },
      { status: 'failed', error: 'The result does not fit the column: gross must be number.' },
      {
        status: 'failed',
        error: 'The action tablesRecomputeRows of the bot has finished without an answer for this cell.',
      },
      { status: 'computed' },
    ]);
  });

  it('computes a row again that changed meanwhile, and skips a deleted one', async () => {
    let isHeld = true;
    let goOn = () => undefined as void;
    const held = new Promise<void>((resolve) => (goOn = resolve));
    const bot = await newBot(async (input) => {
      if (isHeld) await held;
      return doubled(input);
    });
    const table = await newTable(bot, { price, note: { type: 'string' }, gross });
    await bot.client.createTableRows({ table, rows: [{ price: 1 }, { price: 2 }, { price: 3 }] });
    await waitFor(
      () => Promise.resolve(bot.calls().length),
      (count) => count === 1,
    );

    await bot.client.updateTableRows({
      table,
      rows: [
        { id: 1, price: 10 },
        { id: 3, note: 'kept' },
      ],
    });
    await bot.client.deleteTableRows({ table, ids: [2] });
    isHeld = false;
    goOn();

    expect(await settled(bot, table, 1)).toMatchObject({ price: 10, gross: 20 });
    // Nothing that its column depends on has changed.
    expect(await settled(bot, table, 3)).toMatchObject({ note: 'kept', gross: 6 });
    expect(bot.calls().map(({ requests }) => requests.map(({ row }) => row.id))).toEqual([[1, 2, 3], [1]]);
    expect((await bot.client.findTableRows({ table })).rows).toHaveLength(2);
  });

  it('changes nothing when a request and its answer are delivered again', async () => {
    const bot = await newBot(doubled);
    const table = await newTable(bot, { price, gross });
    await bot.client.createTableRows({ table, rows: [{ price: 1 }] });
    const before = await settled(bot, table);

    const repeat = async ({ name, event: { subject } }: Consumer, service: string) => {
      await api.sql(
        `INSERT INTO ${service}.outbox (id, subject, data, consumer, repeats)
         SELECT 'outbox_' || gen_random_uuid(), subject, data, $1, id FROM ${service}.outbox
         WHERE subject = $2 AND data ->> 'botId' = $3`,
        [name, subject, bot.id],
      );
      await waitFor(
        () => api.sql(`SELECT 1 FROM ${service}.outbox WHERE published_at IS NULL`),
        (rows) => rows.length === 0,
      );
      await waitFor(
        () => api.sql('SELECT 1 FROM events.work WHERE queue = $1', [name]),
        (rows) => rows.length === 0,
      );
    };
    await repeat(computeRowsByBot, 'tables');
    await repeat(storeCellsOfBot, 'runtime');

    expect(await settled(bot, table)).toEqual(before);
    expect(bot.calls()).toHaveLength(1);
  });

  it('takes no other rows along when the bot fails for one, and opens an issue', async () => {
    const bot = await newBot((input) => {
      if (input.requests.some(({ row }) => row['price'] === 13)) throw new Error('No thirteen!');
      return doubled(input);
    });
    const table = await newTable(bot, { price, gross });

    await bot.client.createTableRows({ table, rows: [{ price: 12 }, { price: 13 }, { price: 14 }] });

    expect(await settled(bot, table, 2)).toMatchObject({
      gross: null,
      computed: { gross: { status: 'failed', error: 'No thirteen!' } },
    });
    expect(await settled(bot, table, 1)).toMatchObject({ gross: 24 });
    expect(await settled(bot, table, 3)).toMatchObject({ gross: 28 });
    const { issues } = await waitFor(
      () => account.client.listBotIssues({ id: bot.id }),
      (found) => found.issues.length > 0,
    );
    expect(issues).toMatchObject([
      { code: 'columns_not_computed', description: 'No thirteen!', category: 'user_code' },
    ]);
  });

  it('fails the cells of a bot that cannot be called, with the reason', async () => {
    const bot = await newBot(doubled, { actions, url: undefined });
    const table = await newTable(bot, { price, gross });

    await bot.client.createTableRows({ table, rows: [{ price: 1 }] });

    expect(await settled(bot, table)).toMatchObject({
      computed: {
        gross: { status: 'failed', error: expect.stringContaining('has neither a url nor code: deploy it.') as string },
      },
    });
  });

  it('computes rows again when their bot begins to define the action, and alone when it ceases', async () => {
    const bot = await newBot(doubled, {});
    const table = await newTable(bot, { price, gross });
    await bot.client.createTableRows({ table, rows: [{ price: 1 }] });
    expect(await settled(bot, table)).toMatchObject({ computed: { gross: { status: 'failed' } } });

    await account.client.updateBot({ id: bot.id, actions });
    const row = await waitFor(
      async () => (await bot.client.getTableRow({ table, id: 1 })).row as Row,
      ({ gross: value }) => value !== null,
      20_000,
    );

    expect(row).toMatchObject({ gross: 2 });
    await account.client.updateBot({ id: bot.id, actions: { tablesRecomputeRows: null } });
    await waitFor(
      () => api.sql('SELECT 1 FROM tables.computing_bot WHERE bot_id = $1 AND NOT computes_rows', [bot.id]),
      (rows) => rows.length === 1,
    );
    await bot.client.updateTableRows({ table, rows: [{ id: 1, price: 2 }] });
    expect(await settled(bot, table)).toMatchObject({
      computed: { gross: { error: expect.stringContaining('FACTOR') as string } },
    });
  });

  it('stores a text with characters that Postgres refuses', async () => {
    const bot = await newBot(({ requests: [request] }) => ({
      isFinished: true,
      rows: [{ id: request!.row.id, label: done('a\u0000b\ud800') }],
    }));
    const table = await newTable(bot, { price, label: computedBy(code('price'), 'string') });

    await bot.client.createTableRows({ table, rows: [{ price: 1 }] });

    expect(await settled(bot, table)).toMatchObject({ label: 'a\ufffdb\ufffd' });
  });

  it('accepts code that is no expression, since only the bot runs it', async () => {
    const bot = await newBot(doubled);
    const method = computedBy({
      action: 'code',
      code: 'async value(row) { return row.price; }',
      dependencies: ['price'],
    });

    const table = await newTable(bot, { price, gross: method });
    await bot.client.createTableRows({ table, rows: [{ price: 1 }] });

    expect(await settled(bot, table)).toMatchObject({ gross: 2 });
  });

  it('requests cells again whose answer is lost', async () => {
    const bot = await newBot(doubled);
    const table = await newTable(bot, { price, gross });
    await api.sql(`
      CREATE FUNCTION runtime.lose() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$;
      CREATE TRIGGER lose BEFORE INSERT ON runtime.outbox FOR EACH ROW
        WHEN (NEW.subject = 'runtime.cellsComputed') EXECUTE FUNCTION runtime.lose()`);
    await bot.client.createTableRows({ table, rows: [{ price: 1 }] });
    await waitFor(
      () => api.sql(`SELECT 1 FROM runtime.work WHERE queue = 'runtime.rowComputations'`),
      (rows) => rows.length === 0 && bot.calls().length === 1,
    );
    await api.sql('DROP FUNCTION runtime.lose CASCADE');

    await api.sql('UPDATE tables.requested_cell SET expires_at = now() WHERE bot_id = $1', [bot.id]);
    api.apps.at(-1)!.get(BackgroundTasks, { strict: false }).wake('tables.expiredRequests');

    expect(await settled(bot, table)).toMatchObject({ gross: 2 });
    expect(bot.calls()).toHaveLength(2);
  });
});

describe('columns with a workflow', () => {
  const rating = computedBy({ action: 'workflow', workflowId: 'rating', dependencies: ['price'] });

  function started({ client }: { client: Client }, count = 1) {
    return waitFor(
      async () => (await client.listWorkflows({ name: 'rating' })).workflows,
      (found) => found.length === count,
    );
  }

  it('stores the output of the workflow that it starts for the row, and the columns that depend on it', async () => {
    const bot = await newBot(doubled);
    const table = await newTable(bot, { price, rating, label: computedBy(code('rating'), 'string') });
    await bot.client.createTableRows({ table, rows: [{ price: 7 }] });

    const [workflow] = await started(bot);
    expect(workflow).toMatchObject({
      status: 'pending',
      input: { tableId: table, column: 'rating', row: { id: 1, price: 7 } },
    });
    const { events } = await bot.client.listEvents({ type: 'workflow_update', workflowId: workflow!.id });
    expect(events).toMatchObject([{ payload: { type: 'workflow_started' } }]);
    await bot.client.updateWorkflow({ id: workflow!.id, status: 'completed', output: { value: 5 } });

    expect(await settled(bot, table)).toMatchObject({ rating: 5, label: '14 EUR' });
  });

  it('shows why a workflow has given no value', async () => {
    const bot = await newBot(doubled);
    const table = await newTable(bot, { price, rating });
    await bot.client.createTableRows({ table, rows: [1, 2, 3, 4].map((value) => ({ price: value })) });
    const workflows = await started(bot, 4);
    const of = (id: number) => workflows.find(({ input }) => (input['row'] as Row).id === id)!.id;

    await bot.client.updateWorkflow({ id: of(1), status: 'failed', failureReason: 'No idea.' });
    await bot.client.updateWorkflow({ id: of(2), status: 'completed', output: { stars: 3 } });
    await bot.client.deleteWorkflow({ id: of(3) });
    await api.sql(`UPDATE chat.workflow SET timeout_at = now() - interval '1 second' WHERE id = $1`, [of(4)]);

    const rows = await Promise.all([1, 2, 3, 4].map((id) => settled(bot, table, id)));
    expect(rows.map(({ computed }) => (computed as Record<string, object>)['rating'])).toMatchObject([
      { status: 'failed', error: 'The workflow "rating" ended as failed: No idea.' },
      { error: expect.stringContaining('has no output "value"') as string },
      { error: 'The workflow "rating" was deleted.' },
      { error: 'The workflow "rating" ended as timedout.' },
    ]);
  });

  it('starts at most 200 workflows of a table at once, and computes other columns meanwhile', async () => {
    const bot = await newBot(doubled, {});
    const twice = computedBy({ action: 'code', code: 'row.price * 2', dependencies: ['price'] });
    const table = await newTable(bot, { price, rating, twice });

    await bot.client.createTableRows({ table, rows: Array.from({ length: 450 }, () => ({ price: 1 })) });

    await waitFor(
      async () => (await bot.client.findTableRows({ table, filter: { twice: 2 }, limit: 1_000 })).rows,
      (rows) => rows.length === 450,
      30_000,
    );
    const count = () => api.sql('SELECT 1 FROM chat.workflow WHERE bot_id = $1', [bot.id]);
    expect(await waitFor(count, (rows) => rows.length >= 200)).toHaveLength(200);
  });

  it('starts the workflow again for a row that changed meanwhile', async () => {
    const bot = await newBot(doubled);
    const table = await newTable(bot, { price, rating });
    await bot.client.createTableRows({ table, rows: [{ price: 1 }] });
    const [first] = await started(bot);

    await bot.client.updateTableRows({ table, rows: [{ id: 1, price: 2 }] });
    await bot.client.updateWorkflow({ id: first!.id, status: 'completed', output: { value: 1 } });
    const [second] = await started(bot, 2);
    expect(second).toMatchObject({ input: { row: { price: 2, rating: null } } });
    await bot.client.updateWorkflow({ id: second!.id, status: 'completed', output: { value: 2 } });

    expect(await settled(bot, table)).toMatchObject({ rating: 2 });
  });
});
