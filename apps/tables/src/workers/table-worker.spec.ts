import { randomUUID } from 'node:crypto';
import { createLogger } from '@parley/logging/logger';
import { lockWaits } from '@parley/testing/lock-waits';
import { pagesOf, sentDuring } from '@parley/testing/sent-statements';
import { createTestDatabase, type TestDatabase } from '@parley/testing/test-database';
import { waitFor } from '@parley/testing/wait-for';
import { fakeClock, realClock } from '@parley/testing/fake-clock';
import {
  dueNow,
  type BatchResult,
  type Lease,
  TableWorkRepository,
  type WorkTables,
} from '../queues/table-work.repository';
import { tablesDatabase } from '../tables.module';
import { TableWorker } from './table.worker';

const logger = createLogger('test', 'silent');

let test: TestDatabase;
let work: TableWorkRepository;
beforeAll(async () => {
  test = await createTestDatabase(tablesDatabase.migrations, 'tables');
  work = new TableWorkRepository(test.database);
});
afterAll(() => test.drop());
beforeEach(async () => {
  await test.database.query('DELETE FROM table_work');
  await test.database.query('DELETE FROM "table"');
});

const ask = (tableNumber: number) =>
  test.database.query(`INSERT INTO table_work (table_number, kind) VALUES ($1, 'compute') ${dueNow}`, [tableNumber]);
const define = (number: number, bot: string, properties: object = {}) =>
  test.database.query(
    `INSERT INTO "table" (id, number, bot_id, name, factor, frozen, schema, next_index, tags, is_compute_enabled)
     VALUES ($1, $2, $3, $1, 1, false, $4, 0, '{}', true)`,
    [`table_${number}`, number, bot, JSON.stringify({ type: 'object', properties })],
  );
const take = (leaseMs = 60_000, tables?: WorkTables) => work.takeTable('compute', randomUUID(), leaseMs, tables);
const queue = () =>
  test.database.query<{ table_number: string; attempts: number; last_error: string | null; lease: string | null }>(
    'SELECT * FROM table_work ORDER BY table_number',
  );
const silent = (lease: Lease) =>
  test.database.query(`UPDATE table_work SET taken_at = now() - interval '1 hour' WHERE lease = $1`, [lease.id]);

describe('the queue of tables', () => {
  it('leases each table to one worker, in the order of waiting time', async () => {
    for (const table of [1, 2, 3]) await ask(table);

    const taken = await Promise.all([take(), take(), take(), take()]);

    const numbers = taken.flatMap((lease) => (lease ? [lease.tableNumber] : []));
    expect(numbers.sort()).toEqual(['1', '2', '3']);
  });

  it('puts a table with remaining work behind the others', async () => {
    await ask(1);
    await ask(2);

    const first = (await take())!;
    await work.requeueTable(first);

    expect([(await take())?.tableNumber, (await take())?.tableNumber]).toEqual(['2', '1']);
  });

  it('removes a table without remaining work', async () => {
    await ask(1);

    await work.finishTable((await take())!);

    expect(await queue()).toEqual([]);
  });

  it('keeps a table whose work was added during the lease', async () => {
    await ask(1);
    const lease = (await take())!;
    await ask(1);

    expect(await take()).toBeUndefined();
    await work.finishTable(lease);

    expect((await take())?.tableNumber).toBe('1');
  });

  it('keeps a table whose work is added by an open transaction', async () => {
    await ask(1);
    const lease = (await take())!;
    let finished = Promise.resolve();
    await test.database.transaction(async (tx) => {
      await tx.query(`INSERT INTO table_work (table_number, kind) VALUES (1, 'compute') ${dueNow}`);
      finished = work.finishTable(lease);
      await waitFor(() => lockWaits(tx));
    });

    await finished;

    expect((await take())?.tableNumber).toBe('1');
  });

  it('leases a table to another worker when the lease expires, and ignores the first worker', async () => {
    await ask(1);
    const dead = (await take())!;
    await silent(dead);

    const next = (await take())!;

    expect(next.tableNumber).toBe('1');
    expect(await work.renewLease(dead)).toBe(false);
    expect(await work.renewLease(next)).toBe(true);
    await work.finishTable(dead);
    await work.requeueTable(dead);
    await work.postponeTable(dead, 0, 'x', 1);
    expect(await take()).toBeUndefined();
  });

  it('counts an expired lease as a failure and extends the wait before the next attempt', async () => {
    await ask(1);
    await silent((await take())!);
    const second = (await take(1_000))!;
    // After five more failures, the wait is one minute longer than the lease.
    await test.database.query(`UPDATE table_work SET attempts = 6, taken_at = now() - interval '30 seconds'`);

    const early = await take(1_000);
    await silent(second);
    const third = await take(1_000);

    expect(second.attempts).toBe(1);
    expect(early).toBeUndefined();
    expect(third?.attempts).toBe(7);
  });

  it('alternates between bots, whatever their number of tables', async () => {
    for (const table of [1, 2, 3]) await define(table, 'many');
    await define(4, 'one');
    for (const table of [1, 2, 3, 4]) await ask(table);

    const turns: string[] = [];
    for (let turn = 0; turn < 6; turn++) {
      const lease = (await take())!;
      turns.push(lease.tableNumber);
      await work.requeueTable(lease);
    }

    expect(turns).toEqual(['1', '4', '2', '4', '3', '4']);
  });

  it('reads each waiting table once, for any number of tables per bot', async () => {
    await test.database.query(
      `INSERT INTO "table" (id, number, bot_id, name, factor, frozen, schema, next_index, tags, is_compute_enabled)
       SELECT 'table_' || i, i, 'many', i::text, 1, false, '{}', 0, '{}', true FROM generate_series(1, 1000) AS i`,
    );
    await test.database.query(
      `INSERT INTO table_work (table_number, kind, taken_at) SELECT number, 'compute', now() FROM "table"`,
    );

    const sent = await sentDuring(take);

    // At most two reads per table: for its turn and for itself. Reading all tables for each one would exceed the
    // statement timeout.
    expect(await pagesOf(test.database, sent)).toBeLessThan(10_000);
  });

  it('leases tables with ai columns to workers of their own', async () => {
    await define(1, 'one', { a: { type: 'string', 'x-zui': { index: 0, computed: { action: 'ai' } } } });
    await define(2, 'two', { a: { type: 'string', 'x-zui': { index: 0, computed: { action: 'code' } } } });
    for (const table of [1, 2]) await ask(table);

    const others = [await take(60_000, 'others'), await take(60_000, 'others')];
    const asking = [await take(60_000, 'asking'), await take(60_000, 'asking')];

    expect(others.map((lease) => lease?.tableNumber)).toEqual(['2', undefined]);
    expect(asking.map((lease) => lease?.tableNumber)).toEqual(['1', undefined]);
  });

  it('does not lease a table whose worker sends heartbeats', async () => {
    await ask(1);
    const lease = (await take())!;
    await silent(lease);

    await work.renewLease(lease);

    expect(await take()).toBeUndefined();
  });

  it('keeps a table postponed when more work is added', async () => {
    await ask(1);
    await work.postponeTable((await take())!, 60_000, 'the server\0is busy', 1);

    await ask(1);

    expect(await take()).toBeUndefined();
    expect(await queue()).toMatchObject([{ attempts: 1, last_error: 'the server\ufffdis busy' }]);
  });
});

describe('a table worker', () => {
  const workers: TableWorker[] = [];
  function start(batch: (lease: Lease, signal: AbortSignal) => Promise<BatchResult>, leaseMs = 60_000) {
    const options = { kind: 'compute' as const, tablesAtOnce: 2, leaseMs, intervalMs: 50, logger };
    const worker = new TableWorker(options, work, batch);
    workers.push(worker);
    worker.start();
    return worker;
  }
  afterEach(async () => {
    realClock();
    await Promise.all(workers.splice(0).map((worker) => worker.stop()));
  });

  it('continues with a table until nothing is left', async () => {
    await ask(1);
    let left = 5;

    start(async () => (--left > 0 ? 'more' : 'done'));

    await waitFor(queue, (rows) => rows.length === 0);
    expect(left).toBe(0);
  });

  it('does not delay tables behind a slow table', async () => {
    let release = () => undefined as void;
    const released = new Promise<void>((resolve) => (release = resolve));
    await ask(1);
    await ask(2);

    start(async ({ tableNumber }) => {
      if (tableNumber === '1') await released;
      return 'done';
    });

    await waitFor(queue, (rows) => rows.length === 1);
    expect(await queue()).toMatchObject([{ table_number: '1' }]);
    release();
    await waitFor(queue, (rows) => rows.length === 0);
  });

  it('postpones a table that fails, and retries it', async () => {
    await ask(1);
    let tries = 0;

    start(async () => {
      if (++tries === 1) throw new Error('broken');
      return 'done';
    });

    await waitFor(queue, (rows) => rows[0]?.last_error === 'broken');
    await waitFor(queue, (rows) => rows.length === 0);
    expect(tries).toBe(2);
  });

  it.each([
    [{ hasProgressed: false }, [0, 1, 2]],
    [{ hasProgressed: true }, [0, 1, 1]],
  ])('backs off exponentially without progress, for the requested pause: %j', async (progress, expected) => {
    await ask(1);
    const attempts: number[] = [];
    const pauses: number[] = [];

    start(async (lease) => {
      attempts.push(lease.attempts);
      return attempts.length === 3 ? 'done' : { pauseMs: 0, error: 'busy', ...progress };
    });
    for (const tries of [1, 2]) {
      await waitFor(queue, ([row]) => attempts.length === tries && row?.last_error === 'busy' && row.lease === null);
      const [row] = await test.database.query<{ seconds: number }>(
        'SELECT extract(epoch FROM due_at - taken_at)::float8 AS seconds FROM table_work',
      );
      pauses.push(row!.seconds);
      await test.database.query('UPDATE table_work SET due_at = now()');
    }

    await waitFor(queue, (rows) => rows.length === 0);
    expect(attempts).toEqual(expected);
    expect(pauses[0]).toBeGreaterThanOrEqual(1);
    expect(pauses[1]).toBeGreaterThanOrEqual(expected[2]!);
  });

  it('keeps a table beyond the lease time by heartbeats', async () => {
    await ask(1);
    const leaseMs = 60_000;
    let wasSilent = false;
    let release = () => undefined as void;
    const released = new Promise<void>((resolve) => (release = resolve));
    fakeClock('setInterval', 'clearInterval');

    start(async (lease) => {
      await silent(lease);
      wasSilent = true;
      jest.advanceTimersByTime(leaseMs / 2);
      await released;
      return 'done';
    }, leaseMs);
    const isAlive = async () =>
      (await test.database.query(`SELECT 1 FROM table_work WHERE taken_at > now() - interval '1 minute'`)).length === 1;
    await waitFor(() => wasSilent);
    await waitFor(isAlive);

    const taken = await take(leaseMs);
    release();
    expect(taken).toBeUndefined();
    await waitFor(queue, (rows) => rows.length === 0);
  });

  it('aborts the batch when another worker has taken over', async () => {
    await ask(1);
    const aborted: unknown[] = [];
    start(
      (_lease, signal) =>
        new Promise((_, reject) => {
          void test.database.query(`UPDATE table_work SET lease = 'another'`);
          signal.addEventListener('abort', () => {
            aborted.push((signal.reason as Error).message);
            reject(signal.reason as Error);
          });
        }),
      200,
    );

    await waitFor(
      async () => aborted.length,
      (count) => count > 0,
    );

    expect(aborted[0]).toBe('Another worker has taken over the table.');
  });

  it('releases its tables at shutdown', async () => {
    await ask(1);
    let begun = false;
    const worker = start(async (_lease, signal) => {
      begun = true;
      await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)));
      return 'done';
    });
    await waitFor(
      async () => begun,
      (yes) => yes,
    );

    await worker.stop();

    expect((await take())?.tableNumber).toBe('1');
  });
});
