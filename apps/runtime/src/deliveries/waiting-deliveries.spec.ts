import { RetryLater, type Work } from '@parley/work-queue/queue';
import { cacheClock } from '@parley/testing/cache-clock';
import { RuntimeConfig } from '../config';
import { WaitingDeliveriesWorker } from './waiting-deliveries.worker';

afterEach(() => void jest.restoreAllMocks());

/** Worker, and the deliveries of a bot beyond its limit, oldest first. */
function setUp(oldest: { eventId: string; isTried?: boolean; isGone?: boolean }[] = []) {
  const settled: string[] = [];
  const discarded: string[] = [];
  const notes: string[] = [];
  const rows = oldest.map(({ isTried = false, ...delivery }) => ({ botId: 'bot', type: 'text', isTried, ...delivery }));
  const worker = new WaitingDeliveriesWorker(
    { listOldestBeyond: () => Promise.resolve(rows) } as never,
    {
      find: ({ eventId }: { eventId: string }) =>
        Promise.resolve({ event: rows.find((row) => row.eventId === eventId)!.isGone ? undefined : {} }),
    } as never,
    { settle: ({ event_id }: { event_id: string }) => Promise.resolve(void settled.push(event_id)) } as never,
    { recordIgnored: () => undefined } as never,
    { countDelivery: () => undefined } as never,
    {
      addNow: (_queue: unknown, [{ key }]: [{ key: string }]) => Promise.resolve(void notes.push(key)),
      discard: (_queue: unknown, key: string) => Promise.resolve(void discarded.push(key.split('/').at(-1)!)),
    } as never,
    new RuntimeConfig(),
  );
  return { worker, settled, discarded, notes, run: () => worker.ignoreOldest({ key: 'bot' } as Work<null>) };
}

it('ignores the oldest deliveries, and discards the newest of them first, so that no other begins', async () => {
  const { run, settled, discarded } = setUp([{ eventId: 'a' }, { eventId: 'b', isGone: true }, { eventId: 'c' }]);

  expect(await run()).toBeUndefined();

  expect(settled).toEqual(['a', 'c']);
  expect(discarded).toEqual(['c', 'b', 'a']);
});

it('goes on after a hundred deliveries', async () => {
  const { run } = setUp(Array.from({ length: 100 }, (_entry, index) => ({ eventId: `${index}` })));

  expect(await run()).toBe('more');
});

it('looks again for deliveries that are tried, and leaves them alone', async () => {
  const { run, discarded } = setUp([{ eventId: 'a', isTried: true }, { eventId: 'b' }]);

  await expect(run()).rejects.toEqual(expect.any(RetryLater));
  expect(discarded).toEqual(['b']);
});

it('notes a bot once in a second and a half', async () => {
  const { pass } = cacheClock();
  const { worker, notes } = setUp();

  for (const ms of [0, 1_500, 1]) {
    pass(ms);
    await worker.note('bot');
  }

  expect(notes).toEqual(['bot', 'bot']);
});
