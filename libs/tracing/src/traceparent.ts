import { randomUUID } from 'node:crypto';

const form = /^(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/;

/** True for a W3C trace context, see <https://www.w3.org/TR/trace-context/>. */
export function isTraceparent(value: unknown): value is string {
  return typeof value === 'string' && form.test(value);
}

export function newTraceparent(): string {
  // Two random UUIDs cost a tenth of the time of as many random bytes.
  const [trace, span] = [randomUUID(), randomUUID()].map((uuid) => uuid.replaceAll('-', ''));
  return `00-${trace}-${span!.slice(0, 16)}-01`;
}

export function traceIdOf(traceparent: string | undefined): string | undefined {
  return isTraceparent(traceparent) ? traceparent.slice(3, 35) : undefined;
}
