import { randomUUID } from 'node:crypto';
import { point } from './test/passage-index.behaviour';
import { idWords, PointBlock, quantised } from './point-block';
import type { PointRow } from './point-rows';

const row = (overrides: Parameters<typeof point>[0] = {}): PointRow => {
  const { terms, ...rest } = point(overrides);
  return { ...rest, termIndices: Uint32Array.from(terms.indices), termValues: Float32Array.from(terms.values) };
};
const rows = [
  row({ text: 'a ship and a quay', vector: Float32Array.of(1, 0, 0) }),
  row({ text: '…', tags: { kind: 'silent' }, vector: Float32Array.of(0, 1, 0) }),
  row({ text: 'a ship', fileId: 'file_ä', vector: Float32Array.of(0, 0, 1) }),
];
const byId = <T extends { id: string }>(points: T[]) => points.toSorted((a, b) => (a.id < b.id ? -1 : 1));
const rowIn = (block: PointBlock, id: string) => block.rowOf(idWords(id));

it('returns the points of a block except the dead rows', () => {
  const block = PointBlock.ofRows(rows);
  const dead = new Uint8Array(3);
  dead[rowIn(block, rows[1]!.id)] = 1;

  expect(byId(block.points())).toEqual(byId(rows.map(quantised)));
  expect(byId(block.points(dead))).toEqual(byId([rows[0]!, rows[2]!].map(quantised)));
  expect(byId(PointBlock.of(block.points()).points())).toEqual(byId(rows.map(quantised)));
});

it('returns the same points after its bytes were stored', () => {
  const block = PointBlock.ofRows(rows);

  const read = new PointBlock(block.buffer.slice(0));

  expect(read.points()).toEqual(block.points());
  expect(read.largestNorm).toBe(block.largestNorm);
});

it.each<[string, (buffer: ArrayBuffer) => ArrayBuffer]>([
  ['of another format', (buffer) => (new Uint32Array(buffer).set([99]), buffer)],
  ['that are not whole', (buffer) => buffer.slice(0, -4)],
])('refuses bytes %s', (_name, change) => {
  expect(() => new PointBlock(change(PointBlock.ofRows(rows).buffer))).toThrow('another format');
});

it('keeps any values of any terms', () => {
  const many = Array.from({ length: 700 }, () => {
    const indices = Array.from(new Set(Array.from({ length: 40 }, () => Math.floor(Math.random() * 2 ** 32))));
    const terms = {
      indices: indices.sort((a, b) => a - b),
      values: indices.map((_, i) => (i % 3 === 0 ? 1 : Math.random())),
    };
    return row({ terms });
  });

  expect(byId(PointBlock.ofRows(many).points())).toEqual(byId(many.map(quantised)));
});

it('finds the rows with a term and their values', () => {
  const block = PointBlock.ofRows(rows);
  const idsOf = (text: string) =>
    Array.from(block.postingsOf(row({ text }).termIndices[0]!)?.rows ?? [], (at) => block.idOf(at));

  expect(idsOf('ship').sort()).toEqual([rows[0]!.id, rows[2]!.id].sort());
  expect(idsOf('quay')).toEqual([rows[0]!.id]);
  expect(idsOf('tide')).toEqual([]);
});

it('finds the row of an id, also among ids that differ in few bits', () => {
  const ids = Array.from({ length: 300 }, (_, i) => `00000000-0000-0007-0000-${i.toString(16).padStart(12, '0')}`);
  const swapped = '00000000-0000-0001-0000-000000000006';
  const block = PointBlock.ofRows([...ids, swapped].map((id) => row({ id })));

  expect([...ids, swapped].map((id) => block.idOf(rowIn(block, id)))).toEqual([...ids, swapped]);
  expect(rowIn(block, randomUUID())).toBe(-1);
  expect(rowIn(block, '00000000-0000-0002-0000-000000000005')).toBe(-1);
});

it('stores the common fields of points of one content once', () => {
  const alike = Array.from({ length: 100 }, () => row({ tags: { kind: 'alike' } }));

  expect(PointBlock.ofRows([...alike, ...rows]).sources()).toHaveLength(4);
});

it('accepts an empty block', () => {
  expect(PointBlock.of([]).points()).toEqual([]);
});
