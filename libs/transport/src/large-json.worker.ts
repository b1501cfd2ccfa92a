import type { LiftedJson, Path } from './large-json';

/** Threshold in characters: parsing a shorter string costs the event loop less than putting it back. */
const minLiftedLength = 1_000;

/** Splits JSON into a small document and its long strings, which move between threads at the cost of a copy. */
export default function liftLongStrings(bytes: Uint8Array): LiftedJson {
  const value = JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString()) as unknown;
  const strings: LiftedJson['strings'] = [];
  lift(value, [], strings);
  return { json: JSON.stringify(value), strings };
}

function lift(value: unknown, path: Path, strings: LiftedJson['strings']): void {
  if (typeof value !== 'object' || value === null) return;
  const container = value as Record<string, unknown>;
  for (const name of Object.keys(container)) {
    const entry = container[name];
    if (typeof entry === 'object') lift(entry, [...path, name], strings);
    else if (typeof entry === 'string' && entry.length >= minLiftedLength) {
      strings.push({ path: [...path, name], text: entry });
      Object.defineProperty(container, name, { value: '' });
    }
  }
}
