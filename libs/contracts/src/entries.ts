type Entries<T> = Record<string, T>;

/** The entries of both, those of the change in place of those that it names again; `null` in the change removes one. */
export function mergeEntries<T>(current: Entries<T>, change: Entries<T | null> = {}): Entries<T> {
  return withoutNulls({ ...current, ...change });
}

export function withoutNulls<T>(entries: Entries<T | null>): Entries<T> {
  return Object.fromEntries(Object.entries(entries).filter(([, entry]) => entry !== null)) as Entries<T>;
}

export function mapEntries<T, R>(entries: Entries<T>, map: (entry: T, name: string) => R): Entries<R> {
  return Object.fromEntries(Object.entries(entries).map(([name, entry]) => [name, map(entry, name)]));
}

/** The same for a change, whose `null` stays one. */
export function mapChange<T, R>(change: Entries<T | null> = {}, map: (entry: T, name: string) => R): Entries<R | null> {
  return mapEntries(change, (entry, name) => (entry === null ? null : map(entry, name)));
}

type Draft = { attributes?: Entries<string | null> };
type Settled<T extends Draft> = Omit<T, 'attributes'> & { attributes?: Entries<string> };

/** Entries of a change as they are stored: an attribute that is said to be `null` is just not there. */
export function withoutNullAttributes<T extends Draft>(change?: Entries<T | null>): Entries<Settled<T> | null> {
  return mapChange(change, ({ attributes, ...rest }): Settled<T> =>
    attributes ? { ...rest, attributes: withoutNulls(attributes) } : rest,
  );
}

/** Any name may be one of an entry, also that of something which every object has. */
export function ownEntry<T>(entries: Entries<T>, name: string): T | undefined {
  return Object.hasOwn(entries, name) ? entries[name] : undefined;
}
