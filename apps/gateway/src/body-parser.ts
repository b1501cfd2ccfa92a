import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { BodyReader, Incoming } from './bodies/body-reader';

/** For the largest body over a slow line. The server itself sets no limit, since uploads of content may take hours. */
const bodyTimeoutMs = 120_000;
/** For who has not shown a valid credential. */
export const strangersTimeoutMs = 5_000;

/** Nothing that is sent to a path that nobody answers is read. */
export function useNoBodies(instance: FastifyInstance): void {
  instance.removeAllContentTypeParsers();
  instance.addContentTypeParser('*', (_request, _payload, done) => done(null, undefined));
}

export interface ReadRequest extends FastifyRequest {
  /** What is known before the body is read; absent without a body. */
  incoming?: Incoming;
}

/** JSON bodies and no others. */
export function useJsonBodies(scope: FastifyInstance, reader: BodyReader): void {
  scope.removeAllContentTypeParsers();
  scope.addContentTypeParser(
    'application/json',
    async ({ incoming }: ReadRequest) => incoming && reader.read(incoming),
  );
}

/** Cuts off who does not send a whole body in time, so that nobody keeps a place by sending nothing. */
export function limitBodyTime({ raw }: FastifyRequest, timeoutMs = bodyTimeoutMs): void {
  const timer = setTimeout(() => {
    if (!raw.complete) raw.destroy();
  }, timeoutMs);
  timer.unref();
  raw.once('close', () => clearTimeout(timer));
}

/** Also one of unknown length. */
export function hasBody({ headers }: FastifyRequest): boolean {
  const { 'content-length': length, 'transfer-encoding': encoding } = headers;
  return encoding !== undefined || (length !== undefined && length !== '0');
}
