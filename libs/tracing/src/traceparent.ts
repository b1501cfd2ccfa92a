import { randomFillSync } from 'node:crypto';

/** Random bytes of 200 trace contexts, 24 each, and the position of the first unused one. */
const randomBytes = Buffer.alloc(200 * 24);
let next = randomBytes.length;

const form = /^(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/;

/** True for a W3C trace context, see <https://www.w3.org/TR/trace-context/>. */
export function isTraceparent(value: unknown): value is string {
  return typeof value === 'string' && form.test(value);
}

export function newTraceparent(): string {
  // Fetched in bulk: a call for the random bytes of each request would take ten times as long.
  if (next === randomBytes.length) {
    randomFillSync(randomBytes);
    next = 0;
  }
  const hex = randomBytes.toString('hex', next, (next += 24));
  return `00-${hex.slice(0, 32)}-${hex.slice(32)}-01`;
}

/** Trace id of a valid trace context. */
export function traceIdOf(traceparent: string | undefined): string | undefined {
  // Not validated again: messages of other programs on the bus may have any value here.
  return typeof traceparent === 'string' ? traceparent.slice(3, 35) : undefined;
}
