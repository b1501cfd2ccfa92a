import { type LoadLimit, LoadLimits } from './load-limits';

/** Figures of a process that the test moves on. */
let usedMs: number;
let runnableMs: number | undefined;
let exceeded: LoadLimit[];
let limits: LoadLimits;

beforeEach(() => {
  jest.useFakeTimers();
  usedMs = 0;
  runnableMs = 0;
  exceeded = [];
  const child = { processorMs: () => Promise.resolve(usedMs), runnableMs: () => Promise.resolve(runnableMs) };
  limits = new LoadLimits(child, (limit) => exceeded.push(limit));
});

afterEach(() => {
  limits.end();
  jest.useRealTimers();
});

/** Seconds in which the process computes, and waits for a processor, for so long. */
async function pass(seconds: number, { computing = 0, waiting = 0 } = {}): Promise<void> {
  for (let second = 0; second < seconds; second += 1) {
    usedMs += computing * 1_000;
    if (runnableMs !== undefined) runnableMs += (computing + waiting) * 1_000;
    await jest.advanceTimersByTimeAsync(1_000);
  }
}

it('lets code load for long on a busy machine', async () => {
  await pass(90, { computing: 0.1, waiting: 0.9 });

  expect(exceeded).toEqual([]);
});

it('ends code that computes for ten seconds', async () => {
  await pass(12, { computing: 1 });

  expect(exceeded).toEqual(['processor']);
});

it('ends code that neither runs nor waits for a processor for ten seconds', async () => {
  await pass(9);
  expect(exceeded).toEqual([]);

  await pass(3);

  expect(exceeded).toEqual(['idle']);
});

it('ends a load that had no time, by the clock', async () => {
  await pass(101, { computing: 0.05, waiting: 0.95 });

  expect(exceeded).toEqual(['clock']);
});

it('counts no idle time where the system does not tell it', async () => {
  runnableMs = undefined;

  await pass(20, { computing: 0.1 });

  expect(exceeded).toEqual([]);
});

it('leaves no timer behind after a load', async () => {
  await pass(1, { computing: 1 });
  limits.end();
  await pass(1);

  expect(jest.getTimerCount()).toBe(0);
});
