import { createLogger } from '@parley/logging/logger';
import { type Database } from '@parley/persistence/database';
import { lockWaits } from '@parley/testing/lock-waits';
import { pagesOf, sentDuring } from '@parley/testing/sent-statements';
import { waitFor } from '@parley/testing/wait-for';
import {
  GiveUp,
  Interrupted,
  LeaseLost,
  type NewWork,
  Park,
  queue,
  RetryAfter,
  RetryLater,
  ServerBusy,
  type Work,
  type WorkerOptions,
  Yield,
} from './queue';
import { createWorkDatabase, openWorkDatabase } from './test/work-database';
import type { WorkEntity } from './work.entity';
import { WorkQueue } from './work-queue.service';
import { WorkRepository } from './work.repository';
import { addReadyWork } from './work-statements';
import { WorkRunner } from './work-runner';

const logger = createLogger('test', 'silent');
const plain = queue<number | null>('probe.plain');
const again = queue<number | null>('probe.again', { repeated: 'again' });
const ordered = queue<number | null>('probe.ordered', { isOrdered: true });

let url: string;
let database: Database;
let drop: () => Promise<void>;
let rows: WorkRepository;
let work: WorkQueue;
const runners: WorkRunner[] = [];

beforeEach(async () => {
  ({ url, database, drop } = await createWorkDatabase());
  rows = new WorkRepository(database);
  work = new WorkQueue(rows);
});

afterEach(async () => {
  await Promise.all(runners.splice(0).map((runner) => runner.stop()));
  await drop();
});

/** Runner with one worker, as a process has it. */
async function start(
  of: typeof plain,
  handle: (work: Work<number | null>) => Promise<void | 'more'>,
  options: Partial<WorkerOptions> = {},
  onFailed?: (failed: { key: string }, reason: string) => Promise<void>,
): Promise<WorkRunner> {
  const runner = new WorkRunner(rows, { worker: `worker-${runners.length}`, isOnlyWorker: false, logger });
  runner.register(of, { concurrency: 4, ...options }, handle, onFailed);
  work.onAdded((name, dueAt) => runner.wake(name, dueAt));
  runners.push(runner);
  await runner.start();
  return runner;
}

function of(key: string, more: Partial<NewWork<number | null>> = {}): NewWork<number | null> {
  return { key, tenant: 'alice', payload: null, ...more };
}

function keys(prefix: string, count: number, more: Partial<NewWork<number | null>> = {}) {
  return Array.from({ length: count }, (_, index) => of(`${prefix}${index}`, more));
}

function listAll(): Promise<WorkEntity[]> {
  return rows.listWork({ limit: 100 });
}

const untilEmpty = () =>
  waitFor(
    async () => (await listAll()).length,
    (left) => left === 0,
  );

/** Handler that waits until the test ends each piece of work. */
function controlled() {
  const started: string[] = [];
  const ends = new Map<string, { resolve: () => void; reject: (error: Error) => void }>();
  const handle = (one: Work<number | null>) => {
    started.push(one.key);
    return new Promise<void>((resolve, reject) => ends.set(one.key, { resolve, reject }));
  };
  return { started, handle, end: (key: string) => ends.get(key)!.resolve(), ends };
}

const untilStarted = (started: string[], count: number) =>
  waitFor(
    () => started.length,
    (length) => length === count,
  );

describe('adding work', () => {
  it('passes payload and tenant of work once, and deletes the row', async () => {
    const got: Work<number | null>[] = [];
    await start(plain, async (one) => void got.push(one));

    await work.addNow(plain, [of('a', { payload: 7 })]);
    await untilEmpty();

    expect(got).toMatchObject([{ key: 'a', tenant: 'alice', payload: 7, attempt: 1, lastError: null }]);
  });

  it('adds a waiting key of work once', async () => {
    await work.addNow(plain, [of('a', { payload: 1 })]);
    await work.addNow(plain, [of('a', { payload: 2 }), of('b')]);

    expect((await listAll()).map(({ key, payload }) => [key, payload])).toEqual([
      ['a', 1],
      ['b', null],
    ]);
  });

  it('hides added work until the commit, and undoes it by a rollback', async () => {
    const { started, handle, end } = controlled();
    await start(plain, handle);

    const failed = database.transaction(async (tx) => {
      await work.add(tx, plain, [of('undone')]);
      throw new Error('rolled back');
    });
    await expect(failed).rejects.toThrow('rolled back');
    await database.transaction((tx) => work.add(tx, plain, [of('kept')]));
    await untilStarted(started, 1);

    expect(started).toEqual(['kept']);
    end('kept');
    await untilEmpty();
  });

  it.each([
    ['once more if its queue repeats', again, 2],
    ['only once by default', plain, 1],
  ])('runs a key that was added while it ran %s', async (_name, which, runs) => {
    const { started, handle, end } = controlled();
    await start(which, handle);
    await work.addNow(which, [of('a')]);
    await untilStarted(started, 1);

    await work.addNow(which, [of('a')]);
    end('a');
    if (runs === 2) {
      await untilStarted(started, 2);
      end('a');
    }
    await untilEmpty();

    expect(started).toHaveLength(runs);
  });

  it('starts work at its due time, and moves it forward when it is added with an earlier one', async () => {
    const hour = new Date(Date.now() + 3_600_000);
    const got: string[] = [];
    await start(plain, async ({ key }) => void got.push(key));

    await work.addNow(plain, [of('later', { dueAt: hour }), of('soon', { dueAt: new Date(Date.now() + 50) })]);
    await waitFor(
      () => got.length,
      (length) => length === 1,
    );
    expect(got).toEqual(['soon']);
    await work.addNow(plain, [of('later')]);
    await untilEmpty();

    expect(got).toEqual(['soon', 'later']);
  });
});

describe('work that another statement adds', () => {
  const add = (keyOfWork: string, tenant = 'alice') =>
    database.query(
      `WITH added AS (${addReadyWork("SELECT $1 AS queue, $2::text AS key, $3::text AS tenant, 'null'::jsonb AS payload")}) SELECT 1`,
      [again.name, keyOfWork, tenant],
    );

  it('runs work once more when it was added while it ran, and keeps its pause after a failure', async () => {
    const { started, handle, end, ends } = controlled();
    await start(again, handle);
    await add('a');
    await add('a');
    work.wake(again.name);
    await untilStarted(started, 1);

    await add('a');
    end('a');
    await untilStarted(started, 2);
    ends.get('a')!.reject(new ServerBusy('slow down', 60_000));
    await waitFor(
      () => listAll(),
      ([row]) => row?.state === 'waiting',
    );
    await add('a');

    expect(await listAll()).toMatchObject([{ state: 'waiting', attempts: 1, tenant: 'alice' }]);
  });

  it('alternates work that another statement adds with other tenants', async () => {
    for (const key of ['a1', 'a2', 'a3']) await add(key);
    await add('b1', 'bob');
    const started: string[] = [];

    await start(again, async ({ key }) => void started.push(key), { concurrency: 1 });
    await untilEmpty();

    expect(started).toEqual(['a1', 'b1', 'a2', 'a3']);
  });
});

describe('turns', () => {
  it('alternates between tenants, however much work one has', async () => {
    await work.addNow(plain, keys('a', 50));
    await work.addNow(plain, [of('b0', { tenant: 'bob' }), of('b1', { tenant: 'bob' })]);
    const got: string[] = [];

    await start(plain, async ({ key }) => void got.push(key), { concurrency: 1 });
    await untilEmpty();

    expect(got.indexOf('b0')).toBeLessThan(3);
    expect(got.indexOf('b1')).toBeLessThan(5);
    expect(got.filter((key) => key.startsWith('a'))).toEqual(keys('a', 50).map(({ key }) => key));
  });

  it('gives a new tenant a turn beside the others in the middle of their work', async () => {
    await work.addNow(plain, [...keys('a', 20), ...keys('c', 20, { tenant: 'carol' })]);
    const got: string[] = [];
    const handle = async ({ key }: Work<number | null>) => {
      got.push(key);
      if (got.length === 9) await work.addNow(plain, [of('b', { tenant: 'bob' })]);
    };

    await start(plain, handle, { concurrency: 1 });
    await untilEmpty();

    expect(got.indexOf('b')).toBeLessThan(12);
  });

  it('limits the work that a process runs of one tenant', async () => {
    await work.addNow(plain, [...keys('a', 6), of('b', { tenant: 'bob' })]);
    const { started, handle, end } = controlled();

    await start(plain, handle, { concurrency: 4, perTenant: 2 });
    await untilStarted(started, 3);
    expect(started.sort()).toEqual(['a0', 'a1', 'b']);
    end('a0');
    await untilStarted(started, 4);

    expect(started.at(-1)).toBe('a2');
    for (const key of ['b', 'a1', 'a2']) end(key);
    for (const key of ['a3', 'a4', 'a5']) {
      await waitFor(() => started.includes(key));
      end(key);
    }
    await untilEmpty();
  });
});

describe('held tenants', () => {
  it('claims no work of held tenants, until the end of work lets them', async () => {
    await work.addNow(plain, [of('a', { tenant: 'alice' }), of('b', { tenant: 'bob' }), of('c', { tenant: 'bob' })]);
    const { started, handle, end } = controlled();
    let held = ['bob'];

    await start(plain, handle, { concurrency: 4, perTenant: 4, heldTenants: () => held });
    await untilStarted(started, 1);
    held = [];
    end('a');
    await untilStarted(started, 3);

    expect(started).toEqual(['a', 'b', 'c']);
    for (const key of ['b', 'c']) end(key);
    await untilEmpty();
  });
});

describe('costs', () => {
  /** Pages that each step reads in a queue with this much ready work of 100 tenants, each of its own ordering key. */
  async function pagesWith(probed: typeof plain, count: number) {
    await database.query('TRUNCATE work');
    const ofNumber = (number: number) =>
      of(`${number}`, {
        tenant: `tenant-${number % 100}`,
        orderingKey: probed.isOrdered ? `key-${number}` : undefined,
      });
    await rows.insertWork(
      probed,
      Array.from({ length: count }, (_, number) => ofNumber(number)),
    );
    await database.query('VACUUM ANALYZE work');
    const limits = { worker: 'me', leaseMs: 60_000, limit: 4, perTenant: 2, running: new Map([['tenant-1', 2]]) };
    const pages = async (run: () => Promise<unknown>) => pagesOf(database, await sentDuring(run));
    return {
      adding: await pages(() => rows.insertWork(probed, [of('new', { tenant: 'new', orderingKey: 'new' })])),
      claiming: await pages(() => rows.claimWork(probed, limits)),
      ending: await pages(async () => rows.finishWork((await rows.claimWork(probed, limits))[0]!)),
      finding: await pages(() => rows.releaseDueWork([probed.name])),
    };
  }

  it.each([
    ['a queue without order', plain, 20_000],
    ['an ordered queue', ordered, 100_000],
  ])('costs the same to add, claim, end and poll when others wait in %s', async (_name, probed, count) => {
    const few = await pagesWith(probed, 1_000);
    const many = await pagesWith(probed, count);

    for (const step of ['adding', 'claiming', 'ending', 'finding'] as const)
      expect(many[step]).toBeLessThan(few[step] + 30);
  });

  it('claims the next work of a long queue at each end of work, without a look for due work', async () => {
    await rows.insertWork(plain, keys('many', 20));

    const sent = await sentDuring(async () => {
      await start(plain, () => Promise.resolve(), { concurrency: 1 });
      await untilEmpty();
    });

    const [claims, looks] = [/^UPDATE work SET state = 'running'/, /nextDueMs/].map(
      (statement) => sent.filter(({ text }) => statement.test(text)).length,
    );
    expect(claims).toBeGreaterThan(20);
    expect(looks).toBeLessThan(claims! / 2);
  });

  it('skips the claim at the end of work when the claim before left nothing', async () => {
    const done: string[] = [];
    await start(ordered, async ({ key }) => void done.push(key), { perTenant: 2 });
    await work.addNow(ordered, [of('first')]);
    await untilEmpty();

    const sent = await sentDuring(async () => {
      for (const key of ['a', 'b', 'c']) {
        await work.addNow(ordered, [of(key)]);
        await untilEmpty();
      }
    });

    expect(done).toEqual(['first', 'a', 'b', 'c']);
    expect(sent.filter(({ text }) => text.startsWith('WITH candidate'))).toHaveLength(3);
  });

  it('skips the claim at the end of work while other tenants have no further slot', async () => {
    const { started, handle, end } = controlled();
    await work.addNow(ordered, [of('a0'), of('a1'), of('c', { tenant: 'carol' })]);
    await start(ordered, handle, { perTenant: 1, heldTenants: () => ['carol'] });
    await untilStarted(started, 1);

    const others = ['b0', 'b1', 'b2', 'b3', 'b4', 'b5'];

    const sent = await sentDuring(async () => {
      for (const key of others) {
        await work.addNow(ordered, [of(key, { tenant: 'bob' })]);
        await waitFor(() => started.includes(key));
        end(key);
        await waitFor(async () => !(await listAll()).some((row) => row.key === key));
      }
    });
    end('a0');
    await waitFor(() => started.includes('a1'));
    end('a1');

    expect(started).toEqual(['a0', ...others, 'a1']);
    // An end that comes during the claim of the next work is an occasion.
    expect(sent.filter(({ text }) => text.startsWith('WITH candidate')).length).toBeLessThan(1.5 * others.length);
  });

  it('claims without reading work that waits, queues behind other work or is parked', async () => {
    const hour = new Date(Date.now() + 3_600_000);
    await rows.insertWork(ordered, keys('later', 5_000, { dueAt: hour }));
    await rows.insertWork(ordered, keys('behind', 5_000, { orderingKey: 'one' }));
    await rows.insertWork(ordered, keys('parked', 5_000, { dueAt: hour }));
    await database.query(`UPDATE work SET state = 'parked', waits_for = 'room' WHERE key LIKE 'parked%'`);
    await database.query('VACUUM ANALYZE work');
    const limits = { worker: 'me', leaseMs: 60_000, limit: 4, perTenant: Infinity, running: new Map<string, number>() };

    const pages = await pagesOf(database, await sentDuring(() => rows.claimWork(ordered, limits)));

    expect(pages).toBeLessThan(60);
  });
});

describe('ordering keys', () => {
  it('runs work of an ordering key one after the other, in the order of adding, and others beside it', async () => {
    const { started, handle, end } = controlled();
    await start(ordered, handle);

    await work.addNow(ordered, [of('a0', { orderingKey: 'a' }), of('a1', { orderingKey: 'a' })]);
    await work.addNow(ordered, [of('a2', { orderingKey: 'a' }), of('b0', { orderingKey: 'b' }), of('free')]);
    await untilStarted(started, 3);
    expect(started.sort()).toEqual(['a0', 'b0', 'free']);
    for (const key of ['a0', 'a1', 'a2']) {
      await waitFor(() => started.includes(key));
      expect(started.filter((one) => one > key && one.startsWith('a'))).toEqual([]);
      end(key);
    }

    ['b0', 'free'].forEach(end);
    await untilEmpty();
  });

  it('holds an ordering key while its work is retried, and continues when it is given up', async () => {
    const got: string[] = [];
    const handle = async ({ key, attempt }: Work<number | null>) => {
      got.push(`${key} ${attempt}`);
      if (key === 'a0' && attempt === 1) throw new Error('again');
      if (key === 'a0') throw new GiveUp('never');
    };

    await work.addNow(ordered, keys('a', 3, { orderingKey: 'a' }));
    await start(ordered, handle);
    await waitFor(() => got.length === 4);

    expect(got).toEqual(['a0 1', 'a0 2', 'a1 1', 'a2 1']);
  });

  it('runs work first that is added later, when the handler yields to it', async () => {
    const got: string[] = [];
    const done = new Set<string>();
    await start(
      ordered,
      async ({ key, attempt }) => {
        got.push(`${key} ${attempt}`);
        if (key !== 'first' && !done.has('first')) throw new Yield('first is missing', ['first'], 10);
        done.add(key);
      },
      { attempts: 1 },
    );
    await work.addNow(ordered, [of('second', { orderingKey: 'a' }), of('third', { orderingKey: 'a' })]);
    await waitFor(() => got.filter((entry) => entry === 'second 1').length > 2);

    await work.addNow(ordered, [of('first', { orderingKey: 'a' })]);
    await untilEmpty();

    expect([...done]).toEqual(['first', 'third', 'second']);
    expect(got.slice(got.indexOf('first 1'))).toEqual(['first 1', 'third 1', 'second 1']);
  });

  it('orders work that was added out of order, in few attempts', async () => {
    const all = Array.from({ length: 20 }, (_, index) => `a${String(index).padStart(2, '0')}`);
    const done: string[] = [];
    let attempts = 0;
    await work.addNow(
      ordered,
      [...all].reverse().map((key) => of(key, { orderingKey: 'a' })),
    );

    await start(
      ordered,
      async ({ key }) => {
        attempts += 1;
        const missing = all.filter((other) => other < key && !done.includes(other));
        if (missing.length > 0) throw new Yield('out of order', missing, 10);
        done.push(key);
      },
      { attempts: 1 },
    );
    await untilEmpty();

    expect(done).toEqual(all);
    expect(attempts).toBeLessThanOrEqual(2 * all.length);
  });

  it('keeps the order of keys under 8 processes, concurrent adding and failures', async () => {
    const running = new Map<string, number>();
    const ended = new Map<string, number[]>();
    let most = 0;
    const retried = new Set<string>();
    const handle = async ({ key, tenant, payload }: Work<number | null>) => {
      const count = (running.get(tenant) ?? 0) + 1;
      running.set(tenant, count);
      most = Math.max(most, count);
      await new Promise(setImmediate);
      running.set(tenant, count - 1);
      if (payload! % 25 === 0 && !retried.has(key)) {
        retried.add(key);
        throw new RetryLater('later', 1);
      }
      ended.set(tenant, [...(ended.get(tenant) ?? []), payload!]);
    };
    for (let process = 0; process < 8; process += 1) await start(ordered, handle, { concurrency: 3 });
    work.onAdded((name) => runners.forEach((runner) => runner.wake(name)));

    const addAll = async (tenant: string) => {
      for (let number = 0; number < 60; number += 1)
        await work.addNow(ordered, [of(`${tenant}${number}`, { tenant, orderingKey: tenant, payload: number })]);
    };
    await Promise.all(['a', 'b', 'c', 'd'].map(addAll));
    await untilEmpty();

    expect(most).toBe(1);
    for (const numbers of ended.values()) expect(numbers).toEqual(numbers.map((_, index) => index));
    expect([...ended.values()].flat()).toHaveLength(240);
  });

  it('loses no work when one key is added to from many transactions at once', async () => {
    let running = 0;
    let most = 0;
    let count = 0;
    await start(ordered, async () => {
      running += 1;
      most = Math.max(most, running);
      await new Promise(setImmediate);
      running -= 1;
      count += 1;
    });

    const adding = Array.from({ length: 8 }, async (_, adder) => {
      for (let number = 0; number < 20; number += 1) {
        await database.transaction(async (tx) => {
          await work.add(tx, ordered, [of(`${adder}-${number}`, { orderingKey: 'one' })]);
          await new Promise(setImmediate);
        });
      }
    });
    await Promise.all(adding);
    await untilEmpty();

    expect({ most, count }).toEqual({ most: 1, count: 160 });
  });

  it('does not stop two transactions that add the same key at once', async () => {
    await work.addNow(ordered, [of('a', { orderingKey: 'k' })]);
    let both: Promise<void[]> | undefined;
    await database.transaction(async (tx) => {
      // Lets others read the row for the order, and change it only later.
      await tx.query(`SELECT 1 FROM work WHERE key = 'a' FOR SHARE`);
      both = Promise.all([1, 2].map(() => work.addNow(ordered, [of('a', { orderingKey: 'k' })])));
      await waitFor(async () => (await lockWaits(tx)) === 2);
    });

    await both;

    expect((await listAll()).map(({ key, state }) => [key, state])).toEqual([['a', 'ready']]);
  });

  it('continues an ordering key when a process ended between finishing work and promoting the next', async () => {
    await work.addNow(ordered, keys('a', 2, { orderingKey: 'one' }));
    await database.query(`DELETE FROM work WHERE key = 'a0'`);
    const done: string[] = [];

    await start(ordered, async ({ key }) => void done.push(key));
    await untilEmpty();

    expect(done).toEqual(['a1']);
  });
});

describe('failures', () => {
  it('retries failed work with a backoff, up to the number of attempts, and keeps it for an operator', async () => {
    const attempts: number[] = [];
    await start(
      plain,
      async ({ attempt }) => {
        attempts.push(attempt);
        throw new Error('It does not work.');
      },
      { attempts: 2 },
    );

    await work.addNow(plain, [of('a')]);
    const [row] = await waitFor(
      () => listAll(),
      ([first]) => first?.state === 'failed',
    );

    expect(attempts).toEqual([1, 2]);
    expect(row).toMatchObject({ attempts: 2, last_error: 'It does not work.' });
  });

  it('passes failed work to the failure handler instead, which may fail itself once', async () => {
    const reasons: string[] = [];
    const onFailed = async ({ key }: { key: string }, reason: string) => {
      reasons.push(`${key}: ${reason}`);
      if (reasons.length === 1) throw new Error('The database is away.');
    };

    await start(plain, () => Promise.reject(new GiveUp('broken')), { leaseMs: 300 }, onFailed);
    await work.addNow(plain, [of('a')]);
    await untilEmpty();

    expect(reasons).toEqual(['a: broken', 'a: broken']);
  });

  it('does not count a failure when the handler asks for a later try', async () => {
    const attempts: number[] = [];
    await start(
      plain,
      async ({ attempt }) => {
        attempts.push(attempt);
        if (attempts.length < 3) throw new RetryLater('busy', 10);
      },
      { attempts: 1 },
    );

    await work.addNow(plain, [of('a')]);
    await untilEmpty();

    expect(attempts).toEqual([1, 1, 1]);
  });

  it('counts failures apart from ends of processes that the work needs, which are retried as often', async () => {
    const seen: string[] = [];
    await start(
      plain,
      async ({ attempt, failures }) => {
        seen.push(`attempt ${attempt}, ${failures} failed`);
        throw attempt === 2 ? new RetryAfter('no', 0) : new Interrupted('The helper ended.');
      },
      { attempts: 4 },
    );

    await work.addNow(plain, [of('a')]);
    const row = await waitFor(
      async () => {
        await database.query(`UPDATE work SET due_at = now() WHERE state = 'waiting'`);
        runners[0]!.wakeAll();
        return (await listAll())[0]!;
      },
      ({ state }) => state === 'failed',
    );

    expect(seen).toEqual(['attempt 1, 0 failed', 'attempt 2, 0 failed', 'attempt 3, 1 failed', 'attempt 4, 1 failed']);
    expect(row).toMatchObject({ attempts: 4, failures: 1, last_error: 'The helper ended.' });
  });

  it('counts a failure when a server asks for a pause, which is a minimum', async () => {
    await start(plain, () => Promise.reject(new ServerBusy('slow down', 60_000)));

    await work.addNow(plain, [of('a')]);
    const [row] = await waitFor(
      () => listAll(),
      ([first]) => first?.state === 'waiting',
    );

    expect(row).toMatchObject({ attempts: 1, last_error: 'slow down' });
    expect(row!.due_at!.getTime() - Date.now()).toBeGreaterThan(50_000);
  });

  it('ends a handler that never returns, at its time limit', async () => {
    const signals: AbortSignal[] = [];
    await start(
      plain,
      ({ signal }) => {
        signals.push(signal);
        return new Promise(() => undefined);
      },
      { timeoutMs: 50, attempts: 1 },
    );

    await work.addNow(plain, [of('a')]);
    const [row] = await waitFor(
      () => listAll(),
      ([first]) => first?.state === 'failed',
    );

    expect(row!.last_error).toBe('The attempt took longer than 0.05 s.');
    expect(signals[0]!.aborted).toBe(true);
  });

  it('claims work of a dead process at once after the first end, then with a backoff, until the last', async () => {
    const limits = { worker: 'dead', leaseMs: 60_000, limit: 1, perTenant: 1, running: new Map() };
    const dieAt = async (attempts: number, limit: number) => {
      await rows.insertWork(plain, [of('a')]);
      await database.query('UPDATE work SET attempts = $1', [attempts - 1]);
      expect(await rows.claimWork(plain, limits)).toMatchObject([{ attempt: attempts }]);
      await rows.endLeasesOf('dead', [plain.name]);
      const { nextDueMs } = await rows.releaseDueWork([plain.name], [limit]);
      const [{ state }] = (await listAll()) as [WorkEntity];
      await database.query('DELETE FROM work');
      return { state, pauseMs: nextDueMs };
    };

    const ends = [];
    for (const attempts of [1, 2, 3, 9, 10]) ends.push(await dieAt(attempts, 10));
    ends.push(await dieAt(10, Infinity));

    expect(ends).toEqual([
      { state: 'ready', pauseMs: undefined },
      { state: 'waiting', pauseMs: 1_000 },
      { state: 'waiting', pauseMs: 2_000 },
      { state: 'waiting', pauseMs: 60_000 },
      { state: 'ready', pauseMs: undefined },
      { state: 'waiting', pauseMs: 60_000 },
    ]);
  });

  it('does not renew a lost lease and reports the loss', async () => {
    await rows.insertWork(plain, [of('a')]);
    const claimAs = async (worker: string) => {
      const limits = { worker, leaseMs: 60_000, limit: 1, perTenant: 1, running: new Map() };
      const [claimed] = await rows.claimWork(plain, limits);
      return { queue: plain.name, key: claimed!.key, lease: claimed!.lease };
    };
    const former = await claimAs('former');
    await rows.endLeasesOf('former', [plain.name]);
    await rows.releaseDueWork([plain.name]);
    await claimAs('current');
    const [before] = await listAll();

    expect(await rows.renewLeases([{ ...former, leaseMs: 3_600_000 }])).toEqual([former]);

    expect((await listAll())[0]!.due_at).toEqual(before!.due_at);
  });

  it('counts work of a process that dies as attempts', async () => {
    await work.addNow(plain, [of('a')]);
    const limits = { worker: 'dead', leaseMs: 1, limit: 1, perTenant: 1, running: new Map() };
    for (let attempt = 1; attempt <= 2; attempt += 1) {
      await waitFor(
        () => rows.releaseDueWork([plain.name]),
        ({ ready }) => ready.length === 1,
      );
      expect(await rows.claimWork(plain, limits)).toMatchObject([{ attempt }]);
    }
    const reasons: string[] = [];

    await start(
      plain,
      () => Promise.resolve(),
      { attempts: 2 },
      async (_failed, reason) => void reasons.push(reason),
    );
    await untilEmpty();

    expect(reasons).toEqual(['Every process that worked on it ended.']);
  });
});

describe('a clock of the database that went two hours ahead and back', () => {
  const due = async () => {
    const found = await listAll();
    return Object.fromEntries(found.map(({ key, due_at }) => [key, due_at !== null && due_at.getTime() <= Date.now()]));
  };

  it('delays retries and leases no further after the clock of the database went ahead and back', async () => {
    const dueAt = new Date(Date.now() + 3_600_000);
    await work.addNow(plain, [of('leased'), of('live'), of('retried'), of('busy'), of('scheduled', { dueAt })]);
    const limits = { worker: 'dead', leaseMs: 15_000, limit: 4, perTenant: 4, running: new Map() };
    const claimed = await rows.claimWork(plain, limits);
    const [retried, busy] = ['retried', 'busy'].map((name) => claimed.find(({ key }) => key === name)!);
    await rows.postponeWork(retried!, { pauseMs: 60_000, error: 'no', counts: 'failure' });
    await rows.postponeWork(busy!, { pauseMs: 7_200_000, error: 'busy', counts: 'attempt' });
    await database.query(`UPDATE work SET due_at = due_at + interval '2 hours' WHERE key IN ('leased', 'retried')`);

    const moved = await rows.advanceTooFarAhead();

    expect(moved).toBe(2);
    expect(await due()).toEqual({ leased: true, retried: true, live: false, busy: false, scheduled: false });
    const { ready } = await rows.releaseDueWork([plain.name], [10]);
    expect(ready).toEqual([plain.name]);
  });
});

describe('parked work', () => {
  it('does not claim parked work until it is woken by key', async () => {
    const attempts: number[] = [];
    let isOpen = false;
    await start(ordered, async ({ attempt, key }) => {
      attempts.push(attempt);
      if (!isOpen) throw new Park('no room', `room of ${key}`, new Date(Date.now() + 3_600_000));
    });
    await work.addNow(ordered, [of('a', { orderingKey: 'a' }), of('behind', { orderingKey: 'a' })]);
    await waitFor(
      () => listAll(),
      ([first]) => first?.state === 'parked',
    );

    isOpen = true;
    await work.unpark(ordered, 'room of another');
    expect((await listAll()).map(({ state }) => state)).toEqual(['parked', 'queued']);
    await work.unpark(ordered, 'room of a');
    await untilEmpty();

    expect(attempts).toEqual([1, 1, 1]);
  });

  it('claims parked work again at the end of its time', async () => {
    let attempts = 0;
    await start(plain, async () => {
      attempts += 1;
      if (attempts === 1) throw new Park('no room', 'room', new Date(Date.now() + 50));
    });

    await work.addNow(plain, [of('a')]);
    await untilEmpty();

    expect(attempts).toBe(2);
  });
});

describe('leases', () => {
  it('renews leases while the handler works', async () => {
    const { started, handle, end } = controlled();
    await start(plain, handle, { leaseMs: 600 });
    await work.addNow(plain, [of('a')]);
    await untilStarted(started, 1);
    const [{ due_at: first }] = (await listAll()) as [WorkEntity];

    await waitFor(
      () => listAll(),
      ([row]) => row!.due_at!.getTime() > first!.getTime() + 600,
    );

    expect(started).toEqual(['a']);
    end('a');
    await untilEmpty();
  });

  it('aborts the handler when another process has the lease, and ignores its late result', async () => {
    let signal: AbortSignal | undefined;
    let confirmed: unknown;
    const ended = new Promise<void>((resolve) => {
      void start(
        plain,
        async (one) => {
          signal = one.signal;
          await waitFor(() => one.signal.aborted);
          confirmed = await database.transaction((tx) => one.confirm(tx)).catch((error: unknown) => error);
          resolve();
        },
        { leaseMs: 300 },
      );
    });
    await work.addNow(plain, [of('a')]);
    await waitFor(() => signal !== undefined);

    await database.query(`UPDATE work SET lease = 'of another process', worker = 'other'`);
    await ended;
    await runners[0]!.stop();

    expect(signal!.reason).toBeInstanceOf(LeaseLost);
    expect(confirmed).toBeInstanceOf(LeaseLost);
    expect(await listAll()).toMatchObject([{ state: 'running', lease: 'of another process', attempts: 1 }]);
  });

  it('confirms leases in the transaction of the work, and holds them until its commit', async () => {
    const other = await openWorkDatabase(url);
    const seen: unknown[] = [];
    await start(plain, (one) =>
      database.transaction(async (tx) => {
        await one.confirm(tx);
        await other.query(`SELECT 1`);
        // The row is locked: its lease may end, but nobody can take it.
        seen.push(await new WorkRepository(other).releaseDueWork([plain.name]));
      }),
    );

    await work.addNow(plain, [of('a')]);
    await untilEmpty();

    expect(seen).toMatchObject([{ ready: [] }]);
    await other.close();
  });

  it('counts attempts anew after a step that was committed', async () => {
    const attempts: number[] = [];
    await start(
      plain,
      async (one) => {
        attempts.push(one.attempt);
        if (attempts.length < 3) {
          await database.transaction((tx) => one.advance(tx));
          throw new Error('broken after a step');
        }
      },
      { attempts: 2 },
    );

    await work.addNow(plain, [of('a')]);
    await untilEmpty();

    expect(attempts).toEqual([1, 2, 2]);
  });

  it('releases leases at a stop, without counting the attempt', async () => {
    const { started, handle, ends } = controlled();
    const runner = await start(plain, handle);
    await work.addNow(plain, [of('a')]);
    await untilStarted(started, 1);

    const stopped = runner.stop();
    ends.get('a')!.reject(new Error('aborted'));
    await stopped;

    expect(await listAll()).toMatchObject([{ state: 'ready', attempts: 0, lease: null }]);
  });

  it('releases leases when the stop begins during the claim', async () => {
    const { started, handle } = controlled();
    const claim = rows.claimWork.bind(rows);
    let stop = () => {};
    const claims = jest.spyOn(rows, 'claimWork').mockImplementation(async (...given) => {
      const claimed = await claim(...given);
      if (claimed.length > 0) stop();
      return claimed;
    });
    const runner = await start(plain, handle);
    stop = () => runner.beginStop();

    await work.addNow(plain, [of('a')]);
    await waitFor(() => claims.mock.calls.length > 0);
    await runner.stop();

    expect(started).toEqual([]);
    expect(await listAll()).toMatchObject([{ state: 'ready', attempts: 0 }]);
  });

  it('ends leases of the only worker when it starts again', async () => {
    await work.addNow(plain, [of('a')]);
    await rows.claimWork(plain, { worker: 'me', leaseMs: 60_000, limit: 1, perTenant: 1, running: new Map() });
    const attempts: number[] = [];
    const runner = new WorkRunner(rows, { worker: 'me', isOnlyWorker: true, logger });
    runner.register(plain, { concurrency: 1 }, async ({ attempt }) => void attempts.push(attempt));
    runners.push(runner);

    await runner.start();
    await untilEmpty();

    expect(attempts).toEqual([2]);
  });
});

describe('an operator', () => {
  it('retries failed work for an operator, and discards work that does not run', async () => {
    let isBroken = true;
    const { started, handle, end } = controlled();
    await start(plain, async (one) => {
      if (one.key === 'running') return handle(one);
      if (isBroken) throw new GiveUp('broken');
    });
    await work.addNow(plain, keys('a', 3));
    await work.addNow(plain, [of('running')]);
    await untilStarted(started, 1);
    await waitFor(
      () => listAll(),
      (all) => all.filter(({ state }) => state === 'failed').length === 3,
    );

    expect(await rows.discardWork(plain.name, 'a0')).toBe(true);
    expect(await rows.discardWork(plain.name, 'running')).toBe(false);
    expect(await rows.discardWork(plain.name, 'unknown')).toBe(false);
    isBroken = false;
    expect(await rows.retryWork(plain.name)).toBe(2);
    runners[0]!.wakeAll();
    await waitFor(
      () => listAll(),
      (all) => all.length === 1,
    );

    end('running');
    await untilEmpty();
  });
});

it('makes queued work ready that nobody has promoted, at the second look only', async () => {
  await work.addNow(ordered, keys('a', 2, { orderingKey: 'a' }));
  // As between the two commits of work that is being finished, or for ever when its process has ended there.
  await database.query(`DELETE FROM work WHERE key = 'a0'`);
  const looks = jest.spyOn(rows, 'findForgotten');
  const promotions = jest.spyOn(rows, 'promoteForgotten');
  const done: string[] = [];

  await start(ordered, async ({ key }) => void done.push(key));
  await waitFor(() => looks.mock.calls.length === 1);
  expect(await looks.mock.results[0]!.value).toEqual([{ queue: ordered.name, key: 'a1' }]);
  expect(promotions).not.toHaveBeenCalled();

  await waitFor(() => done.length === 1);
  expect(promotions).toHaveBeenCalledTimes(1);
});

it('promotes no work that was promoted by itself since the first look', async () => {
  await work.addNow(ordered, keys('a', 3, { orderingKey: 'a' }));
  await database.query(`DELETE FROM work WHERE key = 'a0'`);
  const forgotten = await rows.findForgotten();
  await work.addNow(ordered, [of('b0', { orderingKey: 'b' })]);
  await database.query(`UPDATE work SET state = 'ready', position = 1 WHERE key = 'a1'`);

  expect(await rows.promoteForgotten(forgotten)).toBe(0);
  expect(await rows.findForgotten()).toEqual([]);
});
