import { ulid } from 'ulid';

/** `<prefix>_<ULID>`: sorts by the time of its making. 28 to 36 characters for prefixes of 1 to 9. */
export function newId(prefix: string): string {
  return `${prefix}_${ulid()}`;
}
