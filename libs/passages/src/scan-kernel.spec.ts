import { ScanKernel } from './scan-kernel';

const kernel = new ScanKernel();

function products(query: Int16Array, codes: Int8Array): number[] {
  const found: number[] = [];
  kernel.multiply(query, codes, (firstRow, some) => some.forEach((product, i) => (found[firstRow + i] = product)));
  return found;
}

function expected(query: Int16Array, codes: Int8Array): number[] {
  return Array.from({ length: codes.length / query.length }, (_, row) =>
    query.reduce((sum, value, i) => sum + value * codes[row * query.length + i]!, 0),
  );
}

it.each([
  [32, 9_000],
  [512, 1_100],
  [3_072, 200],
])('multiplies codes of width %i, also more than its memory holds at once', (width, rows) => {
  const most = Math.floor(0x7fffffff / (127 * width));
  const query = Int16Array.from({ length: width }, () => (Math.random() * 2 - 1) * Math.min(most, 0x7fff));
  const codes = Int8Array.from({ length: rows * width }, () => Math.random() * 255 - 127.5);

  expect(products(query, codes)).toEqual(expected(query, codes));
});

it('multiplies the largest numbers', () => {
  const query = new Int16Array(512).fill(0x7fff);

  expect(products(query, new Int8Array(512).fill(127))).toEqual([512 * 127 * 0x7fff]);
  expect(products(query, new Int8Array(512).fill(-127))).toEqual([-512 * 127 * 0x7fff]);
});

it('refuses a query that its memory cannot hold', () => {
  expect(() => kernel.multiply(new Int16Array(32_800), new Int8Array(32_800), () => undefined)).toThrow(
    '32768 are possible',
  );
});
