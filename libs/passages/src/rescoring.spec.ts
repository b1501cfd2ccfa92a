import { randomUUID } from 'node:crypto';
import { candidatesPerSide, fuse } from './fusion';
import { documentTerms, queryTerms } from './lexicon';
import type { PassageHit, PassageQuery } from './passage-index';
import { mostPointsInBlock, PointBlock } from './point-block';
import type { PointRow } from './point-rows';
import { PointScan } from './point-scan';
import { rescored } from './rescoring';
import { dot, toUnit } from './vectors';

const dimensions = 128;
const words = 'ship quay tide harbour crane master bell rope sail anchor'.split(' ');
const any = <T>(items: readonly T[]) => items[Math.floor(Math.random() * items.length)]!;
const normal = () => Math.sqrt(-2 * Math.log(1 - Math.random())) * Math.cos(2 * Math.PI * Math.random());
const unit = (value: (i: number) => number) => toUnit(Float32Array.from({ length: dimensions }, (_, i) => value(i)))!;
const centres = Array.from({ length: 12 }, () => unit(normal));
/** Passages of few topics, many of them nearly the same, as in a product catalogue. */
const clustered = () => {
  const [centre, spread] = [any(centres), any([0.4, 0.1, 0.02])];
  return unit((i) => centre[i]! + (spread * normal()) / Math.sqrt(dimensions));
};
const shapes: [string, () => Float32Array][] = [
  ['random', () => unit(normal)],
  ['clustered', clustered],
];

function makeRows(count: number, vector: () => Float32Array): PointRow[] {
  return Array.from({ length: count }, (_, n) => {
    const terms = documentTerms(`${any(words)} ${any(words)} ${any(words)} number${n % 50}`);
    return {
      id: randomUUID(),
      fileId: `file_${n % 20}`,
      contentVersion: 'v1',
      vector: vector(),
      termIndices: Uint32Array.from(terms.indices),
      // Unique scores: of equal ones, any may be a candidate.
      termValues: Float32Array.from(terms.values, (value) => value * (0.9 + Math.random() / 10)),
      tags: { kind: ['a', 'b', 'c'][n % 3]! },
    };
  });
}

async function search(rows: PointRow[], query: PassageQuery, removed = new Set<string>()) {
  const scan = new PointScan(query);
  for (let start = 0; start < rows.length; start += mostPointsInBlock)
    scan.consider(PointBlock.ofRows(rows.slice(start, start + mostPointsInBlock)));
  const candidates = scan.candidates();
  const vectors = new Map(rows.map(({ id, vector }) => [id, vector]));
  let reads = 0;
  const hits = await rescored(candidates, query, (ids) => {
    reads += ids.length;
    const left = ids.filter((id) => !removed.has(id));
    return Promise.resolve(new Map(left.map((id) => [id, dot(query.vector, vectors.get(id)!)])));
  });
  return { hits, reads, candidates };
}

/** Hits by the exact cosine of each point. */
function exactHits(rows: PointRow[], query: PassageQuery, passes: (row: PointRow) => boolean): PassageHit[] {
  const { indices } = query.terms;
  const frequencies = indices.map((term) => rows.filter(({ termIndices }) => termIndices.includes(term)).length);
  const scored = rows.filter(passes).map((item) => {
    const bm25 = indices.reduce((sum, term, i) => {
      const at = item.termIndices.indexOf(term);
      const rarity = Math.log(1 + (rows.length - frequencies[i]! + 0.5) / (frequencies[i]! + 0.5));
      return at < 0 ? sum : sum + rarity * item.termValues[at]!;
    }, 0);
    return { item, cosine: dot(query.vector, item.vector), bm25 };
  });
  const most = candidatesPerSide(query.limit);
  const candidates = {
    nearest: scored.toSorted((a, b) => b.cosine - a.cosine).slice(0, most),
    worded: scored
      .filter(({ bm25 }) => bm25 > 0)
      .sort((a, b) => b.bm25 - a.bm25)
      .slice(0, most),
  };
  return fuse(candidates, { terms: query.terms, points: rows.length }, query.limit).map(
    ({ item: { id, fileId, contentVersion }, score, words: share }) => ({
      ...{ id, fileId, contentVersion },
      ...{ score, words: share },
    }),
  );
}

describe.each(shapes)('over %s vectors', (_name, vector) => {
  const rows = makeRows(5_000, vector);

  it.each([1, 10, 60, 150])(
    'finds exactly the hits of an exact search for %i, with and without filters',
    async (limit) => {
      for (const text of ['', 'number7', `number${Math.floor(Math.random() * 50)} number3`]) {
        const query = { vector: vector(), terms: queryTerms(text), limit };
        const few = new Set(['file_3', 'file_4']);
        const tags = { kind: { in: ['b'], notIn: [] } };
        const found = [
          await search(rows, query),
          await search(rows, { ...query, tags }),
          await search(rows, { ...query, fileIds: [...few], tags: { kind: { in: [], notIn: ['a'] } } }),
        ];

        expect(found.map(({ hits }) => hits)).toEqual([
          exactHits(rows, query, () => true),
          exactHits(rows, query, (row) => row.tags.kind === 'b'),
          exactHits(rows, query, (row) => few.has(row.fileId) && row.tags.kind !== 'a'),
        ]);
      }
    },
  );

  it('scores a passage near to the query exactly', async () => {
    const query = { vector: any(rows).vector, terms: queryTerms('ship'), limit: 20 };

    const { hits } = await search(rows, query);

    expect(hits[0]!.score).toBeCloseTo(1, 6);
    for (const { id, score } of hits) {
      const exact = dot(query.vector, rows.find((row) => row.id === id)!.vector);
      expect(score).toBeGreaterThanOrEqual(exact - 1e-12);
    }
  });
});

it('reads few exact vectors', async () => {
  const rows = makeRows(5_000, () => unit(normal));

  const { reads } = await search(rows, { vector: unit(normal), terms: queryTerms('ship number7'), limit: 60 });

  expect(reads).toBeLessThan(400);
});

it('reads one of many equal vectors', async () => {
  const same = unit(normal);
  const rows = makeRows(6_000, () => same);

  const { hits, reads } = await search(rows, { vector: unit(normal), terms: queryTerms(''), limit: 60 });

  expect(hits).toHaveLength(60);
  expect(reads).toBe(1);
});

it('leaves out points that were removed since the scan, and ranks the next ones', async () => {
  const rows = makeRows(2_000, clustered);
  const query = { vector: clustered(), terms: queryTerms('number7'), limit: 10 };
  const before = await search(rows, query);
  const removed = new Set(before.hits.slice(0, 5).map(({ id }) => id));

  const { hits } = await search(rows, query, removed);

  expect(hits.some(({ id }) => removed.has(id))).toBe(false);
  expect(hits.slice(0, 5)).toEqual(before.hits.slice(5));
});
