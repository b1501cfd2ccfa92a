import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { BodyReader, Incoming } from './bodies/body-reader';

/**
 * Timeout for the largest body over a slow line. The server itself has no request timeout: content uploads may take
 * hours.
 */
const bodyTimeoutMs = 120_000;
export const strangersTimeoutMs = 5_000;

/** Unrouted paths: their bodies are not read. */
export function useNoBodies(instance: FastifyInstance): void {
  instance.removeAllContentTypeParsers();
  instance.addContentTypeParser('*', (_request, _payload, done) => done(null, undefined));
}

export interface ReadRequest extends FastifyRequest {
  incoming?: Incoming;
}

export function useJsonBodies(scope: FastifyInstance, reader: BodyReader): void {
  scope.removeAllContentTypeParsers();
  scope.addContentTypeParser(
    'application/json',
    async ({ incoming }: ReadRequest) => incoming && reader.read(incoming),
  );
}

/** Closes the connection of a client that has not sent its whole body in time, so that an idle upload holds no slot. */
export function limitBodyTime({ raw }: FastifyRequest, timeoutMs = bodyTimeoutMs): void {
  const timer = setTimeout(() => {
    if (!raw.complete) raw.destroy();
  }, timeoutMs);
  timer.unref();
  raw.once('close', () => clearTimeout(timer));
}

/** True for a body of unknown length as well. */
export function hasBody({ headers }: FastifyRequest): boolean {
  const { 'content-length': length, 'transfer-encoding': encoding } = headers;
  return encoding !== undefined || (length !== undefined && length !== '0');
}
