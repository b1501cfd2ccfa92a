/** The entries of both, those of the change in place of those that it names again; `null` in the change removes one. */
export function mergeEntries<T>(current: Record<string, T>, change: Record<string, T | null> = {}): Record<string, T> {
  return withoutNulls({ ...current, ...change });
}

export function withoutNulls<T>(entries: Record<string, T | null>): Record<string, T> {
  return Object.fromEntries(Object.entries(entries).filter(([, entry]) => entry !== null)) as Record<string, T>;
}

type Draft = { attributes?: Record<string, string | null> };
type Settled<T extends Draft> = Omit<T, 'attributes'> & { attributes?: Record<string, string> };

/** Entries of a draft as they are stored: without their attributes that are `null`. */
export function withoutNullAttributes<T extends Draft>(
  entries: Record<string, T | null> = {},
): Record<string, Settled<T> | null> {
  return Object.fromEntries(Object.entries(entries).map(([name, entry]) => [name, entry && settle(entry)]));
}

function settle<T extends Draft>({ attributes, ...rest }: T): Settled<T> {
  return attributes ? { ...rest, attributes: withoutNulls(attributes) } : rest;
}
