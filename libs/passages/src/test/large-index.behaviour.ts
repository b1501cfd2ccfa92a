import { randomUUID } from 'node:crypto';
import { TopK } from '../top-k';
import { fuse } from '../fusion';
import { documentTerms, queryTerms } from '../lexicon';
import type { PassageIndex, PassagePoint, PassageQuery } from '../passage-index';
import { dot, toUnit } from '../vectors';

interface LargeIndex {
  open: () => PassageIndex;
  points: number;
  dimensions: number;
  perFile: number;
  settled?: () => Promise<void>;
}

const batchSize = 1_000;
/** Tolerance: 32-bit floats, summed in different orders. */
const rounding = 1e-4;
const quarters = ['spring', 'summer', 'autumn', 'winter'];

/**
 * Behaviour suite for large bots: a search returns exactly the nearest vectors, with any filter, after removals and
 * rewrites. Expected results are computed from the written vectors. The tests depend on their order.
 */
export function describeLargePassageIndex({ open, points: size, dimensions, perFile, settled }: LargeIndex): void {
  const bot = randomUUID();
  const random = seeded(17);
  const stored = new Map<string, PassagePoint>();
  const fileOf = (n: number) => `file_${Math.floor(n / perFile)}`;
  const files = Math.ceil(size / perFile);
  const fileIds = Array.from({ length: files }, (_, n) => `file_${n}`);

  const makePoint = (n: number): PassagePoint => ({
    id: randomUUID(),
    fileId: fileOf(n),
    contentVersion: 'v1',
    vector: unit(dimensions, random),
    terms: documentTerms(n === 1_007 ? 'a cockatoo' : 'nothing in particular'),
    tags: { file: fileOf(n), quarter: quarters[n % quarters.length]! },
  });

  const write = async (points: PassagePoint[]) => {
    for (let start = 0; start < points.length; start += batchSize) {
      await open().write(bot, points.slice(start, start + batchSize));
    }
    for (const point of points) stored.set(point.id, point);
  };

  const removeFiles = async (ids: string[]) => {
    await open().removeFiles(bot, ids);
    const gone = new Set(ids);
    for (const [id, { fileId }] of stored) if (gone.has(fileId)) stored.delete(id);
  };

  const nearestOf = (vector: Float32Array, passes: (point: PassagePoint) => boolean, limit: number) => {
    const best = new TopK<{ id: string }>(limit);
    for (const point of stored.values()) {
      if (!passes(point)) continue;
      const score = dot(vector, point.vector, 0);
      if (best.admits(score)) best.offer(point, score);
    }
    return best.ranked().map(({ item, score }) => ({ id: item.id, score }));
  };

  const search = async (
    { tags, fileIds: only, limit = 20 }: Partial<PassageQuery>,
    passes: (point: PassagePoint) => boolean = () => true,
  ) => {
    const vector = unit(dimensions, random);
    const expected = nearestOf(vector, passes, limit);
    const hits = await open().search(bot, { vector, terms: noTerms, tags, fileIds: only, limit });
    const worst = (expected.at(-1)?.score ?? 0) - rounding;
    const wrong = hits.filter(({ id }) => {
      const point = stored.get(id);
      return !point || !passes(point) || dot(vector, point.vector, 0) < worst;
    });
    const different = hits.filter(({ score }, n) => !(Math.abs(score - expected[n]!.score) < rounding));
    return { missing: expected.length - new Set(hits.map(({ id }) => id)).size, wrong, different };
  };
  const noTerms = { indices: [], values: [] };
  const right = { missing: 0, wrong: [], different: [] };

  beforeAll(async () => {
    await write(Array.from({ length: size }, (_, n) => makePoint(n)));
    await settled?.();
  }, 1_800_000);

  afterAll(() => open().dropTenant(bot));

  it('finds the nearest points without a filter, for a small and a large limit', async () => {
    await expect(open().count(bot)).resolves.toBe(size);
    for (let n = 0; n < 10; n++) expect(await search({})).toEqual(right);
    expect(await search({ limit: Math.min(10_000, size / 2) })).toEqual(right);
  });

  it.each(quarters)('finds the nearest points with the tag %s, which a quarter of all points has', async (quarter) => {
    const tags = { quarter: { in: [quarter], notIn: [] } };

    for (const limit of [1, 20, 200]) {
      expect(await search({ tags, limit }, (point) => point.tags.quarter === quarter)).toEqual(right);
    }
  });

  it('finds the nearest points of all files except any one', async () => {
    for (const file of fileIds) {
      const tags = { file: { in: [], notIn: [file] } };
      expect([file, await search({ tags }, (point) => point.fileId !== file)]).toEqual([file, right]);
    }
  }, 600_000);

  it('finds the nearest points of half of the files', async () => {
    const half = fileIds.filter((_, n) => n % 2 === 0);
    const wanted = new Set(half);

    expect(await search({ fileIds: half }, ({ fileId }) => wanted.has(fileId))).toEqual(right);
  });

  it('fuses the nearest points with the point of a rare word', async () => {
    const vector = unit(dimensions, random);
    const terms = queryTerms('cockatoo');
    const worded = [...stored.values()].filter((point) => point.terms.indices.includes(terms.indices[0]!));
    // The only point of its word, and as long as all others.
    const bm25 = worded[0]!.terms.values[worded[0]!.terms.indices.indexOf(terms.indices[0]!)]!;
    const rarity = Math.log(1 + (stored.size - 0.5) / 1.5);
    const candidates = {
      nearest: nearestOf(vector, () => true, 100).map(({ id, score }) => ({ item: { id }, cosine: score })),
      worded: worded.map((item) => ({ item, cosine: dot(vector, item.vector, 0), bm25: bm25 * rarity })),
    };
    const expected = fuse<{ id: string }>(candidates, { terms, points: stored.size }, 20);

    const hits = await open().search(bot, { vector, terms, limit: 20 });

    expect(worded).toHaveLength(1);
    expect(hits.map(({ id }) => id)).toEqual(expected.map(({ item }) => item.id));
    expect(hits.map(({ score }) => score.toFixed(6))).toEqual(expected.map(({ score }) => score.toFixed(6)));
  });

  it('finds the nearest points after one row was rewritten many times', async () => {
    const row = [...stored.values()][0]!;

    for (let n = 0; n < 300; n++) await open().write(bot, [{ ...row, contentVersion: `v${n}` }]);

    for (let n = 0; n < 10; n++) expect(await search({})).toEqual(right);
  }, 600_000);

  it('finds the nearest points after the oldest points are removed', async () => {
    await removeFiles(fileIds.slice(0, 2));

    for (let n = 0; n < 10; n++) expect(await search({})).toEqual(right);
  });

  it('finds the nearest points while half of all files are removed step by step', async () => {
    const rest = fileIds.slice(2, Math.ceil(files / 2));
    const step = Math.ceil(rest.length / 20);

    for (let start = 0; start < rest.length; start += step) {
      await removeFiles(rest.slice(start, start + step));
      expect(await search({})).toEqual(right);
    }

    await settled?.();
    for (let n = 0; n < 10; n++) expect(await search({})).toEqual(right);
  }, 1_800_000);
}

function unit(dimensions: number, random: () => number): Float32Array {
  const vector = Float32Array.from({ length: dimensions }, () => random() - 0.5);
  return toUnit(vector)!;
}

function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
