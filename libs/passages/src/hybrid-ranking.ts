import type { TagQuery } from '@parley/contracts/query-fields';
import { Best } from './best';
import { candidatesPerSide, fuse } from './fusion';
import type { PassageHit, PassageQuery, SparseTerms } from './passage-index';
import { dot } from './vectors';

/** A point as the local index keeps it in memory. `termIndices` are ascending. */
export interface StoredPoint {
  id: string;
  fileId: string;
  contentVersion: string;
  vector: Float32Array;
  termIndices: Uint32Array;
  termValues: Float32Array;
  tags: Record<string, string>;
}

interface Scored {
  item: StoredPoint;
  score: number;
}

/** The query's terms that a point has, and the weight that it gives to each. */
interface TermMatch {
  point: StoredPoint;
  terms: number[];
  values: number[];
}

/**
 * Ranks points that come one by one, each once. The dense side is exact, and alone when the query has no terms; the
 * sparse side is BM25 whose document
 * frequencies are those of all points considered, also of those that the tag filter leaves out.
 */
export class HybridRanking {
  private readonly nearest: Best<StoredPoint>;
  private readonly matches: TermMatch[] = [];
  private readonly terms: SparseTerms;
  private readonly documentFrequencies: number[];
  private considered = 0;

  constructor(private readonly query: PassageQuery) {
    this.nearest = new Best(candidatesPerSide(query.limit));
    this.terms = query.terms ?? { indices: [], values: [] };
    this.documentFrequencies = this.terms.indices.map(() => 0);
  }

  consider(point: StoredPoint): void {
    this.considered++;
    const match = this.matchTerms(point);
    if (!hasTags(point.tags, this.query.tags)) return;
    this.nearest.offer(point, dot(this.query.vector, point.vector));
    if (match) this.matches.push(match);
  }

  hits(): PassageHit[] {
    return (this.query.terms ? this.fused() : this.nearest.ranked().slice(0, this.query.limit)).map(toHit);
  }

  private fused(): Scored[] {
    const best = new Best<StoredPoint>(candidatesPerSide(this.query.limit));
    const weights = this.documentFrequencies.map((frequency, i) => this.terms.values[i]! * this.idf(frequency));
    for (const { point, terms, values } of this.matches) {
      best.offer(
        point,
        terms.reduce((score, term, i) => score + weights[term]! * values[i]!, 0),
      );
    }
    return fuse([this.nearest.items(), best.items()], this.query.limit);
  }

  private matchTerms(point: StoredPoint): TermMatch | null {
    const { indices } = this.terms;
    let match: TermMatch | null = null;
    for (let term = 0; term < indices.length; term++) {
      const position = find(point.termIndices, indices[term]!);
      if (position < 0) continue;
      this.documentFrequencies[term]!++;
      match ??= { point, terms: [], values: [] };
      match.terms.push(term);
      match.values.push(point.termValues[position]!);
    }
    return match;
  }

  /** The form that is never negative, as Lucene and Qdrant have it. */
  private idf(documentFrequency: number): number {
    return Math.log(1 + (this.considered - documentFrequency + 0.5) / (documentFrequency + 0.5));
  }
}

function toHit({ item: { id, fileId, contentVersion }, score }: Scored): PassageHit {
  return { id, fileId, contentVersion, score };
}

function hasTags(tags: Record<string, string>, filter: TagQuery = {}): boolean {
  return Object.entries(filter).every(([name, { in: allowed, notIn: banned }]) => {
    const value = Object.hasOwn(tags, name) ? tags[name]! : null;
    if (value === null) return allowed.length === 0;
    return (allowed.length === 0 || allowed.includes(value)) && !banned.includes(value);
  });
}

/** Position of the value in an ascending list, or -1. */
function find(list: Uint32Array, value: number): number {
  let low = 0;
  let high = list.length - 1;
  while (low <= high) {
    const middle = (low + high) >>> 1;
    if (list[middle]! === value) return middle;
    if (list[middle]! < value) low = middle + 1;
    else high = middle - 1;
  }
  return -1;
}
