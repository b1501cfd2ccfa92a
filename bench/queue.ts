import { createLogger } from '@parley/logging/logger';
import { Database } from '@parley/persistence/database';
import { newUlid } from '@parley/persistence/ids';
import { workSchema } from '@parley/work-queue/test/work-database';
import { queue } from '@parley/work-queue/queue';
import { WorkQueue } from '@parley/work-queue/work-queue.service';
import { WorkRepository } from '@parley/work-queue/work.repository';
import { WorkRunner } from '@parley/work-queue/work-runner';
import { createEmptyDatabase } from '@parley/testing/test-database';
import { runConcurrently } from './load';
import type { Result } from './result';
import { median, pairedRatio } from './statistics';
import { poolSize, type Workbench } from './workbench';

const tenants = 100;
const waitingKeys = 100_000;
const logger = createLogger('bench', 'silent');
const empty = queue('bench.empty');

/**
 * Work per second of the work queue compared to the bare statements that any queue in Postgres needs, with synchronous
 * commits; and the wait of a new tenant behind the work of others.
 */
export async function benchQueue({ session, options }: Workbench): Promise<Result[]> {
  const empties = await createEmptyDatabase();
  session.keep({ stop: () => empties.drop() });
  const database = await Database.open({ url: empties.url, ...workSchema, poolSize: 2 * poolSize });
  session.keep({ stop: () => database.close() });
  await database.migrate();
  await database.query(
    'CREATE TABLE bare (id text COLLATE "C" PRIMARY KEY, payload jsonb, due_at timestamptz, lease text)',
  );
  await database.query('CREATE INDEX bare_due ON bare (due_at) WHERE lease IS NULL');

  const { connections, seconds, rounds } = options;
  const sides = { ours: [] as number[], bare: [] as number[] };
  for (let round = -1; round < rounds; round += 1) {
    session.checkpoint();
    const pair = { ours: 0, bare: 0 };
    const measure = {
      ours: () => throughQueue(database, connections, seconds),
      bare: () => throughBareSql(database, connections, seconds),
    };
    for (const side of round % 2 === 0 ? (['ours', 'bare'] as const) : (['bare', 'ours'] as const)) {
      pair[side] = await measure[side]();
    }
    if (round < 0) continue;
    sides.ours.push(pair.ours);
    sides.bare.push(pair.bare);
  }
  const { median: value, lowest, highest } = pairedRatio(sides.ours, sides.bare);
  const [firstMs, fillSeconds] = await waitOfNewTenant(database, rounds);
  return [
    {
      title: `Work queue: adding and finishing empty work, ${connections} at a time; ${rounds} rounds of ${seconds} s`,
      rows: [
        { name: 'work queue', figures: { 'work/s': median(sides.ours) } },
        { name: 'bare SQL', figures: { 'work/s': median(sides.bare) } },
        {
          name: `new tenant behind ${waitingKeys.toLocaleString('en-US')} waiting keys of ${tenants} tenants`,
          figures: { 'ms to the start': firstMs, 's to add the others': fillSeconds },
        },
      ],
      aims: [
        { name: 'work queue / bare SQL', value, spread: [lowest, highest], atLeast: 0.7 },
        { name: 'wait of a new tenant', value: firstMs, unit: 'ms', below: 100 },
      ],
      notes: ['Bare: INSERT, claim of the oldest row with SKIP LOCKED, DELETE; one statement each for one row.'],
      errors: [],
      rounds: {
        ours: sides.ours.map((perSecond) => ({ perSecond })),
        bare: sides.bare.map((perSecond) => ({ perSecond })),
      },
    },
  ];
}

/** Each connection adds work and waits until it is finished, as the bare side does. */
async function throughQueue(database: Database, connections: number, seconds: number): Promise<number> {
  const rows = new WorkRepository(database);
  const work = new WorkQueue(rows);
  const runner = new WorkRunner(rows, { worker: 'bench', isOnlyWorker: true, logger });
  const finished = new Map<string, () => void>();
  runner.register(empty, { concurrency: connections }, ({ key }) => {
    finished.get(key)?.();
    return Promise.resolve();
  });
  work.onAdded((name) => runner.wake(name));
  await runner.start();
  const next = async () => {
    const key = newUlid();
    const end = new Promise<void>((resolve) => finished.set(key, resolve));
    await work.addNow(empty, [{ key, tenant: 'bench', payload: null }]);
    await end;
    finished.delete(key);
    return undefined;
  };
  const { perSecond } = await runConcurrently(
    Array.from({ length: connections }, () => next),
    seconds,
  );
  await runner.stop();
  return perSecond;
}

async function throughBareSql(database: Database, connections: number, seconds: number): Promise<number> {
  const next = async () => {
    await database.query(
      'INSERT INTO bare (id, payload, due_at) VALUES ($1, $2, now())',
      [newUlid(), 'null'],
      'bare_insert',
    );
    const [row] = await database.query<{ id: string }>(
      `UPDATE bare SET lease = $1, due_at = now() + interval '15 seconds' WHERE id = (
         SELECT id FROM bare WHERE lease IS NULL AND due_at <= now() ORDER BY due_at LIMIT 1 FOR UPDATE SKIP LOCKED)
       RETURNING id, payload`,
      [newUlid()],
      'bare_claim',
    );
    if (row) await database.query('DELETE FROM bare WHERE id = $1', [row.id], 'bare_delete');
    return undefined;
  };
  const { perSecond } = await runConcurrently(
    Array.from({ length: connections }, () => next),
    seconds,
  );
  return perSecond;
}

/** Milliseconds until the first work of a new tenant starts, median; and the seconds that adding the others took. */
async function waitOfNewTenant(database: Database, rounds: number): Promise<[number, number]> {
  const rows = new WorkRepository(database);
  const start = performance.now();
  const batch = 1_000;
  for (let first = 0; first < waitingKeys; first += batch) {
    const works = Array.from({ length: batch }, (_, index) => first + index);
    await rows.insertWork(
      empty,
      works.map((number) => ({ key: `waiting-${number}`, tenant: `tenant-${number % tenants}`, payload: null })),
    );
  }
  const fillSeconds = (performance.now() - start) / 1_000;
  const waits: number[] = [];
  for (let round = 0; round < rounds; round += 1) waits.push(await waitOf(database, `new-${round}`));
  return [median(waits), fillSeconds];
}

/** Others have long work: each handler takes 5 ms. */
async function waitOf(database: Database, tenant: string): Promise<number> {
  const rows = new WorkRepository(database);
  const work = new WorkQueue(rows);
  const runner = new WorkRunner(rows, { worker: 'bench', isOnlyWorker: true, logger });
  let started = (_at: number) => {};
  const first = new Promise<number>((resolve) => (started = resolve));
  runner.register(empty, { concurrency: 4 }, async (one) => {
    if (one.tenant === tenant) started(performance.now());
    await new Promise((resolve) => setTimeout(resolve, 5));
  });
  work.onAdded((name) => runner.wake(name));
  await runner.start();
  await new Promise((resolve) => setTimeout(resolve, 200));
  const addedAt = performance.now();
  await work.addNow(empty, [{ key: tenant, tenant, payload: null }]);
  const wait = (await first) - addedAt;
  await runner.stop();
  return wait;
}
