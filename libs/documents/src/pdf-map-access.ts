type Access = { get?: MapGet; set?: MapSet };
type MapGet = (this: ReadonlyMap<unknown, unknown>, key: unknown, value: unknown) => unknown;
type MapSet = (key: unknown, value: unknown) => void;

/**
 * Access to values that pdfjs-dist reads and does not pass on: it runs in this thread and keeps the dictionaries of a
 * PDF in maps, so `Map.prototype` is wrapped while `run` lasts. `get` may replace a value that is read.
 */
export async function withMapAccess<T>({ get, set }: Access, run: () => Promise<T>): Promise<T> {
  // oxlint-disable-next-line typescript/unbound-method -- called with their own `this`
  const { get: plainGet, set: plainSet } = Map.prototype as Map<unknown, unknown>;
  if (get)
    Map.prototype.get = function (this: Map<unknown, unknown>, key: unknown) {
      return get.call(this, key, plainGet.call(this, key));
    };
  if (set)
    Map.prototype.set = function (this: Map<unknown, unknown>, key: unknown, value: unknown) {
      set(key, value);
      return plainSet.call(this, key, value);
    };
  try {
    return await run();
  } finally {
    Map.prototype.get = plainGet;
    Map.prototype.set = plainSet;
  }
}
