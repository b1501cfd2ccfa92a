import { median, pairedRatio, percentile } from './statistics';

it('takes the middle value, and the mean of the two in the middle', () => {
  expect(median([30, 10, 20])).toBe(20);
  expect(median([40, 10, 20, 30])).toBe(25);
  expect(() => median([])).toThrow('no values');
});

it('compares each round with the one of the other side, so that a slow minute of the machine counts for both', () => {
  const quietThenBusy = { product: [600, 60, 700], baseline: [1000, 100, 1000] };

  const ratio = pairedRatio(quietThenBusy.product, quietThenBusy.baseline);

  expect(ratio).toEqual({ median: 0.6, lowest: 0.6, highest: 0.7 });
});

it('takes the value that a part of all does not exceed, which with few values is the greatest', () => {
  const values = Array.from({ length: 200 }, (_, place) => 200 - place);

  expect(percentile(values, 0.5)).toBe(100);
  expect(percentile(values, 0.99)).toBe(198);
  expect(percentile([3, 1, 2], 0.99)).toBe(3);
  expect(() => percentile([], 0.5)).toThrow('no values');
});
