import { memoryLimitBytes } from './memory-limit';

it('returns the limit of the container', () => {
  expect(memoryLimitBytes(2 ** 31)).toBe(2 ** 31);
});

it.each([0, 2 ** 63 - 4096, 2 ** 64])('treats %p as no limit', (constrained) => {
  expect(memoryLimitBytes(constrained)).toBe(Infinity);
});
