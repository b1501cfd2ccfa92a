const firstMs = 1_000;
const maxMs = 60_000;

/** Exponential backoff before a retry, in milliseconds: 1 s after the first failure, doubled by each further one, up to a minute. */
export function retryBackoffMs(failures: number): number {
  return Math.min(firstMs * 2 ** (failures - 1), maxMs);
}
