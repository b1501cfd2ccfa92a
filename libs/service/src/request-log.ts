import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { traceIdOf } from '@parley/tracing/traceparent';
import type { Platform } from './platform';

/** Status of requests whose client disconnected before the response, as in nginx. Never sent. */
export const clientWentAway = 499;

export function requestId({ headers }: Pick<IncomingMessage, 'headers'>): string {
  const given = headers['x-request-id'];
  return typeof given === 'string' && /^[\w.-]{1,100}$/.test(given) ? given : `req_${randomUUID()}`;
}

/**
 * Access log: one line and one measurement for each request of this scope, however it ends.
 * @param about additional fields of the line
 * @param isLogged requests of the scope that are logged; all by default
 */
export function logRequests(
  scope: FastifyInstance,
  platform: Platform,
  about: (request: FastifyRequest) => object,
  isLogged: (request: FastifyRequest) => boolean = () => true,
): void {
  scope.addHook('onRequest', (request, reply, next) => {
    // Unlike Fastify's hooks, `close` also comes when the client has disconnected.
    if (isLogged(request)) reply.raw.once('close', () => logRequest(platform, request, reply, about(request)));
    next();
  });
}

export function logRequest(
  { logger, metrics }: Platform,
  request: FastifyRequest,
  reply: FastifyReply,
  about: object = {},
): void {
  const route = `${request.method} ${request.routeOptions.url ?? 'unknown'}`;
  const status = reply.raw.headersSent ? reply.statusCode : clientWentAway;
  metrics.observeRequest(route, status, reply.elapsedTime);
  logger.info(
    {
      route,
      status,
      aborted: reply.raw.writableFinished ? undefined : true,
      ms: Math.round(reply.elapsedTime * 10) / 10,
      bytesIn: announcedBytes(request.headers['content-length']),
      bytesOut: request.method === 'HEAD' ? undefined : announcedBytes(reply.getHeader('content-length')),
      requestId: request.id,
      traceId: traceIdOf((request as { traceparent?: string }).traceparent),
      errorId: reply.getHeader('x-error-id') ?? reply.raw.getHeader('x-error-id'),
      ...about,
    },
    'request',
  );
}

/** Undefined without content-length. An aborted transfer has carried less. */
function announcedBytes(length: unknown): number | undefined {
  return length === undefined ? undefined : Number(length);
}
