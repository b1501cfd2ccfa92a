import { setImmediate as nextTurn } from 'node:timers/promises';
import { waitFor } from '@parley/testing/wait-for';
import { Semaphore } from './semaphore';

it('keeps the order of results, whichever call finishes first', async () => {
  const slots = new Semaphore(3);

  const ends = new Map<string, () => void>();

  const results = slots.map(
    ['a', 'b', 'c', 'd'],
    (name) => new Promise<string>((resolve) => ends.set(name, () => resolve(name))),
  );
  for (const name of ['c', 'b', 'd', 'a']) {
    await waitFor(() => ends.has(name));
    ends.get(name)!();
  }

  await expect(results).resolves.toEqual(['a', 'b', 'c', 'd']);
});

it('does not exceed the size of a semaphore, over all calls', async () => {
  const slots = new Semaphore(2);
  let running = 0;
  let most = 0;
  const work = async () => {
    most = Math.max(most, ++running);
    await nextTurn();
    running--;
  };

  await Promise.all([slots.map([1, 2, 3, 4], work), slots.map([5, 6, 7, 8], work)]);

  expect(most).toBe(2);
});

it('interleaves a small call with the work of a large one', async () => {
  const slots = new Semaphore(1);
  const done: string[] = [];
  const work = async (name: string) => {
    await nextTurn();
    done.push(name);
  };

  await Promise.all([slots.map(['large', 'large', 'large', 'large'], work), slots.map(['small'], work)]);

  expect(done.indexOf('small')).toBeLessThan(3);
});

it('removes an aborted call from the queue and gives its slot to the next', async () => {
  const slots = new Semaphore(1);
  const abort = new AbortController();
  const started: string[] = [];
  const work = async (name: string) => {
    started.push(name);
    await nextTurn();
  };

  const first = slots.map(['first'], work);
  const aborted = slots.map(['aborted'], work, abort.signal);
  const last = slots.map(['last'], work);
  abort.abort(new Error('no longer wanted'));

  await expect(aborted).rejects.toThrow('no longer wanted');
  await Promise.all([first, last]);
  expect(started).toEqual(['first', 'last']);
});

it('stops a call at its first failure, without effect on others', async () => {
  const slots = new Semaphore(1);
  let started = 0;
  const failing = slots.map([1, 2, 3], async () => {
    started++;
    throw new Error('broken');
  });

  await expect(failing).rejects.toThrow('broken');

  await expect(slots.map(['fine'], async (name) => name)).resolves.toEqual(['fine']);
  expect(started).toBe(1);
});

it('begins with no further item of a call after one has failed', async () => {
  const slots = new Semaphore(2);
  const begun: number[] = [];
  const ends: (() => void)[] = [];
  const work = (item: number) => {
    begun.push(item);
    return item === 1 ? Promise.reject(new Error('broken')) : new Promise<void>((resolve) => ends.push(resolve));
  };

  await expect(slots.map([1, 2, 3, 4], work)).rejects.toThrow('broken');
  const before = [...begun];
  ends.forEach((end) => end());
  await nextTurn();

  expect(begun).toEqual(before);
});

it('gives urgent tasks every second slot, so that neither queue stops', async () => {
  const slots = new Semaphore(1);
  const done: string[] = [];
  const work = (name: string) => async () => {
    await nextTurn();
    done.push(name);
  };

  await Promise.all([
    ...['a', 'b', 'c', 'd'].map((name) => slots.run(work(name))),
    ...['U', 'V', 'W'].map((name) => slots.runUrgent(work(name))),
  ]);

  expect(done).toEqual(['a', 'U', 'b', 'V', 'c', 'W', 'd']);
});

it('removes an aborted urgent task from its queue', async () => {
  const slots = new Semaphore(1);
  const abort = new AbortController();
  const first = slots.run(nextTurn);
  const aborted = slots.runUrgent(nextTurn, abort.signal);

  abort.abort(new Error('left'));

  await expect(aborted).rejects.toThrow('left');
  await first;
  await expect(slots.runUrgent(() => Promise.resolve('free'))).resolves.toBe('free');
});
