import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { traceIdOf } from '@parley/tracing/traceparent';
import type { Platform } from './platform';

/** What nginx counts a client as that went away before it was answered. Nobody is ever sent it. */
export const clientWentAway = 499;

/** The id that a proxy gave the request, if it is a sane one, else a new one. */
export function requestId({ headers }: Pick<IncomingMessage, 'headers'>): string {
  const given = headers['x-request-id'];
  return typeof given === 'string' && /^[\w.-]{1,100}$/.test(given) ? given : `req_${randomUUID()}`;
}

/**
 * Writes one line and one measurement for each request to the routes of this scope, however it ended.
 * @param about what else the line tells of the request
 */
export function logRequests(
  scope: FastifyInstance,
  platform: Platform,
  about: (request: FastifyRequest) => object,
): void {
  scope.addHook('onRequest', (request, reply, next) => {
    // Unlike Fastify's hooks it also comes when the client has gone.
    reply.raw.once('close', () => logRequest(platform, request, reply, about(request)));
    next();
  });
}

/** Writes the line and the measurement of one request that has ended. */
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

/** Undefined where nobody announced a length. What was aborted has carried less. */
function announcedBytes(length: unknown): number | undefined {
  return length === undefined ? undefined : Number(length);
}
