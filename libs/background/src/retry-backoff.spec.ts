import { retryBackoffMs } from './retry-backoff';

it('doubles the pause with each failure, up to a minute', () => {
  expect([1, 2, 3, 6, 7, 20].map(retryBackoffMs)).toEqual([1_000, 2_000, 4_000, 32_000, 60_000, 60_000]);
});
