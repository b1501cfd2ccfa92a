import type { TagQuery } from '@parley/contracts/query-fields';
import { TopK } from './top-k';
import { candidatesPerSide, fuse, inverseDocumentFrequency } from './fusion';
import type { PassageHit, PassageQuery } from './passage-index';
import type { PointBlock, Postings } from './point-block';
import { dot } from './vectors';

type Item = Omit<PassageHit, 'score' | 'words'>;

interface Matches {
  block: PointBlock;
  isWanted: Uint8Array;
  postings: (Postings | undefined)[];
}

/**
 * Hybrid ranking over blocks of points, each point at most once. The dense side is exact. The sparse side is BM25;
 * document frequencies include points that the filter excludes. Takes all rows but the dead.
 */
export class HybridRanking {
  private readonly nearest: TopK<Item>;
  private readonly matches: Matches[] = [];
  private readonly documentFrequencies: number[];
  private readonly fileIds?: Set<string>;
  private considered = 0;

  constructor(private readonly query: PassageQuery) {
    this.nearest = new TopK(candidatesPerSide(query.limit));
    this.documentFrequencies = query.terms.indices.map(() => 0);
    this.fileIds = query.fileIds && new Set(query.fileIds);
  }

  consider(block: PointBlock, dead?: Uint8Array): void {
    this.countTerms(block, dead);
    const isWanted = this.wantedRows(block, dead);
    const { vector } = this.query;
    for (let row = 0; row < block.size; row++) {
      if (!isWanted[row]) continue;
      const score = dot(vector, block.vectors, row * vector.length);
      if (this.nearest.admits(score)) this.nearest.offer(itemOf(block, row), score);
    }
    const postings = this.query.terms.indices.map((term) => block.postingsOf(term));
    if (postings.some(Boolean)) this.matches.push({ block, isWanted, postings });
  }

  /** Hits, best first. `pause` is called after each block to yield to the event loop. */
  async hits(pause?: () => Promise<void>): Promise<PassageHit[]> {
    const { terms, limit, vector } = this.query;
    const best = new TopK<{ item: Item; cosine: number }>(candidatesPerSide(limit));
    const weights = this.documentFrequencies.map(
      (frequency, i) => terms.values[i]! * inverseDocumentFrequency(frequency, this.considered),
    );
    for (const { block, isWanted, postings } of this.matches) {
      const scores = scoresOf(block, postings, weights);
      for (let row = 0; row < scores.length; row++) {
        const score = scores[row]!;
        if (score === 0 || !isWanted[row] || !best.admits(score)) continue;
        best.offer({ item: itemOf(block, row), cosine: dot(vector, block.vectors, row * vector.length) }, score);
      }
      await pause?.();
    }
    const candidates = {
      nearest: this.nearest.ranked().map(({ item, score }) => ({ item, cosine: score })),
      worded: best.ranked().map(({ item, score }) => ({ ...item, bm25: score })),
    };
    const ranked = fuse(candidates, { terms, points: this.considered }, limit);
    return ranked.map(({ item, ...scores }) => ({ ...item, ...scores }));
  }

  private countTerms(block: PointBlock, dead?: Uint8Array): void {
    this.considered += dead ? block.size - countOnes(dead) : block.size;
    this.query.terms.indices.forEach((term, i) => {
      const { from, to } = block.postingsOf(term) ?? { from: 0, to: 0 };
      const rows = block.postingRows.subarray(from, to);
      this.documentFrequencies[i]! += dead ? rows.reduce((count, row) => count + 1 - dead[row]!, 0) : rows.length;
    });
  }

  private wantedRows({ sources, sourceOf }: PointBlock, dead?: Uint8Array): Uint8Array {
    const fits = sources.map(
      ({ fileId, tags }) => (this.fileIds?.has(fileId) ?? true) && hasTags(tags, this.query.tags),
    );
    return Uint8Array.from(sourceOf, (source, row) => (fits[source] && !dead?.[row] ? 1 : 0));
  }
}

function scoresOf(block: PointBlock, postings: (Postings | undefined)[], weights: number[]): Float64Array {
  const scores = new Float64Array(block.size);
  postings.forEach((run, term) => {
    if (!run) return;
    const weight = weights[term]!;
    for (let posting = run.from; posting < run.to; posting++) {
      scores[block.postingRows[posting]!]! += weight * block.postingValues[posting]!;
    }
  });
  return scores;
}

function itemOf(block: PointBlock, row: number): Item {
  const { fileId, contentVersion } = block.sources[block.sourceOf[row]!]!;
  return { id: block.ids[row]!, fileId, contentVersion };
}

function countOnes(flags: Uint8Array): number {
  return flags.reduce((count, flag) => count + flag, 0);
}

function hasTags(tags: Record<string, string>, filter: TagQuery = {}): boolean {
  return Object.entries(filter).every(([name, { in: allowed, notIn: banned }]) => {
    const value = Object.hasOwn(tags, name) ? tags[name]! : null;
    if (value === null) return allowed.length === 0;
    return (allowed.length === 0 || allowed.includes(value)) && !banned.includes(value);
  });
}
