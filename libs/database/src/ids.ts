import { monotonicFactory } from 'ulid';

const ulid = monotonicFactory();

/** `<prefix>_<ULID>`: sorts by the time of its making, and within one process by the order of it. 28 to 36 characters for prefixes of 1 to 9. */
export function newId(prefix: string): string {
  return `${prefix}_${ulid()}`;
}
