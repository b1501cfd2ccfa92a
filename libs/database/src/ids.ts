import { webcrypto } from 'node:crypto';
import { decodeTime, encodeTime, monotonicFactory } from 'ulid';

/** Random numbers are drawn in bulk: one call for each costs more than the rest of an id. */
const drawn = new Uint32Array(1024);
let used = drawn.length;

/** A ULID: greater than all that this process has made before. */
export const newUlid: () => string = monotonicFactory(() => {
  if (used === drawn.length) {
    webcrypto.getRandomValues(drawn);
    used = 0;
  }
  return drawn[used++]! / 2 ** 32;
});

/** `<prefix>_<ULID>`: sorts by the time of its making, and within one process by the order of it. 28 to 36 characters for prefixes of 1 to 9. */
export function newId(prefix: string): string {
  return `${prefix}_${newUlid()}`;
}

/** Less than every id with this prefix that is made at this time or later, and greater than every former one. */
export function firstIdAt(prefix: string, time: Date): string {
  return `${prefix}_${encodeTime(time.getTime(), 10)}`;
}

/** When an id of ours was made, in the milliseconds that it begins with. */
export function timeOfId(id: string): Date {
  return new Date(decodeTime(id.slice(-26)));
}
