import { TopK } from './top-k';

it('keeps the highest scores, best first', () => {
  const best = new TopK<number>(3);

  for (let i = 0; i < 1000; i++) best.offer((i * 379) % 1000, (i * 379) % 1000);

  expect(best.ranked().map(({ item }) => item)).toEqual([999, 998, 997]);
});

it('keeps all items below the limit', () => {
  const best = new TopK<string>(3);

  best.offer('low', -1);
  best.offer('high', 1);

  expect(best.ranked().map(({ item }) => item)).toEqual(['high', 'low']);
});
