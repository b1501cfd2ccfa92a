import { truncated } from './truncated';

const bytesOf = (value: unknown) => Buffer.byteLength(JSON.stringify(value));

it('keeps a small object as it is', () => {
  const value = { text: 'a'.repeat(7_000), more: [1, { two: null }] };

  expect(truncated(value)).toEqual({ value, isTruncated: false });
});

it('cuts long texts, and keeps the fields around them', () => {
  const value = { first: 1, text: 'a'.repeat(9_000), last: true };

  expect(truncated(value)).toEqual({ value: { first: 1, text: 'a'.repeat(500), last: true }, isTruncated: true });
});

it('omits what follows when 8,000 bytes are used up', () => {
  const value = { first: 1, list: Array(5_000).fill(1), last: true };

  expect(truncated(value)).toEqual({ value: { first: 1 }, isTruncated: true });
});

it('stays within 8,000 bytes, whatever the characters of an object', () => {
  const value = Object.fromEntries(Array.from({ length: 1_000 }, (_one, at) => [`field ${at}`, '\u0001€'.repeat(50)]));

  const { value: kept } = truncated(value);

  expect(Object.keys(kept).length).toBeGreaterThan(5);
  expect(bytesOf(kept)).toBeLessThanOrEqual(8_000);
});
