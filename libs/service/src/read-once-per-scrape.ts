/** Calls within this time share one reading. */
const sharedMs = 1_000;

/** Reader for several gauges that come from the same statement. */
export function readOncePerScrape<T>(read: () => Promise<T>): () => Promise<T> {
  let last: { figures: Promise<T>; at: number } | undefined;
  return () => {
    if (!last || performance.now() - last.at > sharedMs) last = { figures: read(), at: performance.now() };
    return last.figures;
  };
}
