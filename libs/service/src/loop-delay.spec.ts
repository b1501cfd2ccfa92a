import { setImmediate as nextTurn } from 'node:timers/promises';
import { waitFor } from '@parley/testing/wait-for';
import { LoopDelay } from './loop-delay';

describe('the delay of an event loop', () => {
  it('returns the lower of the last two samples, so that one long task does not count', () => {
    jest.useFakeTimers();
    const histogram = { mean: 0, enable: () => true, disable: () => true, reset: () => undefined };
    const delay = new LoopDelay(1_000, histogram);
    const look = (delayMs: number) => {
      histogram.mean = (delayMs + 20) * 1e6;
      jest.advanceTimersByTime(1_000);
      return delay.ms;
    };

    const seen = [800, 0, 300, 200, 400, Number.NaN, 0].map(look);
    delay.stop();
    jest.useRealTimers();

    expect(seen).toEqual([0, 0, 0, 200, 200, 400, 0]);
  });

  it('stops measuring the delay when nobody reads it for ten samples', () => {
    jest.useFakeTimers();
    const histogram = { mean: 20e6, enable: () => true, disable: jest.fn(() => true), reset: () => undefined };
    const delay = new LoopDelay(1_000, histogram);

    const isStoppedAfter = (ms: number) => {
      jest.advanceTimersByTime(ms);
      return delay.isStopped;
    };

    const stopped = [isStoppedAfter(10_000), delay.ms > 0, isStoppedAfter(10_000), isStoppedAfter(1_000)];
    const timers = jest.getTimerCount();
    jest.useRealTimers();

    expect(stopped).toEqual([false, false, false, true]);
    expect(timers).toBe(0);
    expect(histogram.disable).toHaveBeenCalledTimes(1);
  });

  it('measures a delay while the loop is busy, and less afterwards', async () => {
    const delay = new LoopDelay(100);

    for (let pieces = 0; pieces < 40 && delay.ms <= 50; pieces += 1) {
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 100);
      await nextTurn();
    }

    expect(delay.ms).toBeGreaterThan(50);
    await waitFor(() => delay.ms < 50);
    delay.stop();
  });
});
