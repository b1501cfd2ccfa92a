import { Agent, request } from 'node:http';
import type { Client } from '@botpress/client';
import { clientOf } from '@parley/testing/api';
import { waitFor } from '@parley/testing/wait-for';
import type { RunningPlatform } from '@parley/testing/running-platform';

const goods = {
  type: 'object',
  properties: { name: { type: 'string' }, price: { type: 'number' }, note: { type: 'string' } },
};

export function describeTables(running: () => RunningPlatform): void {
  describe('tables', () => {
    async function newBot() {
      const { bot } = await clientOf(running()).createBot({});
      return { botId: bot.id, client: clientOf(running(), bot.id) };
    }

    async function allRows(client: Client, table: string) {
      const rows: { id: number; [column: string]: unknown }[] = [];
      for (let hasMore = true; hasMore;) {
        const page = await client.findTableRows({ table, limit: 1000, offset: rows.length });
        rows.push(...page.rows);
        hasMore = page.hasMore;
      }
      return rows;
    }

    async function ended(client: Client, table: string, id: string) {
      const find = async () => (await client.getTableJobs({ table })).jobs.find((job) => job.id === id)!;
      return waitFor(find, ({ status }) => status === 'completed' || status === 'failed', 60_000);
    }

    it('computes columns from others, and again when these change', async () => {
      const { client } = await newBot();
      const computed = { action: 'code', dependencies: ['price'], code: 'row.price * 1.19' };
      const gross = { type: 'number', 'x-zui': { computed } };
      await client.createTable({ name: 'goods', schema: { ...goods, properties: { ...goods.properties, gross } } });

      const { rows } = await client.createTableRows({ table: 'goods', rows: [{ price: 100 }], waitComputed: true });
      await client.updateTableRows({ table: 'goods', rows: [{ id: 1, price: 200 }] });

      expect(rows[0]).toMatchObject({ gross: 119, computed: { gross: { status: 'computed' } } });
      const read = async () => (await client.getTableRow({ table: 'goods', id: 1 })).row;
      expect(await waitFor(read, ({ stale }) => stale === undefined, 30_000)).toMatchObject({ price: 200, gross: 238 });
    });

    it('finds rows by the meaning of their text, within a filter', async () => {
      const { client } = await newBot();
      const text = { type: 'string', 'x-zui': { searchable: true } };
      await client.createTable({
        name: 'facts',
        schema: { type: 'object', properties: { text, sold: { type: 'boolean' } } },
      });
      await client.createTableRows({
        table: 'facts',
        rows: [
          { text: 'The cat sleeps on the warm sofa', sold: true },
          { text: 'The parliament voted on the new tax law', sold: true },
          { text: 'A kitten is lying on the couch', sold: false },
        ],
      });
      await waitFor(
        () => client.getTable({ table: 'facts' }),
        ({ indexing }) => indexing === 0,
        60_000,
      );

      const found = await client.findTableRows({ table: 'facts', search: 'a pet resting on furniture' });
      const sold = await client.findTableRows({ table: 'facts', search: 'a pet resting', filter: { sold: true } });

      expect(found.rows).toHaveLength(3);
      expect(found.rows[2]).toMatchObject({ id: 2 });
      expect(found.rows[0]!.similarity).toBeGreaterThan(found.rows[2]!.similarity!);
      expect(sold.rows.map(({ id }) => id)).toEqual([1, 2]);
    });

    it.each(['csv', 'json'] as const)('exports rows as %s and imports them again', async (format) => {
      const { client } = await newBot();
      await client.createTable({ name: 'goods', schema: goods });
      await client.createTable({ name: 'copies', schema: goods });
      const rows = Array.from({ length: 1000 }, (_entry, price) => ({ name: `"cup", №\n${price}`, price }));
      await client.createTableRows({ table: 'goods', rows });

      const { job: out } = await client.exportTable({ table: 'goods', format });
      const { outputFileId } = await ended(client, 'goods', out.id);
      const { job: back } = await client.importTable({ table: 'copies', fileId: outputFileId! });

      const imported = await ended(client, 'copies', back.id);
      expect(imported).not.toHaveProperty('failedStatusReason');
      expect(imported).toMatchObject({ status: 'completed', progress: 100 });
      expect((await allRows(client, 'copies')).map(({ name, price }) => ({ name, price }))).toEqual(rows);
    });

    it('stores 8 MB of rows of one request', async () => {
      const { client } = await newBot();
      await client.createTable({ name: 'goods', factor: 3, schema: goods });
      const rows = Array.from({ length: 1000 }, (_entry, price) => ({ price, note: 'x'.repeat(8_200) }));

      const stored = await client.createTableRows({ table: 'goods', rows });

      expect(JSON.stringify(rows).length).toBeGreaterThan(8_000_000);
      expect(stored.rows.map((row): unknown => row['price'])).toEqual(rows.map(({ price }) => price));
      expect(await client.getTable({ table: 'goods' })).toMatchObject({ rows: 1000 });
    });

    it('refuses a request over the body limit, and inserts none of its rows', async () => {
      const { client } = await newBot();
      await client.createTable({ name: 'goods', factor: 30, schema: goods });
      const rows = Array.from({ length: 200 }, () => ({ note: 'x'.repeat(90_000) }));

      await expect(client.createTableRows({ table: 'goods', rows })).rejects.toMatchObject({ type: 'PayloadTooLarge' });

      expect(await client.getTable({ table: 'goods' })).toMatchObject({ rows: 0 });
    });

    it('isolates a table from one of the same name in another bot', async () => {
      const [mine, other] = await Promise.all([newBot(), newBot()]);
      for (const { client } of [mine, other])
        await client.createTable({ name: 'goods', schema: goods, keyColumn: 'name' });

      await mine.client.createTableRows({ table: 'goods', rows: [{ name: 'cup', price: 1 }] });
      await other.client.createTableRows({ table: 'goods', rows: [{ name: 'cup', price: 2 }] });

      expect(await allRows(mine.client, 'goods')).toEqual([expect.objectContaining({ id: 1, name: 'cup', price: 1 })]);
      expect(await allRows(other.client, 'goods')).toEqual([expect.objectContaining({ id: 1, name: 'cup', price: 2 })]);
    });

    it('stores every acknowledged row of 2,000 inserts over 50 connections exactly once', async () => {
      const { botId, client } = await newBot();
      await client.createTable({ name: 'goods', schema: goods });
      const agent = new Agent({ keepAlive: true, maxSockets: 50 });
      const prices = Array.from({ length: 2_000 }, (_entry, price) => price);

      const answers = await Promise.all(
        prices.map((price) => insertRow(running(), botId, agent, { table: 'goods', price })),
      );
      agent.destroy();

      const acknowledged = new Map(answers.map(({ id, price }) => [id, price]));
      const stored = new Map((await allRows(client, 'goods')).map(({ id, price }) => [id, price]));
      expect(acknowledged.size).toBe(2_000);
      expect(stored).toEqual(acknowledged);
      expect([...stored.values()].sort((a, b) => Number(a) - Number(b))).toEqual(prices);
    });
  });
}

/** Inserts one row over a connection of the agent. The public client cannot limit the number of its connections. */
function insertRow(
  { url, token }: RunningPlatform,
  botId: string,
  agent: Agent,
  { table, price }: { table: string; price: number },
): Promise<{ id: number; price: number }> {
  const body = JSON.stringify({ rows: [{ price }] });
  const headers = {
    authorization: `Bearer ${token}`,
    'x-bot-id': botId,
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
  };
  return new Promise((resolve, reject) => {
    const outgoing = request(`${url}/v1/tables/${table}/rows`, { agent, method: 'POST', headers }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
      response.on('error', reject);
      response.on('end', () => {
        if (response.statusCode !== 200) return reject(new Error(`${response.statusCode} ${text}`));
        resolve((JSON.parse(text) as { rows: [{ id: number; price: number }] }).rows[0]);
      });
    });
    outgoing.on('error', reject);
    outgoing.end(body);
  });
}
