import { redeliveryDelayMs } from './event-stream';

it('doubles the redelivery delay with each attempt, up to a minute', () => {
  expect([1, 2, 3, 6, 7, 20].map(redeliveryDelayMs)).toEqual([1_000, 2_000, 4_000, 32_000, 60_000, 60_000]);
});
