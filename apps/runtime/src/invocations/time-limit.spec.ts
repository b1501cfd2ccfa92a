import { timeLimitMs } from './attempts';

it.each([
  [1, 300_000, 120_000],
  [1, 90_000, 90_000],
  [2, 90_000, 60_000],
  [4, 300_000, 60_000],
  [2, 5_000, 5_000],
])('gives attempt %d of a bot with a time limit of %d ms %d ms', (attempt, timeoutMs, limitMs) => {
  expect(timeLimitMs({ timeoutMs }, attempt)).toBe(limitMs);
});
