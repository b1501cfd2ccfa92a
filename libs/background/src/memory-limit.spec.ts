import { memoryLimitBytes } from './memory-limit';

it('says what the container may take', () => {
  expect(memoryLimitBytes(2 ** 31)).toBe(2 ** 31);
});

it.each([0, 2 ** 63 - 4096, 2 ** 64])('takes %p of a kernel for no limit', (constrained) => {
  expect(memoryLimitBytes(constrained)).toBe(Infinity);
});
