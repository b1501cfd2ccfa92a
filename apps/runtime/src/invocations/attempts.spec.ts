import type { DeliveryAttempt } from '@parley/contracts/runtime/deliveries';
import { type Called, maxAttempts, pauseAfter } from './attempts';

/** Pauses after failures of this kind, each of which took `durationMs`, until the last one. */
function pausesOf(failure: Called['failure'], durationMs = 0): number[] {
  const attempt: DeliveryAttempt = { at: '2026-11-28T00:00:00.000Z', durationMs, status: null, error: 'failed' };
  const called: Called = { attempt, outcome: { kind: 'repeat', reason: 'failed' }, failure };
  const pauses: number[] = [];
  for (;;) {
    const attempts = Array<DeliveryAttempt>(pauses.length + 1).fill(attempt);
    const pause = pauseAfter(attempts.length, called, attempts);
    if (pause === undefined) return pauses;
    pauses.push(pause);
  }
}

it.each<[failure: Called['failure'], pauses: number[]]>([
  [undefined, [1_000, 5_000, 30_000]],
  ['other', [1_000, 5_000, 30_000]],
  ['timed out', [1_000]],
  ['not loadable', [1_000, 5_000]],
])('repeats a delivery that failed with %s after %j ms, and then gives it up', (failure, pauses) => {
  expect(pausesOf(failure)).toEqual(pauses);
});

it('gives a delivery up whose attempts and pauses have taken more than three minutes', () => {
  expect(pausesOf('other', 89_500)).toEqual([1_000]);
  expect(pausesOf('other', 87_000)).toEqual([1_000, 5_000]);
});

it('gives a delivery up after four attempts and ten ends of runners, which are no attempts', () => {
  expect(maxAttempts).toBe(14);
});
