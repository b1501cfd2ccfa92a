import { point } from './test/passage-index.behaviour';
import { PointBlock, type StoredPoint } from './point-block';

const stored = (overrides: Parameters<typeof point>[0] = {}): StoredPoint => {
  const { terms, ...rest } = point(overrides);
  return { ...rest, termIndices: Uint32Array.from(terms.indices), termValues: Float32Array.from(terms.values) };
};
const points = [
  stored({ text: 'a ship and a quay', vector: Float32Array.of(1, 0, 0) }),
  stored({ text: '…', tags: { kind: 'silent' }, vector: Float32Array.of(0, 1, 0) }),
  stored({ text: 'a ship', fileId: 'file_b', vector: Float32Array.of(0, 0, 1) }),
];

it('returns the points of a block except the dead rows', () => {
  const block = PointBlock.of(points);

  expect(block.points()).toEqual(points);
  expect(block.points(Uint8Array.of(0, 1, 0))).toEqual([points[0], points[2]]);
  expect(PointBlock.of(block.points()).points()).toEqual(points);
});

it('finds the rows of a block with a term', () => {
  const block = PointBlock.of(points);
  const rowsOf = (text: string) => {
    const { from, to } = block.postingsOf(stored({ text }).termIndices[0]!) ?? { from: 0, to: 0 };
    return [...block.postingRows.subarray(from, to)];
  };

  expect(rowsOf('ship')).toEqual([0, 2]);
  expect(rowsOf('quay')).toEqual([0]);
  expect(rowsOf('tide')).toEqual([]);
});

it('stores the common fields of points of one content once', () => {
  const alike = Array.from({ length: 100 }, () => stored({ tags: { kind: 'alike' } }));

  expect(PointBlock.of([...alike, ...points]).sources).toHaveLength(4);
});

it('accepts an empty block', () => {
  expect(PointBlock.of([]).points()).toEqual([]);
});
