import type { FastifyInstance, FastifyRequest } from 'fastify';

/**
 * Timeout for the largest body over a slow line. The server itself has no request timeout: content uploads may take
 * hours.
 */
const bodyTimeoutMs = 120_000;
export const unauthenticatedTimeoutMs = 5_000;

/**
 * Bodies stay on the socket: ContractPipe reads them, after authentication. For methods without a body, Fastify does not
 * prepare a parser.
 */
export function leaveBodiesUnread(instance: FastifyInstance): void {
  for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])
    instance.addHttpMethod(method, { hasBody: false, overrideExisting: true });
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

/** Undefined for a request without a body and without a content-type, and for methods whose bodies are ignored. */
export function isJson(request: FastifyRequest): boolean | undefined {
  const { method, headers } = request;
  if (method === 'GET' || method === 'HEAD') return undefined;
  const { 'content-type': contentType } = headers;
  if (contentType === undefined) return hasBody(request) ? false : undefined;
  return /^application\/json *(;|$)/i.test(contentType);
}
