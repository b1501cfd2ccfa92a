import { ApiError, unavailable } from '@parley/contracts/errors';
import type { FastifyInstance, FastifyRequest } from 'fastify';

/** Bodies above this size are few at a time, since each blocks the event loop while it is parsed. */
const largeBytes = 8_000_000;
const maxLargeAtOnce = 2;
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

/** Refuses a large body with 503 while two others are under way. */
export class LargeBodies {
  private readonly underWay = new WeakSet<FastifyRequest>();
  private count = 0;

  /** Call before the body is read. */
  admit(request: FastifyRequest, bodyLimitBytes: number): void {
    const length = Number(request.headers['content-length'] ?? bodyLimitBytes);
    if (bodyLimitBytes <= largeBytes || length <= largeBytes || request.method === 'GET') return;
    if (this.count >= maxLargeAtOnce) {
      throw unavailable(
        `Only ${maxLargeAtOnce} bodies over ${largeBytes} bytes are read at once. Try again in a moment.`,
      );
    }
    this.count += 1;
    this.underWay.add(request);
  }

  /** Call when the request has ended, however it ended. */
  release(request: FastifyRequest): void {
    if (this.underWay.delete(request)) this.count -= 1;
  }
}
