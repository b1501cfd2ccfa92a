/** The vector scaled to length 1; null when it has no direction or holds something that is not a number. */
export function toUnit(vector: Float32Array): Float32Array | null {
  const length = Math.sqrt(dot(vector, vector));
  return length > 0 && Number.isFinite(length) ? vector.map((value) => value / length) : null;
}

/** Vectors of another length come from another model. */
export function checkDimensions(vector: Float32Array, dimensions: number): void {
  if (vector.length === dimensions) return;
  throw new Error(`A vector has ${vector.length} dimensions instead of ${dimensions}.`);
}

/**
 * Cosine similarity of unit vectors of the same length, where the right one starts at this place of its array. Four sums
 * at a time keep the processor's units busy.
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
