/** Vector normalised to length 1; null for a zero or non-finite vector. */
export function toUnit(vector: Float32Array): Float32Array | null {
  const length = Math.sqrt(dot(vector, vector));
  return length > 0 && Number.isFinite(length) ? vector.map((value) => value / length) : null;
}

/** Throws for a vector of a different length, which comes from another model. */
export function checkDimensions(vector: Float32Array, dimensions: number): void {
  if (vector.length === dimensions) return;
  throw new Error(`A vector has ${vector.length} dimensions instead of ${dimensions}.`);
}

/**
 * Dot product, equal to the cosine similarity of unit vectors. `right` starts at `start` of its array. Four
 * accumulators use the processor's parallel units.
 */
export function dot(left: Float32Array, right: Float32Array, start = 0): number {
  let [a, b, c, d] = [0, 0, 0, 0];
  let i = 0;
  for (; i + 3 < left.length; i += 4) {
    const j = start + i;
    a += left[i]! * right[j]!;
    b += left[i + 1]! * right[j + 1]!;
    c += left[i + 2]! * right[j + 2]!;
    d += left[i + 3]! * right[j + 3]!;
  }
  for (; i < left.length; i++) a += left[i]! * right[start + i]!;
  return a + b + c + d;
}
