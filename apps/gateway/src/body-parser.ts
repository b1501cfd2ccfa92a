import { ApiError, unavailable } from '@parley/contracts/errors';
import type { FastifyInstance, FastifyRequest } from 'fastify';

/** Bodies above this size are few at a time, since each blocks the event loop while it is parsed. */
const largeBytes = 8_000_000;
const maxLargeAtOnce = 2;
/** Of all bodies together: each is in memory as a whole until it is parsed. */
const maxBytesAtOnce = 256_000_000;
/** For the largest body over a slow line. The server itself sets no limit, since uploads of content may take hours. */
const bodyTimeoutMs = 120_000;

/** Nothing that is sent to a path that nobody answers is read. */
export function useNoBodies(instance: FastifyInstance): void {
  instance.removeAllContentTypeParsers();
  instance.addContentTypeParser('*', (_request, _payload, done) => done(null, undefined));
}

/** JSON bodies and no others. An empty body is an absent one. */
export function useJsonBodies(scope: FastifyInstance): void {
  scope.removeAllContentTypeParsers();
  scope.addContentTypeParser('application/json', { parseAs: 'string' }, (_request, text, done) => {
    try {
      done(null, text === '' ? undefined : (JSON.parse(text as string) as unknown));
    } catch (error) {
      done(new ApiError('InvalidPayload', `The body is not valid JSON: ${(error as Error).message}.`), undefined);
    }
  });
}

/** Cuts off who does not send a whole body in time, so that nobody keeps a place by sending nothing. */
export function limitBodyTime({ raw }: FastifyRequest, timeoutMs = bodyTimeoutMs): void {
  const timer = setTimeout(() => {
    if (!raw.complete) raw.destroy();
  }, timeoutMs);
  timer.unref();
  raw.once('close', () => clearTimeout(timer));
}

/** Refuses a body with 503 while two large ones, or all together too many bytes, are on their way in. */
export class BodiesUnderWay {
  private readonly sizes = new WeakMap<FastifyRequest, number>();
  private bytes = 0;
  private large = 0;

  constructor(private readonly maxBytes = maxBytesAtOnce) {}

  /** Call before the body is read. */
  admit(request: FastifyRequest, bodyLimitBytes: number): void {
    const size = announcedBytes(request, bodyLimitBytes);
    if (size === 0) return;
    if (size > largeBytes && this.large >= maxLargeAtOnce) {
      throw unavailable(
        `Only ${maxLargeAtOnce} bodies over ${largeBytes} bytes are read at once. Try again in a moment.`,
      );
    }
    if (this.bytes + size > this.maxBytes) {
      throw unavailable(`Bodies of ${this.maxBytes} bytes are on their way in already. Try again in a moment.`);
    }
    this.sizes.set(request, size);
    this.bytes += size;
    if (size > largeBytes) this.large += 1;
  }

  /** Call when the request has ended, however it ended. */
  release(request: FastifyRequest): void {
    const size = this.sizes.get(request) ?? 0;
    this.sizes.delete(request);
    this.bytes -= size;
    if (size > largeBytes) this.large -= 1;
  }
}

/** What the body may take at most: one of unknown length is as long as it may be, and one that is too long is not read. */
function announcedBytes({ headers }: FastifyRequest, bodyLimitBytes: number): number {
  const { 'content-length': length, 'transfer-encoding': encoding } = headers;
  if (length !== undefined) return Math.min(Number(length), bodyLimitBytes);
  return encoding === undefined ? 0 : bodyLimitBytes;
}
