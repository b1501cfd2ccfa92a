/** Widths of codes are multiples of this: the scan kernel reads so many at a time. */
const widthStep = 32;
const largestCode = 127;
const [largestInt16, largestInt32] = [0x7fff, 0x7fffffff];

/** Vector in 8 bits per dimension: `codes` times `scale` is the vector, but for a difference of the length `error`. */
export interface QuantisedVector {
  /** Padded with zeros to `widthOf` the dimensions. */
  codes: Int8Array;
  /** Float32, so that it is stored without a loss. */
  scale: number;
  /** Float32, rounded up. */
  error: number;
}

/** Vector of a search in 16 bits, which cost the scan no more than 8. */
export interface QuantisedQuery {
  codes: Int16Array;
  scale: number;
  error: number;
  /** Length of the vector. */
  norm: number;
}

export function widthOf(dimensions: number): number {
  return Math.ceil(dimensions / widthStep) * widthStep;
}

export function quantise(vector: Float32Array): QuantisedVector {
  const codes = new Int8Array(widthOf(vector.length));
  const scale = Math.fround(largestOf(vector) / largestCode);
  const error = fill(codes, vector, scale);
  // Half a unit in the last place of a float32 is less.
  return { codes, scale: isUsable(scale) ? scale : 0, error: Math.fround(error * (1 + 2 ** -23)) };
}

export function quantiseQuery(vector: Float32Array): QuantisedQuery {
  const codes = new Int16Array(widthOf(vector.length));
  // The sum of all products fits into 32 bits.
  const most = Math.min(largestInt16, Math.floor(largestInt32 / (largestCode * codes.length)));
  const scale = largestOf(vector) / most;
  const error = fill(codes, vector, scale);
  return { codes, scale, error, norm: Math.sqrt(vector.reduce((sum, value) => sum + value * value, 0)) };
}

/** Largest difference of a product of codes from the cosine of the vectors, by the Cauchy-Schwarz inequality. */
export function errorOfProduct(query: QuantisedQuery, error: number, normOfCodes: number): number {
  return query.norm * error + query.error * normOfCodes + 1e-12;
}

/** Fills the codes; returns the length of the difference to the vector. */
function fill(codes: Int8Array | Int16Array, vector: Float32Array, scale: number): number {
  const unit = isUsable(scale) ? scale : 0;
  let squares = 0;
  for (let i = 0; i < vector.length; i++) {
    const code = unit > 0 ? Math.round(vector[i]! / unit) : 0;
    codes[i] = code;
    const rest = vector[i]! - code * unit;
    squares += rest * rest;
  }
  return Math.sqrt(squares);
}

function largestOf(vector: Float32Array): number {
  let largest = 0;
  for (let i = 0; i < vector.length; i++) largest = Math.max(largest, Math.abs(vector[i]!));
  return largest;
}

function isUsable(scale: number): boolean {
  return scale > 0 && Number.isFinite(scale);
}
