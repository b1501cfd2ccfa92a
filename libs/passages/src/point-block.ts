/** Point as it is stored. `termIndices` are ascending. */
export interface StoredPoint {
  id: string;
  fileId: string;
  contentVersion: string;
  vector: Float32Array;
  termIndices: Uint32Array;
  termValues: Float32Array;
  tags: Record<string, string>;
}

export type PointSource = Pick<StoredPoint, 'fileId' | 'contentVersion' | 'tags'>;

/** Range of a term's postings; `to` is exclusive. */
export interface Postings {
  from: number;
  to: number;
}

/** Block size: scanning a block takes a fraction of a millisecond. */
export const mostPointsInBlock = 512;

/** Estimated memory of an id (string and map key) and of a source with its tags. */
const bytesOfId = 150;
const bytesOfSource = 300;

/** Radix sort: bits per pass, 3 passes for 32 bits. */
const digitBits = 11;
const digits = 2 ** digitBits;

/**
 * Column-oriented block of points with an inverted index of terms: 100,000 points take little more memory than their
 * vectors. Immutable, so searches may iterate over it during writes.
 */
export class PointBlock {
  readonly bytes: number;

  private constructor(
    readonly ids: readonly string[],
    readonly sources: readonly PointSource[],
    readonly sourceOf: Uint16Array,
    readonly vectors: Float32Array,
    private readonly terms: Uint32Array,
    /** Start of each term's postings, followed by the end of the last one. */
    private readonly starts: Uint32Array,
    readonly postingRows: Uint16Array,
    readonly postingValues: Float32Array,
  ) {
    const arrays = [sourceOf, vectors, terms, starts, postingRows, postingValues];
    this.bytes =
      arrays.reduce((sum, { byteLength }) => sum + byteLength, 0) +
      ids.length * bytesOfId +
      sources.length * bytesOfSource;
  }

  /** Builds a block of at most 65,536 points with unique ids. */
  static of(points: StoredPoint[]): PointBlock {
    const dimensions = points[0]?.vector.length ?? 0;
    const vectors = new Float32Array(points.length * dimensions);
    points.forEach(({ vector }, row) => vectors.set(vector, row * dimensions));
    return new PointBlock(
      points.map(({ id }) => id),
      ...sourcesOf(points),
      vectors,
      ...invert(points),
    );
  }

  get size(): number {
    return this.ids.length;
  }

  postingsOf(term: number): Postings | undefined {
    const index = find(this.terms, term);
    return index < 0 ? undefined : { from: this.starts[index]!, to: this.starts[index + 1]! };
  }

  points(dead?: Uint8Array): StoredPoint[] {
    const dimensions = this.vectors.length / this.size;
    const termsOfRows = this.ids.map((): { indices: number[]; values: number[] } => ({ indices: [], values: [] }));
    this.terms.forEach((term, index) => {
      for (let posting = this.starts[index]!; posting < this.starts[index + 1]!; posting++) {
        const { indices, values } = termsOfRows[this.postingRows[posting]!]!;
        indices.push(term);
        values.push(this.postingValues[posting]!);
      }
    });
    const points = this.ids.map((id, row): StoredPoint => {
      return {
        id,
        ...this.sources[this.sourceOf[row]!]!,
        vector: this.vectors.subarray(row * dimensions, (row + 1) * dimensions),
        termIndices: Uint32Array.from(termsOfRows[row]!.indices),
        termValues: Float32Array.from(termsOfRows[row]!.values),
      };
    });
    return points.filter((_, row) => !dead?.[row]);
  }
}

function sourcesOf(points: StoredPoint[]): [PointSource[], Uint16Array] {
  const indices = new Map<string, number>();
  const sources: PointSource[] = [];
  let last: { point: StoredPoint; index: number } | undefined;
  const sourceOf = Uint16Array.from(points, (point) => {
    if (last && isOfSameSource(last.point, point)) return last.index;
    const { fileId, contentVersion, tags } = point;
    const key = JSON.stringify([fileId, contentVersion, tags]);
    const index = indices.get(key) ?? sources.push({ fileId, contentVersion, tags }) - 1;
    indices.set(key, index);
    last = { point, index };
    return index;
  });
  return [sources, sourceOf];
}

function isOfSameSource(left: StoredPoint, right: StoredPoint): boolean {
  return left.fileId === right.fileId && left.contentVersion === right.contentVersion && left.tags === right.tags;
}

/** Inverted index: ascending terms, the start of each term's postings, and the postings (ascending rows, values). */
function invert(points: StoredPoint[]): [Uint32Array, Uint32Array, Uint16Array, Float32Array] {
  const count = points.reduce((sum, { termIndices }) => sum + termIndices.length, 0);
  const [termOf, rowOf, valueOf] = [new Uint32Array(count), new Uint16Array(count), new Float32Array(count)];
  let filled = 0;
  points.forEach(({ termIndices, termValues }, row) => {
    termOf.set(termIndices, filled);
    valueOf.set(termValues, filled);
    rowOf.fill(row, filled, (filled += termIndices.length));
  });

  const order = ascending(termOf);
  const [terms, starts] = [new Uint32Array(count), new Uint32Array(count + 1)];
  const [postingRows, postingValues] = [new Uint16Array(count), new Float32Array(count)];
  let distinct = 0;
  for (let posting = 0; posting < count; posting++) {
    const from = order[posting]!;
    postingRows[posting] = rowOf[from]!;
    postingValues[posting] = valueOf[from]!;
    if (distinct > 0 && terms[distinct - 1] === termOf[from]) continue;
    terms[distinct] = termOf[from]!;
    starts[distinct++] = posting;
  }
  starts[distinct] = count;
  return [terms.slice(0, distinct), starts.slice(0, distinct + 1), postingRows, postingValues];
}

/** Stable radix sort; returns the positions of the values in ascending order. */
function ascending(values: Uint32Array): Uint32Array {
  let [order, sorted] = [new Uint32Array(values.length), new Uint32Array(values.length)];
  for (let i = 0; i < order.length; i++) order[i] = i;
  for (let shift = 0; shift < 32; shift += digitBits) {
    const next = new Uint32Array(digits + 1);
    for (let i = 0; i < values.length; i++) next[((values[i]! >>> shift) & (digits - 1)) + 1]!++;
    for (let digit = 0; digit < digits; digit++) next[digit + 1]! += next[digit]!;
    for (let i = 0; i < order.length; i++) {
      const index = order[i]!;
      sorted[next[(values[index]! >>> shift) & (digits - 1)]!++] = index;
    }
    [order, sorted] = [sorted, order];
  }
  return order;
}

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
