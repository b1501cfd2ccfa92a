/** SQL for times that belong to the span, whose ends are parameters of these numbers. Either may be null; both belong to it. */
export function isWithin(column: string, [after, before]: [number, number]): string {
  return `($${after}::timestamptz IS NULL OR ${column} >= $${after}) AND ($${before}::timestamptz IS NULL OR ${column} <= $${before})`;
}
