/** The entries of both, those of the change in place of those that it names again; `null` in the change removes one. */
export function mergeEntries<T>(current: Record<string, T>, change: Record<string, T | null> = {}): Record<string, T> {
  return withoutNulls({ ...current, ...change });
}

export function withoutNulls<T>(entries: Record<string, T | null>): Record<string, T> {
  return Object.fromEntries(Object.entries(entries).filter(([, entry]) => entry !== null)) as Record<string, T>;
}
