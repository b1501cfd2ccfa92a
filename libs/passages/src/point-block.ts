/** A point as it is written and read. `termIndices` are ascending. */
export interface StoredPoint {
  id: string;
  fileId: string;
  contentVersion: string;
  vector: Float32Array;
  termIndices: Uint32Array;
  termValues: Float32Array;
  tags: Record<string, string>;
}

/** What the points of one content have in common. */
export type PointSource = Pick<StoredPoint, 'fileId' | 'contentVersion' | 'tags'>;

/** From the first posting of a term up to the one after its last. */
export interface Postings {
  from: number;
  to: number;
}

/** A walk through one takes a fraction of a millisecond. */
export const mostPointsInBlock = 512;

/** Its id as a string, and that once more as the key of a map; a source with its tags. */
const bytesOfId = 150;
const bytesOfSource = 300;

/** Of a term, at a time: three times make 32 bits. */
const digitBits = 11;
const digits = 2 ** digitBits;

/**
 * Points side by side in typed arrays, found by their terms: a hundred thousand take little more memory than their
 * vectors. A block never changes, so a search may walk through it while points are written.
 */
export class PointBlock {
  readonly bytes: number;

  private constructor(
    readonly ids: readonly string[],
    readonly sources: readonly PointSource[],
    /** Of each row, its place among `sources`. */
    readonly sourceOf: Uint16Array,
    /** One after the other, all of the same length. */
    readonly vectors: Float32Array,
    private readonly terms: Uint32Array,
    /** Of each term, where its postings start; and where the last ones end. */
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

  /** Of at most 65,536 points, no two with the same id. */
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
    const place = find(this.terms, term);
    return place < 0 ? undefined : { from: this.starts[place]!, to: this.starts[place + 1]! };
  }

  /** The points again, but for the rows that are dead. */
  points(dead?: Uint8Array): StoredPoint[] {
    const dimensions = this.vectors.length / this.size;
    const termsOfRows = this.ids.map((): { indices: number[]; values: number[] } => ({ indices: [], values: [] }));
    this.terms.forEach((term, place) => {
      for (let posting = this.starts[place]!; posting < this.starts[place + 1]!; posting++) {
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
  const places = new Map<string, number>();
  const sources: PointSource[] = [];
  let last: { point: StoredPoint; place: number } | undefined;
  const sourceOf = Uint16Array.from(points, (point) => {
    // Points of one content mostly come one after the other.
    if (last && isOfSameSource(last.point, point)) return last.place;
    const { fileId, contentVersion, tags } = point;
    const key = JSON.stringify([fileId, contentVersion, tags]);
    const place = places.get(key) ?? sources.push({ fileId, contentVersion, tags }) - 1;
    places.set(key, place);
    last = { point, place };
    return place;
  });
  return [sources, sourceOf];
}

function isOfSameSource(left: StoredPoint, right: StoredPoint): boolean {
  return left.fileId === right.fileId && left.contentVersion === right.contentVersion && left.tags === right.tags;
}

/** The terms in ascending order, where the postings of each start, and the postings: rows ascending, and their values. */
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

/** The places of the values, the lowest value first and equal ones as they come: a radix sort, since they are many. */
function ascending(values: Uint32Array): Uint32Array {
  let [order, sorted] = [new Uint32Array(values.length), new Uint32Array(values.length)];
  for (let i = 0; i < order.length; i++) order[i] = i;
  for (let shift = 0; shift < 32; shift += digitBits) {
    // Of each digit, where its next value goes: at first after all that have a lower one.
    const next = new Uint32Array(digits + 1);
    for (let i = 0; i < values.length; i++) next[((values[i]! >>> shift) & (digits - 1)) + 1]!++;
    for (let digit = 0; digit < digits; digit++) next[digit + 1]! += next[digit]!;
    for (let i = 0; i < order.length; i++) {
      const place = order[i]!;
      sorted[next[(values[place]! >>> shift) & (digits - 1)]!++] = place;
    }
    [order, sorted] = [sorted, order];
  }
  return order;
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
