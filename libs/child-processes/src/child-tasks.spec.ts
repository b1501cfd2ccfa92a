import { workerFile } from '@parley/background/worker-file';
import { waitFor } from '@parley/testing/wait-for';
import { ChildTasks, type ChildTasksOptions } from './child-tasks';
import { residentBytesOf } from './resident-memory';
import type { TestTask } from './test/tasks.child';

const options: ChildTasksOptions = {
  program: workerFile(`${__dirname}/test`, 'tasks.child'),
  heapMb: 48,
  residentMb: 256,
  keptResidentMb: 200,
  children: 1,
  childrenEach: 1,
  maxWaitingEach: 10,
  processorMs: 10_000,
  deadlineMs: 100_000,
};
let tasks: ChildTasks<TestTask, unknown>;

function open(changed: Partial<ChildTasksOptions> = {}): void {
  tasks = new ChildTasks({ ...options, ...changed });
}

afterEach(async () => {
  jest.restoreAllMocks();
  await tasks.close();
});

const run = (task: TestTask, content?: Uint8Array[]) => tasks.run('one', task, content);
const pid = async () => (await run('pid')).result as number;
const isGone = (id: number) =>
  waitFor(
    () => residentBytesOf(id),
    (bytes) => bytes === 0,
  );

/** The deadlines of the tasks from here on, which pass when the test says so. */
function watchDeadlines(): AbortController[] {
  const deadlines: AbortController[] = [];
  jest.spyOn(AbortSignal, 'timeout').mockImplementation(() => {
    const deadline = new AbortController();
    deadlines.push(deadline);
    return deadline.signal;
  });
  return deadlines;
}

it('transfers content in both directions, in segments', async () => {
  open();
  const segments = Array.from({ length: 30 }, (_, index) => Buffer.alloc(1_000_000, index));

  const { result, content } = await run('echo twice', segments);

  const sent = Buffer.concat(segments);
  expect(result).toBe(sent.length);
  expect(Buffer.concat(content).equals(Buffer.concat([sent, sent]))).toBe(true);
  expect(Math.max(...content.map(({ length }) => length))).toBeLessThanOrEqual(1_000_000);
});

it('does tasks one after the other on one child, which has no environment', async () => {
  open();
  const first = await pid();

  expect((await run('environment')).result).not.toHaveProperty('PATH');
  const { content } = await run('echo twice', [Buffer.from('ab')]);
  expect(Buffer.concat(content).toString()).toBe('abab');
  expect((await run('echo twice')).content).toEqual([]);
  expect(await pid()).toBe(first);
});

it('starts no more children than allowed, and starts none before the first task', async () => {
  open({ children: 2, childrenEach: 2 });
  const pids = await Promise.all(Array.from({ length: 6 }, pid));

  expect(new Set(pids).size).toBeLessThanOrEqual(2);
});

it.each<[TestTask, object, RegExp]>([
  ['throw', { name: 'Error' }, /thrown by the program/],
  ['exceed a length', { failure: 'memory' }, /memory limit/],
  ['fill the heap', { failure: 'memory' }, /memory limit/],
  ['exit', { failure: 'outage' }, /ended: exit code 7/],
  ['kill this process', { failure: 'outage' }, /ended: SIGKILL/],
])('reports why the task "%s" failed, and does the next one', async (task, failure, message) => {
  open();

  await expect(run(task)).rejects.toMatchObject({ ...failure, message: expect.stringMatching(message) as string });
  expect(await pid()).toBeGreaterThan(0);
});

it('ends a task that exceeds its processor time', async () => {
  open({ processorMs: 300 });
  const first = await pid();

  await expect(run('block')).rejects.toMatchObject({ failure: 'processor time' });

  await isGone(first);
});

it('reports an outage when a task neither ends nor uses a processor before the deadline', async () => {
  open();
  const first = await pid();
  const deadlines = watchDeadlines();

  const failed = expect(run('hang')).rejects.toMatchObject({ failure: 'outage' });
  deadlines[0]!.abort();
  await failed;

  await isGone(first);
});

it('replaces a child that was killed while it was idle', async () => {
  open();
  const first = await pid();
  process.kill(first, 'SIGKILL');
  await isGone(first);

  expect(await pid()).not.toBe(first);
});

it('begins a task again when a warm child is killed before it has the content', async () => {
  open();
  const first = await pid();
  const segments = Array.from({ length: 30 }, () => Buffer.alloc(1_000_000));

  const done = run('echo twice', segments);
  process.kill(first, 'SIGKILL');

  expect((await done).result).toBe(30_000_000);
});

it('fails a task whose warm child is killed after it has begun, and does not begin it again', async () => {
  open();
  const first = await pid();
  const take = jest.spyOn(tasks['pool'], 'take');

  const failed = expect(run('hang')).rejects.toMatchObject({ failure: 'outage' });
  await waitFor(() => take.mock.results.some(({ value }) => tasks['running'].get(value)?.hasStarted));
  process.kill(first, 'SIGKILL');

  await failed;
  expect(take).toHaveBeenCalledTimes(1);
});

it('alternates between tenants, and refuses the tasks of a tenant that has too many', async () => {
  open({ maxWaitingEach: 2, processorMs: 300 });
  const order: string[] = [];
  const by = (tenant: string, task: TestTask = 'pid') => tasks.run(tenant, task).finally(() => order.push(tenant));

  const slow = by('many', 'block').catch(() => undefined);
  const waiting = [by('many'), by('many')];
  await expect(tasks.run('many', 'pid')).rejects.toMatchObject({ failure: 'busy' });
  await Promise.all([slow, ...waiting, by('few')]);

  expect(order).toEqual(['many', 'few', 'many', 'many']);
});

it('refuses a task for which no child becomes free before the deadline', async () => {
  open();
  const deadlines = watchDeadlines();
  const hanging = run('hang').catch((error: unknown) => error);

  const refused = expect(run('pid')).rejects.toMatchObject({ failure: 'busy' });
  deadlines[1]!.abort();
  await refused;

  await tasks.close();
  expect(await hanging).toMatchObject({ failure: 'outage' });
});

it('ends running and waiting tasks on close, and starts no child afterwards', async () => {
  open();
  const all = Promise.allSettled([run('hang'), run('pid')]);

  await tasks.close();

  expect(await all).toMatchObject([{ reason: { failure: 'outage' } }, { reason: { failure: 'outage' } }]);
  await expect(run('pid')).rejects.toMatchObject({ failure: 'outage' });
});
