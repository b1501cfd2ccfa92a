import type { Chunk } from './chunker';
import type { Batch } from './document.child';
import { smallBatches } from './small-batches';

const chunk = (length: number, position: number): Chunk => ({
  content: 'a'.repeat(length),
  subtype: 'paragraph',
  position,
  breadcrumb: [],
});

async function* batchesOf(lengths: number[], inBatch: number): AsyncGenerator<Batch> {
  for (let start = 0; start < lengths.length; start += inBatch) {
    const chunks = lengths.slice(start, start + inBatch).map((length, i) => chunk(length, start + i));
    yield await Promise.resolve({ chunks, part: Math.min(1, (start + inBatch) / lengths.length) });
  }
}

async function regrouped(lengths: number[], { inBatch = 32, levels = 0 } = {}): Promise<Batch[]> {
  const batches: Batch[] = [];
  for await (const batch of smallBatches(batchesOf(lengths, inBatch), levels)) batches.push(batch);
  expect(batches.flatMap(({ chunks }) => chunks.map(({ position }) => position))).toEqual(lengths.map((_, i) => i));
  return batches;
}

const sizes = (batches: Batch[]) => batches.map(({ chunks }) => chunks.length);

it.each([
  ['32 chunks that are short', 1_000, 0, [32, 32, 6]],
  ['10 of 5,000 characters', 5_000, 0, [10, 10, 10, 10, 10, 10, 10]],
  ['4 with as many neighbours as fit', 5_000, 3, Array.from({ length: 18 }, (_, i) => (i < 17 ? 4 : 2))],
  ['4 that are cut before they are embedded', 100_000, 0, Array.from({ length: 18 }, (_, i) => (i < 17 ? 4 : 2))],
])('makes batches of %s', async (_case, length, levels, expected) => {
  expect(sizes(await regrouped(Array<number>(70).fill(length), { levels }))).toEqual(expected);
});

it('joins batches that are smaller', async () => {
  expect(sizes(await regrouped(Array<number>(70).fill(1_000), { inBatch: 3 }))).toEqual([32, 32, 6]);
});

it('counts titles, which are embedded with each chunk', async () => {
  const chunks = Array.from({ length: 64 }, (_, i) => ({
    ...chunk(100, i),
    breadcrumb: Array<string>(6).fill('t'.repeat(200)),
  }));
  async function* one(): AsyncGenerator<Batch> {
    yield await Promise.resolve({ chunks, part: 1 });
  }
  const batches: Batch[] = [];
  for await (const batch of smallBatches(one(), 2)) batches.push(batch);

  expect(sizes(batches)).toEqual([8, 8, 8, 8, 8, 8, 8, 8]);
});

it('tells the part of the document that is done, and 1 at the end', async () => {
  const parts = (await regrouped(Array<number>(96).fill(5_000))).map(({ part }) => part);

  expect(parts).toEqual(parts.toSorted((a, b) => a - b));
  expect(parts[0]).toBe(0);
  expect(parts.at(-1)).toBe(1);
});
