// 22 s: the database is away for 20 s, and a lease of 15 s ends, while the other tests run.
import { Database } from '@parley/persistence/database';
import { run } from '@parley/testing/running-platform';
import { waitFor } from '@parley/testing/wait-for';
import { effectTable, gate, type Step, steps } from './test/steps';
import { createWorkDatabase, workSchema } from './test/work-database';
import { WorkRepository } from './work.repository';

type Process = ReturnType<typeof run>;
interface Effect {
  key: string;
  kind: 'started' | 'done';
  worker: string;
}

/** Database of its own, and the worker processes on it. */
class Scene {
  private readonly running: Process[] = [];
  readonly rows: WorkRepository;

  private constructor(
    readonly url: string,
    readonly database: Database,
    private readonly drop: () => Promise<void>,
  ) {
    this.rows = new WorkRepository(database);
  }

  static async open(): Promise<Scene> {
    const { url, database, drop } = await createWorkDatabase();
    await database.query(effectTable);
    return new Scene(url, database, drop);
  }

  async close(): Promise<void> {
    for (const { pid } of this.running) tryKill(pid, 'SIGKILL');
    await Promise.all(this.running.map(({ ended }) => ended));
    await this.drop();
  }

  async start(worker: string, env?: Record<string, string>): Promise<Process> {
    const process_ = this.spawn(worker, env);
    await process_.said(/Working/);
    return process_;
  }

  /** Starts a process that kills itself. */
  async runToItsEnd(worker: string, env?: Record<string, string>): Promise<void> {
    await this.spawn(worker, env).ended;
  }

  private spawn(worker: string, env: Record<string, string> = {}): Process {
    const process_ = run('dist/libs/work-queue/src/test/worker-process.js', {
      DATABASE_URL: this.url,
      WORKER: worker,
      ...env,
    });
    this.running.push(process_);
    return process_;
  }

  async add(orderingKeys: string[], count: number, payload: Step): Promise<void> {
    const works = orderingKeys.flatMap((orderingKey) =>
      Array.from({ length: count }, (_, number) => ({
        key: `${orderingKey}-${String(number).padStart(3, '0')}`,
        tenant: orderingKey,
        orderingKey,
        payload,
      })),
    );
    await this.rows.insertWork(steps, works);
  }

  effects(): Promise<Effect[]> {
    return this.database.query<Effect>('SELECT key, kind, worker FROM effect ORDER BY id');
  }

  readonly states = async (): Promise<Record<string, string>> =>
    Object.fromEntries((await this.rows.listWork({ limit: 100 })).map(({ key, state }) => [key, state]));

  async untilDone(): Promise<Effect[]> {
    await waitFor(async () => (await this.rows.listWork({ limit: 1 })).length === 0, Boolean, 60_000);
    return this.effects();
  }
}

let scene: Scene;
let absence: Promise<void>;
let frozenWorker: Promise<void>;

beforeAll(() => {
  absence = inScene(goOnAfterAbsence);
  frozenWorker = inScene(ignoreLateResult);
  // The last tests report them.
  for (const slow of [absence, frozenWorker]) slow.catch(() => undefined);
});

beforeEach(async () => {
  scene = await Scene.open();
});

afterEach(() => scene.close());

async function kill(process_: Process): Promise<void> {
  tryKill(process_.pid, 'SIGKILL');
  await process_.ended;
}

function tryKill(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    // It has ended already.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

/** Each key is done at least once, and no key of an ordering key after a later one. */
function expectCompleteAndInOrder(all: Effect[], orderingKeys: string[], count: number): void {
  for (const orderingKey of orderingKeys) {
    const done = all
      .filter(({ key, kind }) => kind === 'done' && key.startsWith(`${orderingKey}-`))
      .map(({ key }) => key);
    expect(done).toEqual([...done].sort());
    expect(new Set(done).size).toBe(count);
  }
}

const keys = ['a', 'b', 'c', 'd', 'e', 'f'];

async function inScene(test: (own: Scene) => Promise<void>): Promise<void> {
  const own = await Scene.open();
  try {
    await test(own);
  } finally {
    await own.close();
  }
}

async function goOnAfterAbsence(away: Scene): Promise<void> {
  await away.add(keys, 15, { takesMs: 10 });
  await away.start('steady');
  await waitFor(async () => (await away.effects()).length > 10);
  const name = new URL(away.url).pathname.slice(1);
  const other = await Database.open({ ...workSchema, url: away.url.replace(/\/[^/]*$/, '/postgres'), poolSize: 1 });

  await other.query(`ALTER DATABASE "${name}" ALLOW_CONNECTIONS false`);
  await other.query('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1', [name]);
  await other.query('SELECT pg_sleep(20)');
  await other.query(`ALTER DATABASE "${name}" ALLOW_CONNECTIONS true`);
  await other.close();

  expectCompleteAndInOrder(await away.untilDone(), keys, 15);
}

/** With the lease of the product. */
async function ignoreLateResult(own: Scene): Promise<void> {
  const lease = { LEASE_MS: '15000' };
  // Long enough to be frozen before it ends.
  await own.add(['a'], 2, { takesMs: 3_000 });
  const frozen = await own.start('frozen', lease);
  await waitFor(async () => (await own.effects()).length === 1);
  process.kill(frozen.pid, 'SIGSTOP');
  await own.start('heir', lease);
  await waitFor(async () => (await own.effects()).some(({ kind }) => kind === 'done'));

  process.kill(frozen.pid, 'SIGCONT');
  const all = await own.untilDone();

  expect(all.filter(({ kind }) => kind === 'done').map(({ key }) => key)).toEqual(['a-000', 'a-001']);
  expect(all[0]).toMatchObject({ kind: 'started', worker: 'frozen' });
  expect(all.find(({ kind }) => kind === 'done')).toMatchObject({ worker: 'heir' });
}

describe('A process that is killed', () => {
  const blockers = ['running', 'other-1', 'other-2', 'other-3'];

  /** One piece of work in each state, whose key is the state; the process has no place left. */
  async function workInEachState(): Promise<Process> {
    const ended: [key: string, first: Step['first']][] = [
      ['waiting', 'fails'],
      ['parked', 'is parked'],
      ['failed', 'gives up'],
    ];
    for (const [key, first] of ended) await addStep(key, key, { first });
    const killed = await scene.start('killed');
    await waitFor(scene.states, (states) => ended.every(([key]) => states[key] === key));
    for (const key of blockers) await addStep(key, key, { hangsIn: 'killed' });
    await addStep('queued', 'running', {});
    await waitFor(async () => (await scene.effects()).length === blockers.length);
    await addStep('ready', 'ready', {});
    return killed;
  }

  const addStep = (key: string, orderingKey: string, step: Partial<Step>) =>
    scene.rows.insertWork(steps, [{ key, tenant: orderingKey, orderingKey, payload: { takesMs: 1, ...step } }]);
  const doneBy = async (key: string) =>
    (await scene.effects())
      .filter((effect) => effect.key === key && effect.kind === 'done')
      .map(({ worker }) => worker);

  it('loses no work of a killed process, in whichever state it is', async () => {
    const killed = await workInEachState();
    const inEachState = ['failed', 'parked', 'queued', 'ready', 'running', 'waiting'];
    expect(await scene.states()).toMatchObject(Object.fromEntries(inEachState.map((state) => [state, state])));
    await kill(killed);

    await scene.start('heir');

    await waitFor(scene.states, (states) => Object.keys(states).length === 3);
    expect(await scene.states()).toEqual({ failed: 'failed', parked: 'parked', waiting: 'waiting' });
    await scene.database.query(`UPDATE work SET due_at = now() WHERE state = 'waiting'`);
    await scene.rows.unparkWork(steps.name, gate);
    await scene.rows.retryWork(steps.name, 'failed');
    const all = await scene.untilDone();
    for (const key of [...inEachState, ...blockers]) expect([key, await doneBy(key)]).toEqual([key, ['heir']]);
    const done = all.filter(({ kind }) => kind === 'done').map(({ key }) => key);
    expect(done.indexOf('running')).toBeLessThan(done.indexOf('queued'));
  });

  it.each([
    ['after the effect of its work, before the work is finished', 'finish_work', ['killed', 'heir']],
    ['before the next work of the same ordering key becomes ready', 'promote_next_work', ['killed']],
  ])('loses no work when a process is killed %s', async (_when, statement, workers) => {
    await addStep('first', 'a', {});
    await addStep('next', 'a', {});
    await scene.runToItsEnd('killed', { KILL_AT: statement });

    await scene.start('heir');
    await scene.untilDone();

    expect(await doneBy('first')).toEqual(workers);
    expect(await doneBy('next')).toEqual(['heir']);
  });
});

it('loses no work and keeps the order while workers are killed and replaced', async () => {
  await scene.add(keys, 25, { takesMs: 5 });
  let workers = await Promise.all(['one', 'two'].map((name) => scene.start(name)));

  for (let round = 0; round < 6; round += 1) {
    const before = (await scene.effects()).length;
    await waitFor(
      async () =>
        (await scene.effects()).length > before + 10 || (await scene.rows.listWork({ limit: 1 })).length === 0,
    );
    await kill(workers[0]!);
    workers = [workers[1]!, await scene.start(`replacement ${round}`)];
  }

  expectCompleteAndInOrder(await scene.untilDone(), keys, 25);
});

it('does each step of work once on two replicas whose clocks differ by a minute', async () => {
  await scene.add(keys, 10, { takesMs: 2 });

  await Promise.all([
    scene.start('behind', { CLOCK_AHEAD_MS: '-30000' }),
    scene.start('ahead', { CLOCK_AHEAD_MS: '30000' }),
  ]);
  const all = await scene.untilDone();

  expectCompleteAndInOrder(all, keys, 10);
  expect(all.filter(({ kind }) => kind === 'done')).toHaveLength(60);
  expect(all.filter(({ kind }) => kind === 'started')).toHaveLength(60);
});

it('gives up work that ends its process at every attempt, and continues with the work behind it', async () => {
  await scene.rows.insertWork(steps, [
    { key: 'a-000', tenant: 'a', orderingKey: 'a', payload: { takesMs: 1, isPoisoned: true } },
    { key: 'a-001', tenant: 'a', orderingKey: 'a', payload: { takesMs: 1 } },
  ]);
  await scene.database.query('UPDATE work SET attempts = 99');
  await scene.runToItsEnd('poisoned');

  await scene.start('heir');

  await waitFor(async () => (await scene.effects()).some(({ kind }) => kind === 'done'));
  const [failed] = await scene.rows.listWork({ limit: 10 });
  expect(failed).toMatchObject({ key: 'a-000', state: 'failed', last_error: 'Every process that worked on it ended.' });
});

it('ignores the late result of a worker that was frozen beyond its lease', () => frozenWorker);

it('continues work when the database was away for 20 s', () => absence);
