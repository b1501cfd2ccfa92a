type Payload = Record<string, unknown>;

/** What is there with what the change names in its place; `null` removes what has the name. Any name is just a name. */
export function mergedPayload(stored: Payload, change: Payload): Payload {
  const entries = new Map(Object.entries(stored));
  for (const [name, value] of Object.entries(change)) {
    if (value === null) entries.delete(name);
    else entries.set(name, value);
  }
  return Object.fromEntries(entries);
}
