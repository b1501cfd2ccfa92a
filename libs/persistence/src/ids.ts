import { webcrypto } from 'node:crypto';
import { decodeTime, encodeTime, monotonicFactory, ulid } from 'ulid';

/** Random numbers are generated in bulk: a call for each id costs more than the rest of the id. */
const drawn = new Uint32Array(1024);
let used = drawn.length;

/** Monotonic ULID: greater than all earlier ones of this process. */
export const newUlid: () => string = monotonicFactory(() => {
  if (used === drawn.length) {
    webcrypto.getRandomValues(drawn);
    used = 0;
  }
  return drawn[used++]! / 2 ** 32;
});

/** `<prefix>_<ULID>`: sorts by creation time. 28 to 36 characters for prefixes of 1 to 9. */
export function newId(prefix: string): string {
  return `${prefix}_${newUlid()}`;
}

/** Id of 80 random bits, for what everybody may read who knows its id: `newId` counts up within a millisecond. */
export function newUnguessableId(prefix: string): string {
  return `${prefix}_${ulid()}`;
}

/** Lower bound for ids with this prefix created at this time or later. */
export function firstIdAt(prefix: string, time: Date): string {
  return `${prefix}_${encodeTime(time.getTime(), 10)}`;
}

export function timeOfId(id: string): Date {
  return new Date(decodeTime(id.slice(-26)));
}
