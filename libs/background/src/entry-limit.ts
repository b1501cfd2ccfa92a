/**
 * Limit of an LRUCache in entries. With its own `max`, it allocates the arrays for so many at its creation: 36 bytes each.
 * With its own `ttlResolution`, it sets a timer of a millisecond instead of reading the clock each time.
 */
export function atMostEntries(count: number): { maxSize: number; sizeCalculation: () => number; ttlResolution: 0 } {
  return { maxSize: count, sizeCalculation: () => 1, ttlResolution: 0 };
}
