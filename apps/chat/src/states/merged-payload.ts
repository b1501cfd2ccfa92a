type Payload = Record<string, unknown>;

/** Shallow merge: `null` removes a key. Safe for keys such as `__proto__`. */
export function mergedPayload(stored: Payload, change: Payload): Payload {
  const entries = new Map(Object.entries(stored));
  for (const [name, value] of Object.entries(change)) {
    if (value === null) entries.delete(name);
    else entries.set(name, value);
  }
  return Object.fromEntries(entries);
}
