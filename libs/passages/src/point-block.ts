import type { PointRow } from './point-rows';
import { quantise, type QuantisedVector } from './quantised-vector';

/** Point of a block. `termIndices` are ascending. */
export interface BlockPoint extends PointSource, QuantisedVector {
  id: string;
  termIndices: ArrayLike<number>;
  termValues: ArrayLike<number>;
}

export interface PointSource {
  fileId: string;
  contentVersion: string;
  tags: Record<string, string>;
}

/** Ascending rows with a term, and its value in each. */
export interface Postings {
  rows: Uint16Array;
  values: Float32Array;
}

/** Block size: many points share the list of their terms; and few are written again when a block is merged. */
export const mostPointsInBlock = 4_096;

/** Changes with the layout, so that stored blocks of another version are not read. */
const format = 1;
const bytesOfId = 16;

/** Radix sort: bits per pass, 3 passes for 32 bits. */
const digitBits = 11;
const digits = 2 ** digitBits;

/** Postings: the class of a value in as many bits as its low ones; the highest of these says that a number follows. */
const classBits = 2;
const furtherClass = 2 ** classBits - 1;

/** Lengths of the sections of a block, in elements, in the order of its header. */
interface Counts {
  rows: number;
  width: number;
  sources: number;
  terms: number;
  postingBytes: number;
  values: number;
  textBytes: number;
  tagBytes: number;
}

const headerBytes = 64;

/**
 * Points in one compact buffer with an inverted index of terms: 100,000 points of 512 dimensions take a quarter of the
 * memory of their 32-bit floats, ids and terms. Rows are ordered by `keyOf` their id. The same bytes are stored in
 * Postgres.
 */
export class PointBlock {
  readonly size: number;
  /** Width of the codes of a vector. */
  readonly width: number;
  readonly scales: Float32Array;
  readonly errors: Float32Array;
  readonly codes: Int8Array;
  readonly sourceOf: Uint16Array;
  /** Length of the longest quantised vector. */
  readonly largestNorm: number;
  private readonly ids: Uint8Array;
  private readonly idWords: Uint32Array;
  private readonly terms: Uint32Array;
  /** End of each term's postings, which begin where those of the term before end. */
  private readonly postingEnds: Uint32Array;
  private readonly postings: Uint8Array;
  /** Ascending values of the terms of each row. */
  private readonly values: Float32Array;
  private readonly valueEnds: Uint32Array;
  private readonly sourceTags: Uint16Array;
  /** Ends of the file id and of the content version of each source in `texts`. */
  private readonly textEnds: Uint32Array;
  private readonly texts: Buffer;
  private readonly tags: Record<string, string>[];

  /** Throws for the bytes of another version. */
  constructor(readonly buffer: ArrayBuffer) {
    const [found, rows, width, sources, terms, postingBytes, values, textBytes, tagBytes] = new Uint32Array(
      buffer,
      0,
      9,
    );
    const counts = { rows, width, sources, terms, postingBytes, values, textBytes, tagBytes } as Counts;
    if (found !== format || layoutOf(counts).bytes !== buffer.byteLength)
      throw new Error('The block has another format.');
    const at = layoutOf(counts);
    this.size = counts.rows;
    this.width = counts.width;
    this.largestNorm = new Float32Array(buffer, headerBytes - 4, 1)[0]!;
    this.ids = new Uint8Array(buffer, at.ids, bytesOfId * counts.rows);
    this.idWords = new Uint32Array(buffer, at.ids, 4 * counts.rows);
    this.scales = new Float32Array(buffer, at.scales, counts.rows);
    this.errors = new Float32Array(buffer, at.errors, counts.rows);
    this.valueEnds = new Uint32Array(buffer, at.valueEnds, counts.rows);
    this.terms = new Uint32Array(buffer, at.terms, counts.terms);
    this.postingEnds = new Uint32Array(buffer, at.postingEnds, counts.terms);
    this.values = new Float32Array(buffer, at.values, counts.values);
    this.textEnds = new Uint32Array(buffer, at.textEnds, 2 * counts.sources);
    this.sourceOf = new Uint16Array(buffer, at.sourceOf, counts.rows);
    this.sourceTags = new Uint16Array(buffer, at.sourceTags, counts.sources);
    this.postings = new Uint8Array(buffer, at.postings, counts.postingBytes);
    this.texts = Buffer.from(buffer, at.texts, counts.textBytes);
    this.codes = new Int8Array(buffer, at.codes, counts.rows * counts.width);
    const json = Buffer.from(buffer, at.tags, counts.tagBytes).toString();
    this.tags = JSON.parse(json) as Record<string, string>[];
  }

  /** Builds a block of at most 65,536 points with unique ids. */
  static of(points: BlockPoint[]): PointBlock {
    const ids = points.map(({ id }) => idWords(id));
    const keys = ids.map((words) => keyOf(words, 0));
    const order = points.map((_, i) => i).sort((a, b) => keys[a]! - keys[b]!);
    const sorted = order.map((i) => points[i]!);
    const { sources, sourceOf } = sourcesOf(sorted);
    const tags = tagsOf(sources);
    const texts = sources.flatMap(({ fileId, contentVersion }) => [Buffer.from(fileId), Buffer.from(contentVersion)]);
    const valuesOfRows = sorted.map(({ termValues }) => distinct(termValues));
    const { terms, postingEnds, postings } = invert(sorted, valuesOfRows);
    const json = Buffer.from(JSON.stringify(tags.distinct));
    const counts: Counts = {
      rows: points.length,
      width: points[0]?.codes.length ?? 0,
      sources: sources.length,
      terms: terms.length,
      postingBytes: postings.length,
      values: sum(valuesOfRows),
      textBytes: sum(texts),
      tagBytes: json.length,
    };
    const at = layoutOf(counts);
    const buffer = new ArrayBuffer(at.bytes);
    new Uint32Array(buffer).set([format, ...Object.values<number>({ ...counts })]);
    const bytes = new Uint8Array(buffer);
    const words = new Uint32Array(buffer, at.ids, 4 * points.length);
    order.forEach((i, row) => words.set(ids[i]!, 4 * row));
    new Float32Array(buffer, at.scales).set(sorted.map(({ scale }) => scale));
    new Float32Array(buffer, at.errors).set(sorted.map(({ error }) => error));
    new Uint32Array(buffer, at.valueEnds).set(endsOf(valuesOfRows));
    new Uint32Array(buffer, at.terms).set(terms);
    new Uint32Array(buffer, at.postingEnds).set(postingEnds);
    new Float32Array(buffer, at.values).set(joined(valuesOfRows));
    new Uint32Array(buffer, at.textEnds).set(endsOf(texts));
    new Uint16Array(buffer, at.sourceOf).set(sourceOf);
    new Uint16Array(buffer, at.sourceTags).set(tags.indices);
    bytes.set(postings, at.postings);
    bytes.set(Buffer.concat(texts), at.texts);
    bytes.set(json, at.tags);
    const codes = new Int8Array(buffer, at.codes);
    sorted.forEach((point, row) => codes.set(point.codes, row * counts.width));
    const norms = sorted.map((point) => point.scale * lengthOf(point.codes));
    new Float32Array(buffer)[headerBytes / 4 - 1] = Math.max(0, ...norms) * (1 + 2 ** -23);
    return new PointBlock(buffer);
  }

  static ofRows(rows: PointRow[]): PointBlock {
    return PointBlock.of(rows.map(quantised));
  }

  /** Row of the id with these words, or -1. */
  rowOf(words: Uint32Array): number {
    const key = keyOf(words, 0);
    const isEqual = (row: number) => words.every((word, i) => this.idWords[4 * row + i] === word);
    for (let row = firstAtLeast(this.size, (at) => keyOf(this.idWords, at), key); row < this.size; row++) {
      if (keyOf(this.idWords, row) !== key) return -1;
      if (isEqual(row)) return row;
    }
    return -1;
  }

  idOf(row: number): string {
    const hex = Buffer.from(this.ids.buffer, this.ids.byteOffset + row * bytesOfId, bytesOfId).toString('hex');
    return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
  }

  /** The id of a row as a key of a map. */
  rawIdOf(row: number): string {
    return Buffer.from(this.ids.buffer, this.ids.byteOffset + row * bytesOfId, bytesOfId).toString('latin1');
  }

  sources(): PointSource[] {
    return Array.from(this.sourceTags, (_, source) => this.source(source));
  }

  sourceOfRow(row: number): PointSource {
    return this.source(this.sourceOf[row]!);
  }

  codesOf(row: number): Int8Array {
    return this.codes.subarray(row * this.width, (row + 1) * this.width);
  }

  postingsOf(term: number): Postings | undefined {
    const index = firstAtLeast(this.terms.length, (at) => this.terms[at]!, term);
    if (this.terms[index] !== term) return undefined;
    const [start, end] = this.postingBytes(index);
    const found = emptyPostings(end - start);
    const count = this.readPostings(start, end, found, 0);
    return { rows: found.rows.subarray(0, count), values: found.values.subarray(0, count) };
  }

  points(dead?: Uint8Array): BlockPoint[] {
    const { rows, values, terms } = this.allPostings();
    const counts = new Uint32Array(this.size);
    rows.forEach((row) => counts[row]!++);
    const ends = endsOf(Array.from(counts, (length) => ({ length })));
    const [termIndices, termValues] = [new Uint32Array(rows.length), new Float32Array(rows.length)];
    const filled = Uint32Array.from(ends, (end, row) => end - counts[row]!);
    rows.forEach((row, i) => {
      const at = filled[row]!++;
      termIndices[at] = terms[i]!;
      termValues[at] = values[i]!;
    });
    const sources = this.sources();
    const points = ends.map((end, row): BlockPoint => ({
      id: this.idOf(row),
      ...sources[this.sourceOf[row]!]!,
      codes: this.codesOf(row),
      scale: this.scales[row]!,
      error: this.errors[row]!,
      termIndices: termIndices.subarray(end - counts[row]!, end),
      termValues: termValues.subarray(end - counts[row]!, end),
    }));
    return dead ? points.filter((_, row) => !dead[row]) : points;
  }

  private source(source: number): PointSource {
    const start = source > 0 ? this.textEnds[2 * source - 1]! : 0;
    const [middle, end] = [this.textEnds[2 * source]!, this.textEnds[2 * source + 1]!];
    return {
      fileId: this.texts.toString('utf8', start, middle),
      contentVersion: this.texts.toString('utf8', middle, end),
      tags: this.tags[this.sourceTags[source]!]!,
    };
  }

  private postingBytes(index: number): [start: number, end: number] {
    return [index > 0 ? this.postingEnds[index - 1]! : 0, this.postingEnds[index]!];
  }

  /** Postings of all terms, each with its term. */
  private allPostings(): Postings & { terms: Uint32Array } {
    const found = emptyPostings(this.postings.length);
    const terms = new Uint32Array(this.postings.length);
    let count = 0;
    this.terms.forEach((term, index) => {
      const end = this.readPostings(...this.postingBytes(index), found, count);
      terms.fill(term, count, end);
      count = end;
    });
    return { rows: found.rows.subarray(0, count), values: found.values.subarray(0, count), terms };
  }

  /** Reads the postings between two positions behind the first `count` of `into`. Returns the new count. */
  private readPostings(start: number, end: number, { rows, values }: Postings, count: number): number {
    const { postings, valueEnds } = this;
    let at = start;
    const read = () => {
      let value = 0;
      for (let shift = 0; ; shift += 7) {
        const byte = postings[at++]!;
        value |= (byte & 0x7f) << shift;
        if (byte < 0x80) return value;
      }
    };
    for (let row = 0; at < end; count++) {
      const packed = read();
      row += packed >>> classBits;
      const low = packed & furtherClass;
      const place = low === furtherClass ? low + read() : low;
      rows[count] = row;
      values[count] = this.values[(row > 0 ? valueEnds[row - 1]! : 0) + place]!;
    }
    return count;
  }
}

/** Room for the postings in so many bytes: each takes one at least. */
function emptyPostings(bytes: number): Postings {
  return { rows: new Uint16Array(bytes), values: new Float32Array(bytes) };
}

export function quantised({ vector, ...row }: PointRow): BlockPoint {
  return { ...row, ...quantise(vector) };
}

/** The 16 bytes of a UUID. */
export function idWords(id: string): Uint32Array {
  const words = new Uint32Array(4);
  Buffer.from(words.buffer).write(id.replaceAll('-', ''), 'hex');
  return words;
}

/** Order of the rows: random for UUIDs, and the row number for those of the rows of a table. */
function keyOf(words: Uint32Array, row: number): number {
  const at = 4 * row;
  return (words[at]! ^ words[at + 1]! ^ words[at + 2]! ^ words[at + 3]!) >>> 0;
}

/** Start of each section. */
function layoutOf({ rows, width, sources, terms, postingBytes, values, textBytes, tagBytes }: Counts) {
  let bytes = headerBytes;
  const next = (size: number) => (bytes += size) - size;
  return {
    ids: next(bytesOfId * rows),
    scales: next(4 * rows),
    errors: next(4 * rows),
    valueEnds: next(4 * rows),
    terms: next(4 * terms),
    postingEnds: next(4 * terms),
    values: next(4 * values),
    textEnds: next(8 * sources),
    sourceOf: next(2 * rows),
    sourceTags: next(2 * sources),
    postings: next(postingBytes),
    texts: next(textBytes),
    tags: next(tagBytes),
    codes: next(rows * width),
    bytes: (bytes = 4 * Math.ceil(bytes / 4)),
  };
}

function sourcesOf(points: BlockPoint[]): { sources: PointSource[]; sourceOf: Uint16Array } {
  const indices = new Map<string, number>();
  const sources: PointSource[] = [];
  const tagsText = new Map<object, string>();
  const sourceOf = Uint16Array.from(points, ({ fileId, contentVersion, tags }) => {
    const text = tagsText.get(tags) ?? JSON.stringify(tags);
    tagsText.set(tags, text);
    const key = JSON.stringify([fileId, contentVersion, text]);
    const index = indices.get(key) ?? sources.push({ fileId, contentVersion, tags }) - 1;
    indices.set(key, index);
    return index;
  });
  return { sources, sourceOf };
}

function tagsOf(sources: PointSource[]): { distinct: Record<string, string>[]; indices: number[] } {
  const places = new Map<string, number>();
  const distinct: Record<string, string>[] = [];
  const indices = sources.map(({ tags }) => {
    const text = JSON.stringify(tags);
    const place = places.get(text) ?? distinct.push(tags) - 1;
    places.set(text, place);
    return place;
  });
  return { distinct, indices };
}

/** Inverted index: ascending terms, the end of each term's postings, and the postings by ascending rows. */
function invert(points: BlockPoint[], valuesOfRows: Float32Array[]) {
  const count = points.reduce((all, { termIndices }) => all + termIndices.length, 0);
  const [termOf, rowOf, placeOf] = [new Uint32Array(count), new Uint16Array(count), new Uint16Array(count)];
  let filled = 0;
  points.forEach(({ termIndices, termValues }, row) => {
    const values = valuesOfRows[row]!;
    for (let i = 0; i < termIndices.length; i++, filled++) {
      termOf[filled] = termIndices[i]!;
      rowOf[filled] = row;
      placeOf[filled] = values.indexOf(termValues[i]!);
    }
  });

  // A gap of a 16-bit row with its class takes 3 bytes at most, and so does a class.
  const bytes = new Uint8Array(6 * count);
  let length = 0;
  const write = (value: number) => {
    for (; value >= 0x80; value >>>= 7) bytes[length++] = (value & 0x7f) | 0x80;
    bytes[length++] = value;
  };
  const terms: number[] = [];
  const postingEnds: number[] = [];
  let [term, previous] = [-1, 0];
  for (const from of ascending(termOf)) {
    if (termOf[from] !== term) {
      [term, previous] = [termOf[from]!, 0];
      terms.push(term);
    }
    const low = Math.min(placeOf[from]!, furtherClass);
    write(((rowOf[from]! - previous) << classBits) | low);
    if (low === furtherClass) write(placeOf[from]! - furtherClass);
    postingEnds[terms.length - 1] = length;
    previous = rowOf[from]!;
  }
  return { terms, postingEnds, postings: bytes.slice(0, length) };
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

/** First position of an ascending list whose value is at least `value`; `length` if there is none. */
function firstAtLeast(length: number, valueAt: (at: number) => number, value: number): number {
  let [low, high] = [0, length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (valueAt(middle) < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Distinct values in ascending order: few, since most terms are as frequent in their passage as others. */
function distinct(values: ArrayLike<number>): Float32Array {
  const found: number[] = [];
  for (let i = 0; i < values.length; i++) {
    const value = values[i]!;
    let place = found.length;
    while (place > 0 && found[place - 1]! > value) place--;
    if (found[place - 1] !== value) found.splice(place, 0, value);
  }
  return Float32Array.from(found);
}

function lengthOf(codes: Int8Array): number {
  let squares = 0;
  for (let i = 0; i < codes.length; i++) squares += codes[i]! * codes[i]!;
  return Math.sqrt(squares);
}

function sum(lists: { length: number }[]): number {
  return lists.reduce((all, { length }) => all + length, 0);
}

function endsOf(lists: { length: number }[]): number[] {
  let end = 0;
  return lists.map(({ length }) => (end += length));
}

function joined(lists: Float32Array[]): Float32Array {
  const all = new Float32Array(sum(lists));
  endsOf(lists).forEach((end, i) => all.set(lists[i]!, end - lists[i]!.length));
  return all;
}
