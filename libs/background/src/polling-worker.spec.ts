import { createLogger } from '@parley/logging/logger';
import { PollingWorker } from './polling-worker';

const logger = createLogger('test', 'silent');

function loopOf(intervalMs: number, round: () => Promise<boolean>): PollingWorker {
  return new PollingWorker({ name: 'test', intervalMs, logger }, round);
}

const pass = (ms: number) => jest.advanceTimersByTimeAsync(ms);

describe('A background loop', () => {
  beforeEach(() => jest.useFakeTimers());
  afterEach(() => jest.useRealTimers());

  it('repeats a round without a pause while there is more to do, and pauses otherwise', async () => {
    let left = 50;
    let rounds = 0;
    const loop = loopOf(60_000, async () => {
      rounds += 1;
      left -= 1;
      return left > 0;
    });

    loop.start();
    await pass(59_999);
    await loop.stop();

    expect(rounds).toBe(50);
  });

  it('starts a round after its interval', async () => {
    let rounds = 0;
    const loop = loopOf(20, async () => {
      rounds += 1;
      return false;
    });

    loop.start();
    await pass(19);
    expect(rounds).toBe(1);
    await pass(1);
    expect(rounds).toBe(2);
    await pass(20);

    expect(rounds).toBe(3);
    await loop.stop();
  });

  it('starts the next round at once when it is woken during the pause', async () => {
    let rounds = 0;
    const loop = loopOf(60_000, async () => {
      rounds += 1;
      return false;
    });
    loop.start();
    await pass(0);
    expect(rounds).toBe(1);

    loop.wake();
    await pass(0);

    expect(rounds).toBe(2);
    await loop.stop();
  });

  it('starts a round at the earliest requested time', async () => {
    let rounds = 0;
    const loop = loopOf(60_000, async () => {
      rounds += 1;
      return false;
    });
    loop.start();
    await pass(0);

    loop.wakeIn(30_000);
    loop.wakeIn(50);
    loop.wakeIn(10_000);

    await pass(49);
    expect(rounds).toBe(1);
    await pass(1);
    expect(rounds).toBe(2);
    await loop.stop();
  });

  it('accepts a time beyond the range of a timer, and can be stopped before it', async () => {
    let rounds = 0;
    const loop = loopOf(60_000, async () => {
      rounds += 1;
      return false;
    });
    loop.start();
    await pass(0);

    loop.wakeIn(366 * 86_400_000);
    await pass(59_999);
    await loop.stop();

    expect(rounds).toBe(1);
    expect(jest.getTimerCount()).toBe(0);
  });

  it('starts another round when it was woken during one', async () => {
    let rounds = 0;
    let release = () => {};
    const loop = loopOf(60_000, async () => {
      rounds += 1;
      if (rounds === 1) await new Promise<void>((resolve) => (release = resolve));
      return false;
    });
    loop.start();
    await pass(0);

    loop.wake();
    loop.wake();
    release();
    await pass(59_999);

    expect(rounds).toBe(2);
    await loop.stop();
  });

  it('does not run two rounds concurrently, however often the loop is started and woken', async () => {
    let running = 0;
    let most = 0;
    let rounds = 0;
    const loop = loopOf(1, async () => {
      running += 1;
      most = Math.max(most, running);
      // oxlint-disable-next-line parley/banned-in-tests -- on the clock that the test moves
      await new Promise((resolve) => setTimeout(resolve, 2));
      running -= 1;
      rounds += 1;
      return true;
    });

    loop.start();
    loop.start();
    while (rounds < 10) {
      loop.wake();
      await pass(1);
    }
    const stopped = loop.stop();
    await pass(2);
    await stopped;

    expect(most).toBe(1);
  });

  it('continues after failed rounds, with a pause after each', async () => {
    let rounds = 0;
    const loop = loopOf(100, () => {
      rounds += 1;
      throw new Error('This round does not work.');
    });

    loop.start();
    await pass(99);
    expect(rounds).toBe(1);
    await pass(201);

    expect(rounds).toBe(4);
    await loop.stop();
  });

  it.each([60_000, Infinity])(
    'repeats a failed round after five seconds when its interval is %d ms',
    async (interval) => {
      let rounds = 0;
      const loop = loopOf(interval, () => {
        rounds += 1;
        throw new Error('This round does not work.');
      });

      loop.start();
      await pass(4_999);
      expect(rounds).toBe(1);
      await pass(1);

      expect(rounds).toBe(2);
      await loop.stop();
    },
  );

  it('finishes a round before the loop stops, and starts no other', async () => {
    let rounds = 0;
    let release = () => {};
    let isStopped = false;
    const loop = loopOf(1, async () => {
      rounds += 1;
      await new Promise<void>((resolve) => (release = resolve));
      return true;
    });
    loop.start();
    await pass(0);

    const stopped = loop.stop().then(() => (isStopped = true));
    await pass(60_000);
    expect(isStopped).toBe(false);
    release();
    await stopped;
    loop.wake();
    loop.start();
    await pass(60_000);

    expect(rounds).toBe(1);
  });

  it('stops a loop at once during a pause, and when it was never started', async () => {
    let rounds = 0;
    const resting = loopOf(60_000, async () => {
      rounds += 1;
      return false;
    });
    const idle = loopOf(60_000, async () => false);
    resting.start();
    await pass(0);

    await resting.stop();
    await idle.stop();

    expect(rounds).toBe(1);
    expect(jest.getTimerCount()).toBe(0);
  });
});
