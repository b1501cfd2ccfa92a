import { announceMs, runnerAnnounced } from '@parley/contracts/runner/runner';
import { createLogger } from '@parley/logging/logger';
import type { Platform } from '@parley/service/platform';
import { fakeClock, realClock } from '@parley/testing/fake-clock';
import { InProcessDriver, InProcessHub } from '@parley/transport/in-process-driver';
import { ParleyClient } from '@parley/transport/parley-client';
import { RunnersService } from './runners.service';

let client: ParleyClient;
let runners: RunnersService;

beforeEach(() => {
  fakeClock('setInterval', 'clearInterval');
  client = new ParleyClient(new InProcessDriver(new InProcessHub(), 1_000, createLogger('test', 'silent')));
  runners = new RunnersService(client, { isOnlyProcess: false } as Platform);
  runners.onApplicationBootstrap();
});

afterEach(() => {
  runners.onModuleDestroy();
  realClock();
});

async function announce(runnerId: string, isLeaving = false, freePlaces = 1): Promise<void> {
  client.broadcast(runnerAnnounced, { runnerId, freePlaces, isLeaving });
  // A broadcast arrives in a microtask.
  await Promise.resolve();
}

it('tells the calls of a runner that it has ended when it fell silent, and not those of another one', async () => {
  await announce('silent');
  const gone = runners.goneSignal('silent')!;

  for (let tick = 1; tick <= 4; tick += 1) {
    expect(gone.aborted).toBe(false);
    jest.advanceTimersByTime(announceMs);
    await announce('alive');
  }

  expect(gone.aborted).toBe(true);
  expect(runners.inOrderFor('bot')).toEqual(['alive']);
  expect(runners.goneSignal('alive')!.aborted).toBe(false);
});

it('calls a runner that took no more only after it announces itself, and lets it answer the others', async () => {
  await announce('stopping');
  const gone = runners.goneSignal('stopping')!;

  runners.lookAgain('stopping');
  const offered = runners.inOrderFor('bot');
  jest.advanceTimersByTime(announceMs);
  const isAnswering = !gone.aborted;
  await announce('stopping');

  expect({ offered, isAnswering }).toEqual({ offered: [], isAnswering: true });
  expect(runners.inOrderFor('bot')).toEqual(['stopping']);
  expect(runners.goneSignal('stopping')).toBe(gone);
});

it('lets a runner that leaves answer its calls', async () => {
  await announce('leaving');
  const gone = runners.goneSignal('leaving')!;

  await announce('leaving', true);
  jest.advanceTimersByTime(10 * announceMs);

  expect(runners.inOrderFor('bot')).toEqual([]);
  expect(gone.aborted).toBe(false);
});

it('tells once after a refusal that a runner has free places, and of none that are not free', async () => {
  const told: number[] = [];
  runners.onFree((freePlaces) => told.push(freePlaces));

  await announce('one', false, 3);
  runners.noteRefusal();
  await announce('one', false, 0);
  expect(told).toEqual([]);
  await announce('two', false, 2);
  await announce('one', false, 1);

  expect(told).toEqual([2]);
});

it('calls the same runner first for a key, and spreads keys over all', async () => {
  for (const runner of ['one', 'two', 'three']) await announce(runner);
  const first = (key: string) => runners.inOrderFor(key)[0];
  const keys = Array.from({ length: 60 }, (_entry, index) => `bot ${index}`);
  const before = keys.map(first);

  await announce('four');

  expect(new Set(before)).toEqual(new Set(['one', 'two', 'three']));
  for (const [index, key] of keys.entries()) expect([before[index], 'four']).toContain(first(key));
});
