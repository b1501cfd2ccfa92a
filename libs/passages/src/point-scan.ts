import type { TagQuery } from '@parley/contracts/query-fields';
import { candidatesPerSide, inverseDocumentFrequency } from './fusion';
import type { PassageQuery } from './passage-index';
import type { PointBlock, Postings } from './point-block';
import { errorOfProduct, quantiseQuery, type QuantisedQuery } from './quantised-vector';
import { ScanKernel } from './scan-kernel';
import { countOnes } from './tenant-points';
import { TopK } from './top-k';

export type ScanQuery = Pick<PassageQuery, 'terms' | 'tags' | 'fileIds' | 'limit'> & {
  /** Without it, points are found by words alone. */
  vector?: Float32Array;
};

export interface Candidate {
  id: string;
  fileId: string;
  contentVersion: string;
  /** Cosine of the quantised vector: the exact one differs from it by `error` at most. */
  cosine: number;
  error: number;
  /** Candidates with equal quantised vectors have one number: their exact vectors are equal, too. */
  twins: number;
}

/** Points that may belong to the answer of a search. */
export interface Candidates {
  nearest: Candidate[];
  worded: (Candidate & { bm25: number })[];
  /** Number of all points of the bot. */
  points: number;
}

interface Found {
  block: PointBlock;
  row: number;
  cosine: number;
  error: number;
}

interface Matches {
  block: PointBlock;
  isWanted: Uint8Array;
  /** One entry for each term of the query. */
  postings: (Postings | undefined)[];
}

const kernel = new ScanKernel();

/**
 * Scan of blocks of points, each point at most once, for the candidates of a hybrid search. The dense side has all points
 * that can be among the `limit` nearest. The sparse side is BM25; document frequencies include points that the filter
 * excludes. Takes all rows but the dead.
 */
export class PointScan {
  private readonly query?: QuantisedQuery;
  private readonly least: TopK<undefined>;
  private readonly near: Found[] = [];
  private readonly matches: Matches[] = [];
  private readonly fileIds?: Set<string>;
  private readonly documentFrequencies: number[];
  private considered = 0;

  constructor(private readonly search: ScanQuery) {
    if (search.vector) this.query = quantiseQuery(search.vector);
    this.least = new TopK(search.limit);
    this.documentFrequencies = search.terms.indices.map(() => 0);
    this.fileIds = search.fileIds && new Set(search.fileIds);
  }

  consider(block: PointBlock, dead?: Uint8Array): void {
    this.considered += block.size - countOnes(dead);
    const isWanted = this.wantedRows(block, dead);
    this.findWords(block, isWanted, dead);
    if (this.query && this.query.codes.length === block.width && isWanted.includes(1)) this.findNear(block, isWanted);
  }

  candidates(): Candidates {
    const floor = this.least.lowest();
    const near = this.near.filter(({ cosine, error }) => cosine + error >= floor);
    const twins = new Map<string, number>();
    return {
      nearest: near.map((found) => toCandidate(found, twins)),
      worded: this.bestWorded().map(({ item, score }) => ({ ...toCandidate(item, twins), bm25: score })),
      points: this.considered,
    };
  }

  private findNear(block: PointBlock, isWanted: Uint8Array): void {
    const query = this.query!;
    kernel.multiply(query.codes, block.codes, (firstRow, products) => {
      for (let i = 0, row = firstRow; i < products.length; i++, row++) {
        if (!isWanted[row]) continue;
        const cosine = products[i]! * query.scale * block.scales[row]!;
        const error = errorOfProduct(query, block.errors[row]!, block.largestNorm);
        if (!this.least.admits(cosine + error)) continue;
        this.near.push({ block, row, cosine, error });
        this.least.offer(undefined, cosine - error);
      }
    });
  }

  private findWords(block: PointBlock, isWanted: Uint8Array, dead?: Uint8Array): void {
    const postings = this.search.terms.indices.map((term) => block.postingsOf(term));
    postings.forEach((found, i) => {
      if (!found) return;
      const living = dead ? found.rows.reduce((count, row) => count + 1 - dead[row]!, 0) : found.rows.length;
      this.documentFrequencies[i]! += living;
    });
    if (postings.some(Boolean)) this.matches.push({ block, isWanted, postings });
  }

  private bestWorded(): { item: Found; score: number }[] {
    const { terms, limit } = this.search;
    const best = new TopK<{ block: PointBlock; row: number }>(candidatesPerSide(limit));
    const weights = this.documentFrequencies.map(
      (frequency, i) => terms.values[i]! * inverseDocumentFrequency(frequency, this.considered),
    );
    for (const { block, isWanted, postings } of this.matches) {
      const scores = scoresOf(block.size, postings, weights);
      for (let row = 0; row < scores.length; row++) {
        const score = scores[row]!;
        if (score !== 0 && isWanted[row] && best.admits(score)) best.offer({ block, row }, score);
      }
    }
    return best.ranked().map(({ item, score }) => ({ item: { ...item, ...this.cosineOf(item) }, score }));
  }

  private cosineOf({ block, row }: { block: PointBlock; row: number }): { cosine: number; error: number } {
    const { query } = this;
    if (!query || query.codes.length !== block.width) return { cosine: 0, error: 0 };
    const codes = block.codesOf(row);
    const product = codes.reduce((sum, code, i) => sum + code * query.codes[i]!, 0);
    const error = errorOfProduct(query, block.errors[row]!, block.largestNorm);
    return { cosine: product * query.scale * block.scales[row]!, error };
  }

  private wantedRows(block: PointBlock, dead?: Uint8Array): Uint8Array {
    const { tags: filter } = this.search;
    const isWanted = new Uint8Array(block.size).fill(1);
    if (this.fileIds || Object.keys(filter ?? {}).length > 0) {
      const fits = block
        .sources()
        .map(({ fileId, tags }) => (this.fileIds?.has(fileId) ?? true) && hasTags(tags, filter));
      for (let row = 0; row < isWanted.length; row++) isWanted[row] = fits[block.sourceOf[row]!] ? 1 : 0;
    }
    if (dead) for (let row = 0; row < isWanted.length; row++) if (dead[row]) isWanted[row] = 0;
    return isWanted;
  }
}

function scoresOf(size: number, postings: (Postings | undefined)[], weights: number[]): Float64Array {
  const scores = new Float64Array(size);
  postings.forEach((found, term) => {
    if (!found) return;
    const { rows, values } = found;
    const weight = weights[term]!;
    for (let i = 0; i < rows.length; i++) scores[rows[i]!]! += weight * values[i]!;
  });
  return scores;
}

function toCandidate({ block, row, cosine, error }: Found, twins: Map<string, number>): Candidate {
  const codes = block.codesOf(row);
  const bytes = Buffer.from(codes.buffer as ArrayBuffer, codes.byteOffset, codes.length).toString('latin1');
  const key = `${block.scales[row]} ${block.errors[row]} ${bytes}`;
  if (!twins.has(key)) twins.set(key, twins.size);
  const { fileId, contentVersion } = block.sourceOfRow(row);
  return { id: block.idOf(row), fileId, contentVersion, cosine, error, twins: twins.get(key)! };
}

function hasTags(tags: Record<string, string>, filter: TagQuery = {}): boolean {
  return Object.entries(filter).every(([name, { in: allowed, notIn: banned }]) => {
    const value = Object.hasOwn(tags, name) ? tags[name]! : null;
    if (value === null) return allowed.length === 0;
    return (allowed.length === 0 || allowed.includes(value)) && !banned.includes(value);
  });
}
