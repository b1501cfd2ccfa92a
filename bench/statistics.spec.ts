import { median, pairedRatio } from './statistics';

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
