import { FairSemaphore, TooManyWaiting } from './fair-semaphore';

const manyWaiting = 100;

function workplace(options: { size: number; maxEach: number; maxWaitingEach?: number }) {
  const slots = new FairSemaphore({ maxWaitingEach: manyWaiting, ...options });
  const begun: string[] = [];
  const ends = new Map<string, () => void>();
  const run = (name: string, signal?: AbortSignal) =>
    slots.run(
      name[0]!,
      () => {
        begun.push(name);
        return new Promise<string>((resolve) => ends.set(name, () => resolve(name)));
      },
      signal,
    );
  const end = async (name: string) => {
    ends.get(name)!();
    await new Promise(setImmediate);
  };
  const settled = () => new Promise(setImmediate);
  return { slots, begun, run, end, settled };
}

it('limits a tenant to its share even when the other slots are idle', async () => {
  const { begun, run, end, settled } = workplace({ size: 4, maxEach: 2 });

  ['a1', 'a2', 'a3'].forEach((name) => void run(name));
  await settled();
  expect(begun).toEqual(['a1', 'a2']);
  void run('b1');
  await settled();
  expect(begun).toEqual(['a1', 'a2', 'b1']);
  await end('a1');

  expect(begun).toEqual(['a1', 'a2', 'b1', 'a3']);
});

it('gives a free slot to the tenant with the fewest running tasks, not to the first in the queue', async () => {
  const { begun, run, end, settled } = workplace({ size: 2, maxEach: 2 });
  ['a1', 'a2', 'a3', 'a4', 'b1'].forEach((name) => void run(name));
  await settled();

  await end('a1');
  await end('b1');
  await end('a2');

  expect(begun).toEqual(['a1', 'a2', 'b1', 'a3', 'a4']);
});

it('gives a free slot to the tenant with fewer running tasks, although it began its last one later', async () => {
  const { begun, run, end, settled } = workplace({ size: 4, maxEach: 3 });
  ['a1', 'a2', 'c1', 'b1', 'a3', 'b2'].forEach((name) => void run(name));
  await settled();

  await end('c1');

  expect(begun).toEqual(['a1', 'a2', 'c1', 'b1', 'b2']);
});

it('alternates between tenants with equally many running tasks', async () => {
  const { begun, run, end, settled } = workplace({ size: 1, maxEach: 1 });
  ['a1', 'a2', 'a3', 'b1', 'b2', 'c1'].forEach((name) => void run(name));
  await settled();

  for (const name of ['a1', 'b1', 'c1', 'a2', 'b2']) await end(name);

  expect(begun).toEqual(['a1', 'b1', 'c1', 'a2', 'b2', 'a3']);
});

it('rejects a tenant whose queue is full, and no other tenant', async () => {
  const { run, begun, end, settled } = workplace({ size: 1, maxEach: 1, maxWaitingEach: 1 });
  ['a1', 'a2', 'b1'].forEach((name) => void run(name));
  await settled();

  await expect(run('a3')).rejects.toBeInstanceOf(TooManyWaiting);
  await end('a1');
  await end('b1');

  expect(begun).toEqual(['a1', 'b1', 'a2']);
});

it('removes an aborted waiter from the queue and gives the slot to the next', async () => {
  const { run, begun, end, settled, slots } = workplace({ size: 1, maxEach: 1 });
  const patience = new AbortController();
  void run('a1');
  const left = run('b1', patience.signal);
  void run('c1');
  await settled();

  patience.abort(new Error('no more'));
  await expect(left).rejects.toThrow('no more');
  await end('a1');

  expect(begun).toEqual(['a1', 'c1']);
  expect(slots.waitingCount).toBe(0);
});
