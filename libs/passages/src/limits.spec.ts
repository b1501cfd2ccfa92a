import { randomUUID } from 'node:crypto';
import { documentTerms } from './lexicon';
import type { PointRow } from './point-rows';
import { TenantPoints } from './tenant-points';
import { toUnit } from './vectors';

const dimensions = 512;
const common = 'the a of and to in is it for on with as by at from that this be are or not was will you we'.split(' ');
const wordOf = () =>
  Math.random() < 0.4
    ? common[Math.floor(Math.random() * common.length)]!
    : `word${Math.floor(20_000 * Math.random() ** 3)}`;

/** Passages of 130 words, as long as those of most documents. */
function rowsOf(count: number): PointRow[] {
  return Array.from({ length: count }, (_, n) => {
    const terms = documentTerms(Array.from({ length: 130 }, wordOf).join(' '));
    return {
      id: randomUUID(),
      fileId: `file_01ARZ3NDEKTSV4RRFFQ69G5F${Math.floor(n / 200)}`,
      contentVersion: '01ARZ3NDEKTSV4RRFFQ69G5FAV',
      vector: toUnit(Float32Array.from({ length: dimensions }, () => Math.random() - 0.5))!,
      termIndices: Uint32Array.from(terms.indices),
      termValues: Float32Array.from(terms.values),
      tags: { colour: 'red' },
    };
  });
}

it('keeps a passage of 512 dimensions and 130 words in at most 800 bytes, of which the exact numbers would take 2,800', () => {
  const points = new TenantPoints();
  const rows = rowsOf(8_192);
  for (let start = 0; start < rows.length; start += 500) points.add(rows.slice(start, start + 500));
  points.settle();

  const exact = rows.reduce((sum, row) => sum + row.vector.byteLength + 8 * row.termIndices.length, 0);
  expect(points.size).toBe(rows.length);
  expect(points.bytes / rows.length).toBeLessThan(800);
  expect(exact / rows.length).toBeGreaterThan(2_800);
});
