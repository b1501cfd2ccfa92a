import type { Client } from '@botpress/client';
import { botDeleted } from '@parley/contracts/admin/bots';
import { tables } from '@parley/contracts/tables/tables';
import { systemCaller } from '@parley/contracts/caller';
import { type Account, configured, type PublicApi, startPublicApi } from '@parley/testing/public-api';
import { waitFor } from '@parley/testing/wait-for';
import { AdminModule } from '../../../admin/src/admin.module';
import { GatewayModule } from '../../../gateway/src/gateway.module';
import { TablesConfig } from '../config';
import { TablesModule } from '../tables.module';

const schema = { type: 'object', properties: { n: { type: 'number' } } };

let api: PublicApi;
let alice: Account;

beforeAll(async () => {
  const service = configured(TablesModule, TablesConfig);
  api = await startPublicApi(GatewayModule, AdminModule, service);
  alice = await api.newAccount();
});

afterAll(() => api?.stop());

async function newBot() {
  const { bot } = await alice.client.createBot({});
  return { botId: bot.id, client: api.client(alice.token, alice.workspaceId, bot.id) };
}

async function filledTable(client: Client, name: string, rows: number): Promise<string> {
  const { table } = await client.createTable({
    name,
    schema: { type: 'object', properties: { n: { type: 'number' } } },
  });
  await api.sql(
    `WITH state AS (
       UPDATE tables.table_state SET next_row_id = next_row_id + $2
       FROM tables."table" WHERE id = $1 AND table_state.number = "table".number
       RETURNING table_state.number)
     INSERT INTO tables.row (table_number, id, data) SELECT number, i, '{}' FROM state, generate_series(1, $2::int) AS i`,
    [table.id, rows],
  );
  return table.id;
}

async function waitsWith(words: string): Promise<boolean> {
  await api.sql('SELECT pg_stat_clear_snapshot()');
  const waiting = await api.sql(
    `SELECT 1 FROM pg_stat_activity
     WHERE datname = current_database() AND wait_event_type = 'Lock' AND strpos(query, $1) > 0 AND pid <> pg_backend_pid()`,
    [words],
  );
  return waiting.length > 0;
}

function leftovers(botId: string) {
  return api.call(tables.countLeftovers, systemCaller('test'), { botId });
}

const none = { tables: 0, rows: 0, tableAnswers: 0 };
const isNothing = (left: object) => Object.values(left).every((count) => count === 0);

describe('deleting a table', () => {
  it('makes rows of a deleted table inaccessible at once and erases them in batches', async () => {
    const { botId, client } = await newBot();
    const table = await filledTable(client, 'large', 12_000);
    await filledTable(client, 'other', 10);

    await client.deleteTable({ table });

    await expect(client.getTable({ table })).rejects.toMatchObject({ type: 'ResourceNotFound' });
    expect(
      await waitFor(
        () => leftovers(botId),
        ({ tables: count }) => count === 1,
      ),
    ).toEqual({ ...none, tables: 1, rows: 10 });
  });

  it('erases all rows of a deleted table although another process deletes some at the same moment', async () => {
    const { client } = await newBot();
    const table = await filledTable(client, 'shared', 12_000);
    const [row] = await api.sql<{ number: string }>('SELECT number FROM tables."table" WHERE id = $1', [table]);
    const left = () => api.sql('SELECT 1 FROM tables.row WHERE table_number = $1 LIMIT 1', [row!.number]);

    await api.sql('BEGIN');
    await api.sql('DELETE FROM tables.row WHERE table_number = $1 AND id <= 5000', [row!.number]);
    await client.deleteTable({ table });
    await waitFor(() => waitsWith('DELETE FROM row'));
    await api.sql('COMMIT');

    await waitFor(left, (rows) => rows.length === 0);
    await waitFor(
      () => api.sql(`SELECT 1 FROM tables.work WHERE queue = 'tables.erasure' AND key = $1`, [row!.number]),
      (notes) => notes.length === 0,
    );
  });

  it('deletes a table as fast when the database has no statistics of its rows yet', async () => {
    const { client } = await newBot();
    const table = await filledTable(client, 'unknown', 0);
    const [row] = await api.sql<{ number: string; partition: string }>(
      `SELECT number, relname AS partition FROM tables."table", pg_class, generate_series(0, 15) AS part
       WHERE id = $1 AND relname = 'row_' || part AND relnamespace = 'tables'::regnamespace
         AND satisfies_hash_partition('tables.row'::regclass, 16, part, number)`,
      [table],
    );
    const { number, partition } = row!;
    // The partition has statistics of another table only.
    await api.sql(`ALTER TABLE tables.${partition} SET (autovacuum_enabled = off)`);
    await api.sql(
      `INSERT INTO tables.row (table_number, id, data)
       SELECT other, i, '{}' FROM generate_series(1, 20000) AS i, (
         SELECT other FROM generate_series(1000000, 1001000) AS other, generate_series(0, 15) AS part
         WHERE 'row_' || part = $1 AND satisfies_hash_partition('tables.row'::regclass, 16, part, other::bigint) LIMIT 1) AS others`,
      [partition],
    );
    await api.sql('ANALYZE tables.row');
    await api.sql(
      `INSERT INTO tables.row (table_number, id, data) SELECT $1, i, '{}' FROM generate_series(1, 40000) AS i`,
      [number],
    );

    await client.deleteTable({ table });

    await waitFor(
      () => api.sql('SELECT 1 FROM tables.row WHERE table_number = $1 LIMIT 1', [number]),
      (rows) => rows.length === 0,
    );
  });

  it('frees the name of a deleted table for a new one, which starts without rows', async () => {
    const { client } = await newBot();
    await filledTable(client, 'goods', 5);
    await client.deleteTable({ table: 'goods' });

    await filledTable(client, 'goods', 0);

    expect(await client.getTable({ table: 'goods' })).toMatchObject({ rows: 0 });
    const { rows } = await client.createTableRows({ table: 'goods', rows: [{ n: 1 }] });
    expect(rows).toEqual([expect.objectContaining({ id: 1 })]);
  });
});

describe('deleting a bot', () => {
  it('erases tables, rows and idempotency keys of a deleted bot, and those of no other bot', async () => {
    const [gone, other] = await Promise.all([newBot(), newBot()]);
    await filledTable(gone.client, 'goods', 6_000);
    await filledTable(gone.client, 'more', 1);
    await filledTable(other.client, 'goods', 3);
    for (const { botId } of [gone, other])
      await api.send('POST /v1/tables/goods/rows', {
        headers: { authorization: `Bearer ${alice.token}`, 'x-bot-id': botId, 'idempotency-key': 'once' },
        json: { rows: [{ n: 1 }] },
      });
    expect(await leftovers(gone.botId)).toEqual({ tables: 2, rows: 6_002, tableAnswers: 1 });

    await alice.client.deleteBot({ id: gone.botId });

    expect(await waitFor(() => leftovers(gone.botId), isNothing)).toEqual(none);
    expect(await leftovers(other.botId)).toEqual({ tables: 1, rows: 4, tableAnswers: 1 });
  });

  it('erases a table of a deleted bot whose creation was under way', async () => {
    const { botId, client } = await newBot();
    await api.sql(`
      CREATE FUNCTION tables.hold() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN PERFORM pg_advisory_xact_lock_shared(4711); RETURN NEW; END $$;
      CREATE TRIGGER hold BEFORE INSERT ON tables."table" FOR EACH ROW EXECUTE FUNCTION tables.hold()`);
    await api.sql('SELECT pg_advisory_lock(4711)');
    const creating = client.createTable({ name: 'onItsWay', schema });
    await waitFor(() => waitsWith('INSERT INTO "table"'));

    await alice.client.deleteBot({ id: botId });
    await waitFor(
      async () =>
        (await waitsWith('pg_advisory_xact_lock(')) ||
        (await api.sql('SELECT 1 FROM tables.deleted_bot WHERE bot_id = $1', [botId])).length > 0,
    );
    await api.sql('SELECT pg_advisory_unlock(4711)');
    await creating;

    expect(await waitFor(() => leftovers(botId), isNothing)).toEqual(none);
    await api.sql('DROP FUNCTION tables.hold CASCADE');
  });

  it('refuses every later write for a deleted bot', async () => {
    const { botId } = await newBot();
    await alice.client.deleteBot({ id: botId });
    await waitFor(
      () => api.sql('SELECT 1 FROM tables.deleted_bot WHERE bot_id = $1', [botId]),
      (rows) => rows.length === 1,
    );
    const late = {
      ...systemCaller('test'),
      credential: 'pat' as const,
      workspace: { id: alice.workspaceId },
      bot: { id: botId, workspaceId: alice.workspaceId },
    };

    const create = api.call(tables.create, late, { name: 'late', schema });

    await expect(create).rejects.toMatchObject({ type: 'Forbidden' });
    expect(await leftovers(botId)).toEqual(none);
  });

  it('deletes a bot once when the event is delivered twice', async () => {
    const { botId, client } = await newBot();
    await filledTable(client, 'goods', 3);

    await api.publish(botDeleted, { botId, workspaceId: alice.workspaceId });
    await api.publish(botDeleted, { botId, workspaceId: alice.workspaceId });

    expect(await waitFor(() => leftovers(botId), isNothing)).toEqual(none);
  });
});
