import { fuse } from './fusion';
import type { PassageHit, SparseTerms } from './passage-index';
import type { Candidate, Candidates } from './point-scan';

/** Vectors that are read beside those of the best, since some of these are not as near as they could be. */
const leastSpare = 32;

/**
 * Exact ranking of candidates whose cosines are known up to an error. Candidates are ranked by the highest cosine that they
 * can have, and the exact vectors of the best are read, until those of all hits are known: every other candidate is below
 * them even with its highest cosine.
 *
 * @param cosinesOf the exact cosines of the points that still exist
 */
export async function rescored(
  candidates: Candidates,
  { terms, limit }: { terms: SparseTerms; limit: number },
  cosinesOf: (ids: string[]) => Promise<Map<string, number>>,
): Promise<PassageHit[]> {
  const exact = new Map<number, number>();
  const removed = new Set<string>();
  const highest = ({ twins, cosine, error }: Candidate) => exact.get(twins) ?? cosine + error;
  for (let spare = leastSpare; ; spare *= 2) {
    const isLeft = ({ id }: Candidate) => !removed.has(id);
    const nearest = candidates.nearest.filter(isLeft).map((item) => ({ item, cosine: highest(item) }));
    const worded = candidates.worded.filter(isLeft).map((item) => ({ item, cosine: highest(item), bm25: item.bm25 }));
    const ranked = fuse({ nearest, worded }, { terms, points: candidates.points }, limit + spare);
    const isOpen = ({ item }: { item: Candidate }) => item.error > 0 && !exact.has(item.twins);
    const hits = ranked.slice(0, limit);
    if (!hits.some(isOpen)) {
      return hits.map(({ item: { id, fileId, contentVersion }, score, words }) => ({
        ...{ id, fileId, contentVersion },
        ...{ score, words },
      }));
    }
    const open = [...new Map(ranked.filter(isOpen).map(({ item }) => [item.twins, item])).values()];
    const found = await cosinesOf(open.map(({ id }) => id));
    for (const { id, twins } of open) {
      const cosine = found.get(id);
      if (cosine === undefined) removed.add(id);
      else exact.set(twins, cosine);
    }
  }
}
