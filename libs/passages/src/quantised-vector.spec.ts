import { errorOfProduct, quantise, quantiseQuery } from './quantised-vector';
import { dot, toUnit } from './vectors';

const shapes: [string, () => number][] = [
  ['even', () => Math.random() - 0.5],
  ['with few large values', () => (Math.random() - 0.5) ** 15],
  ['with values below a code', () => (Math.random() < 0.01 ? 1 : 0.003)],
  ['with tiny values', () => (Math.random() - 0.5) * 1e-30],
];
const vectorOf = (value: () => number, dimensions = 384) => Float32Array.from({ length: dimensions }, value);
const normOf = (vector: Float32Array) => Math.sqrt(dot(vector, vector));

it.each(shapes)('bounds the error of the product of vectors %s', (_name, value) => {
  for (let n = 0; n < 300; n++) {
    const vector = vectorOf(value);
    const { codes, scale, error } = quantise(vector);
    const wanted = n % 2 === 0 ? toUnit(vectorOf(Math.random))! : vector;
    const query = quantiseQuery(wanted);

    const product = codes.reduce((sum, code, i) => sum + code * query.codes[i]!, 0) * scale * query.scale;
    const norm = normOf(Float32Array.from(codes)) * scale;
    expect(Math.abs(product - dot(wanted, vector))).toBeLessThanOrEqual(errorOfProduct(query, error, norm));
  }
});

it('keeps the error below a hundredth for a unit vector of 512 dimensions', () => {
  const vector = toUnit(vectorOf(() => Math.random() - 0.5, 512))!;

  expect(quantise(vector).error).toBeLessThan(0.01);
});

it('gives a zero vector codes of zero, without an error', () => {
  const { codes, scale, error } = quantise(new Float32Array(5));

  expect([codes.length, codes.some(Boolean), scale, error]).toEqual([32, false, 0, 0]);
});

it('gives a vector that is not finite no usable error', () => {
  expect(quantise(Float32Array.of(1, NaN)).error).toBeNaN();
});
