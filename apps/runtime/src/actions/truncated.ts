const maxBytes = 8_000;
const maxTextLength = 500;

export interface Truncated {
  value: Record<string, unknown>;
  isTruncated: boolean;
}

/** Beginning of a large JSON object: its first fields, with long texts cut, up to 8,000 bytes of JSON. */
export function truncated(value: Record<string, unknown>): Truncated {
  if (bytesOf(value) <= maxBytes) return { value, isTruncated: false };
  const kept: [string, unknown][] = [];
  let bytes = 0;
  for (const [name, entry] of Object.entries(value)) {
    const short = typeof entry === 'string' ? entry.slice(0, maxTextLength) : entry;
    bytes += bytesOf({ [name]: short });
    if (bytes > maxBytes) break;
    kept.push([name, short]);
  }
  return { value: Object.fromEntries(kept), isTruncated: true };
}

function bytesOf(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value));
}
