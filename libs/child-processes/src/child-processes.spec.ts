import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import os, { constants, getPriority } from 'node:os';
import { workerFile } from '@parley/background/worker-file';
import { waitFor } from '@parley/testing/wait-for';
import { ChildPool } from './child-pool';
import type { ProcessLimits } from './limited-process';
import { ProcessorTimer } from './processor-timer';
import { residentBytesOf } from './resident-memory';
import { statFieldsOf } from './runnable-time';
import { SupervisedChild } from './supervised-child';
import type { TestOrder } from './test/obedient.child';
import { WorkTimer } from './work-timer';

const program = workerFile(`${__dirname}/test`, 'obedient.child');
const limits = { program, heapMb: 128, residentMb: 256 };
type Child = SupervisedChild<TestOrder, unknown>;
const children: Child[] = [];

function start(options: Partial<ProcessLimits> = {}): Child {
  const child: Child = new SupervisedChild({ ...limits, ...options });
  children.push(child);
  return child;
}

afterEach(async () => {
  await Promise.all(
    children.splice(0).map((child) => {
      child.kill();
      return child.ended;
    }),
  );
});

const ask = (child: Child, order: TestOrder) =>
  new Promise<unknown>((resolve) => {
    child.watch(resolve);
    child.send(order);
  });
const isGone = (pid: number) =>
  waitFor(
    () => residentBytesOf(pid),
    (bytes) => bytes === 0,
  );

it('exchanges messages with a child, which receives bytes', async () => {
  const child = start();

  const answer = ask(child, { readBytes: 9 });
  child.data.write('five ');
  child.data.write('more and the rest');

  expect(await answer).toBe('five more');
  expect(await ask(child, { readBytes: 13 })).toBe(' and the rest');
});

it('passes only the given environment to a child process', async () => {
  process.env['PARLEY_SECRET_KEY'] = 'of the parent';
  try {
    const environment = (await ask(start({ env: { GIVEN: 'yes' } }), 'environment')) as Record<string, string>;

    expect(environment).toMatchObject({ GIVEN: 'yes' });
    expect(JSON.stringify(environment)).not.toContain('of the parent');
    if (process.platform === 'linux') expect(environment['coreLimit']).toBe('0');
  } finally {
    delete process.env['PARLEY_SECRET_KEY'];
  }
});

it.each<[string, string[], number]>([
  ['a child', [], constants.priority.PRIORITY_BELOW_NORMAL],
  ['a child that its wrapper forks', ['sh', '-c', '"$@" & wait', 'sh'], constants.priority.PRIORITY_BELOW_NORMAL],
  ['a child that comes last', [], constants.priority.PRIORITY_LOW],
  ['a child that requests wait for', [], 0],
])('runs %s with a priority after this process', async (_case, wrapper, niceness) => {
  const pid = (await ask(start({ wrapper, niceness }), 'pid')) as number;

  expect(getPriority(pid)).toBe(Math.min(getPriority() + niceness, constants.priority.PRIORITY_LOW));
});

it('gives each child a process group of its own, in the session of this process', async () => {
  const [child, sibling] = [start(), start()];
  await Promise.all([ask(child, 'pid'), ask(sibling, 'pid')]);

  const fields = await Promise.all([process.pid, child.pid!, sibling.pid!].map(statFieldsOf));

  if (process.platform !== 'linux') return;
  expect(new Set(fields.map((all) => all![2])).size).toBe(3);
  expect(new Set(fields.map((all) => all![3])).size).toBe(1);
});

it('reports the end of a child although a process that it left behind holds its pipes', async () => {
  // Leaves its process group, as only native code could.
  const wrapper = ['perl', '-e', 'unless (fork) { setpgrp 0, 0; sleep 60; exit } exec { $ARGV[0] } @ARGV'];
  const child = start({ wrapper });
  await ask(child, 'pid');

  child.kill();

  expect(await child.ended).toMatchObject({ cause: 'crash' });
});

it('ends a child that changes the flags of V8', async () => {
  const child = start();
  child.send('set a flag of V8');

  expect(await child.ended).toMatchObject({ cause: 'crash', detail: expect.stringMatching(/^SIGTRAP: V8 ended/) });
});

it('ends a child that exceeds its heap limit', async () => {
  const child = start({ heapMb: 48 });

  child.send('fill the heap');

  expect(await child.ended).toEqual({ cause: 'memory' });
  expect(child.isAlive).toBe(false);
});

it('ends a child whose buffers exceed its limit of resident memory', async () => {
  const child = start();

  child.watch(() => undefined);
  child.send('fill buffers');

  expect(await child.ended).toEqual({ cause: 'memory' });
});

it('reports how a child ended by itself', async () => {
  const child = start();

  child.send('exit');

  expect(await child.ended).toEqual({ cause: 'crash', detail: expect.stringMatching(/^exit code 7/) });
});

it('reports why a program does not start', async () => {
  const child = start({ program: '/nowhere/program.js' });

  expect(await child.ended).toEqual({ cause: 'crash', detail: expect.stringContaining('/nowhere/program.js') });
  child.send('pid');
  child.kill();
});

describe('when the parent is killed', () => {
  let parent: ChildProcess;

  async function childOfParent(order: TestOrder, path = process.env['PATH']): Promise<number> {
    const script = `
      const { SupervisedChild } = require('./dist/libs/child-processes/src/supervised-child.js');
      const child = new SupervisedChild(${JSON.stringify(limits)});
      child.watch((pid) => console.log(pid));
      child.send(${JSON.stringify(order)});`;
    parent = spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'pipe', 'inherit'], env: { PATH: path } });
    const [line] = (await once(parent.stdout!, 'data')) as [Buffer];
    return Number(line.toString());
  }

  it.each(['pid', 'block'] as const)('ends a child when the parent is killed, after the order "%s"', async (order) => {
    const pid = await childOfParent(order);

    parent.kill('SIGKILL');

    await isGone(pid);
  });

  it('ends a blocked child when the parent is killed, also where no program has the kernel do so', async () => {
    const pid = await childOfParent('block', '');

    parent.kill('SIGKILL');

    await isGone(pid);
  });
});

describe('a pool', () => {
  const options = { ...limits, idleMs: 60_000, keptResidentMb: 200 };
  let pool: ChildPool<TestOrder, unknown>;

  afterEach(() => pool.close());

  it('reuses a warm child of a pool, and never shares one', async () => {
    pool = new ChildPool(options);
    const first = pool.take();
    const pid = await ask(first, 'pid');
    await pool.giveBack(first);

    const [again, other] = [pool.take(), pool.take()];

    expect(await ask(again, 'pid')).toBe(pid);
    expect(await ask(other, 'pid')).not.toBe(pid);
  });

  it('replaces a child of a pool that ended while idle', async () => {
    pool = new ChildPool(options);
    const first = pool.take();
    const pid = await ask(first, 'pid');
    await pool.giveBack(first);
    first.kill();
    await first.ended;

    expect(await ask(pool.take(), 'pid')).not.toBe(pid);
  });

  it('discards a child of a pool with too much memory', async () => {
    pool = new ChildPool({ ...options, keptResidentMb: 1 });
    const child = pool.take();
    await ask(child, 'pid');

    await pool.giveBack(child);

    expect(pool.take()).not.toBe(child);
    await child.ended;
  });

  it('ends a child of a pool after the idle timeout', async () => {
    pool = new ChildPool({ ...options, idleMs: 1 });
    const child = pool.take();
    await ask(child, 'pid');

    await pool.giveBack(child);

    await child.ended;
  });

  it('ends all children of a pool on close', async () => {
    pool = new ChildPool(options);
    const [busy, idle] = [pool.take(), pool.take()];
    await Promise.all([ask(busy, 'pid'), ask(idle, 'pid')]);
    await pool.giveBack(idle);

    await pool.close();

    expect([busy.isAlive, idle.isAlive]).toEqual([false, false]);
  });
});

describe('a processor timer', () => {
  /** Processor time of a process that the test moves on. */
  let usedMs: number | undefined;

  beforeEach(() => {
    usedMs = 5_000;
    jest.useFakeTimers();
  });
  afterEach(() => {
    jest.restoreAllMocks();
    jest.useRealTimers();
  });

  const pass = (ms: number) => jest.advanceTimersByTimeAsync(ms);

  it('counts processor time from the start of a timer, however long the process waits', async () => {
    const onElapsed = jest.fn();
    const timer = new ProcessorTimer(() => Promise.resolve(usedMs), 1_000, onElapsed);
    timer.start();
    await pass(60_000);
    usedMs! += 999;
    await pass(60_000);
    expect(onElapsed).not.toHaveBeenCalled();

    usedMs! += 1;
    await pass(20);

    expect(onElapsed).toHaveBeenCalledTimes(1);
    expect(jest.getTimerCount()).toBe(0);
  });

  it('looks again before all processors together could use up the rest of the processor time', async () => {
    jest.spyOn(os, 'availableParallelism').mockReturnValue(4);
    const onElapsed = jest.fn();
    const timer = new ProcessorTimer(() => Promise.resolve(usedMs), 1_000, onElapsed);
    timer.start();
    await pass(0);
    usedMs! += 1_000;

    await pass(249);
    expect(onElapsed).not.toHaveBeenCalled();
    await pass(1);

    expect(onElapsed).toHaveBeenCalledTimes(1);
  });

  it('counts extensions of processor time', async () => {
    const onElapsed = jest.fn();
    const timer = new ProcessorTimer(() => Promise.resolve(usedMs), 1_000, onElapsed);
    timer.start();
    await pass(0);
    timer.extend(500);
    usedMs! += 1_400;
    await pass(60_000);
    expect(onElapsed).not.toHaveBeenCalled();

    usedMs! += 100;
    await pass(60_000);

    expect(onElapsed).toHaveBeenCalledTimes(1);
  });

  it.each(['is stopped', 'sees the process end'])('leaves no processor timer behind when it %s', async (end) => {
    const onElapsed = jest.fn();
    const timer = new ProcessorTimer(() => Promise.resolve(usedMs), 1_000, onElapsed);
    timer.start();
    await pass(0);
    if (end === 'is stopped') timer.stop();
    else usedMs = undefined;
    await pass(60_000);

    expect(onElapsed).not.toHaveBeenCalled();
    expect(jest.getTimerCount()).toBe(0);
  });

  it('detects a child that computes', async () => {
    jest.useRealTimers();
    const child = start();
    await ask(child, 'block');

    await new Promise<void>((resolve) => new ProcessorTimer(() => child.processorMs(), 100, resolve).start());

    expect(await child.processorMs()).toBeGreaterThanOrEqual(100);
    child.kill();
    await child.ended;
    expect(await child.processorMs()).toBeUndefined();
  });
});

describe('a work timer', () => {
  beforeEach(() => jest.useFakeTimers());
  afterEach(() => jest.useRealTimers());

  it('counts work time only while the timer runs, plus extensions', () => {
    const onElapsed = jest.fn();
    const timer = new WorkTimer(1_000, onElapsed);

    timer.start();
    jest.advanceTimersByTime(900);
    timer.stop();
    jest.advanceTimersByTime(5_000);
    timer.extend(200);
    timer.start();
    jest.advanceTimersByTime(299);
    expect(onElapsed).not.toHaveBeenCalled();

    jest.advanceTimersByTime(1);
    expect(onElapsed).toHaveBeenCalledTimes(1);
  });
});
