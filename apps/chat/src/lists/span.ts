/** SQL condition for an inclusive range; both bounds are parameter numbers whose values may be null. */
export function isWithin(column: string, [after, before]: [number, number]): string {
  return `($${after}::timestamptz IS NULL OR ${column} >= $${after}) AND ($${before}::timestamptz IS NULL OR ${column} <= $${before})`;
}
