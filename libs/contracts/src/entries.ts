type Entries<T> = Record<string, T>;

/** Shallow merge: entries of the change replace those of the same name, and `null` removes one. */
export function mergeEntries<T>(current: Entries<T>, change: Entries<T | null> = {}): Entries<T> {
  return withoutNulls({ ...current, ...change });
}

export function withoutNulls<T>(entries: Entries<T | null>): Entries<T> {
  return Object.fromEntries(Object.entries(entries).filter(([, entry]) => entry !== null)) as Entries<T>;
}

export function mapEntries<T, R>(entries: Entries<T>, map: (entry: T, name: string) => R): Entries<R> {
  return Object.fromEntries(Object.entries(entries).map(([name, entry]) => [name, map(entry, name)]));
}

export function mapChange<T, R>(change: Entries<T | null> = {}, map: (entry: T, name: string) => R): Entries<R | null> {
  return mapEntries(change, (entry, name) => (entry === null ? null : map(entry, name)));
}

type Draft = { attributes?: Entries<string | null> };
type Settled<T extends Draft> = Omit<T, 'attributes'> & { attributes?: Entries<string> };

export function withoutNullAttributes<T extends Draft>(change?: Entries<T | null>): Entries<Settled<T> | null> {
  return mapChange(change, ({ attributes, ...rest }): Settled<T> =>
    attributes ? { ...rest, attributes: withoutNulls(attributes) } : rest,
  );
}

/** Reads own properties only: an entry may be called `constructor`. */
export function ownEntry<T>(entries: Entries<T>, name: string): T | undefined {
  return Object.hasOwn(entries, name) ? entries[name] : undefined;
}
