/** Limit of an LRUCache in entries. With its own `max`, it allocates the arrays for so many at its creation: 36 bytes each. */
export function atMostEntries(count: number): { maxSize: number; sizeCalculation: () => number } {
  return { maxSize: count, sizeCalculation: () => 1 };
}
