import { randomUUID } from 'node:crypto';

const form = /^(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/;

/** Whether it is a W3C trace context, as <https://www.w3.org/TR/trace-context/> has it. */
export function isTraceparent(value: unknown): value is string {
  return typeof value === 'string' && form.test(value);
}

export function newTraceparent(): string {
  // Two random UUIDs: they cost a tenth of as many random bytes.
  const [trace, span] = [randomUUID(), randomUUID()].map((uuid) => uuid.replaceAll('-', ''));
  return `00-${trace}-${span!.slice(0, 16)}-01`;
}

/** What log lines and a tracing backend find each other by. */
export function traceIdOf(traceparent: string | undefined): string | undefined {
  return isTraceparent(traceparent) ? traceparent.slice(3, 35) : undefined;
}
