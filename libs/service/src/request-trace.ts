import type { IncomingHttpHeaders } from 'node:http';
import { type OpenSpan, isTracing, openSpan } from '@parley/tracing/tracing';
import { isTraceparent, newTraceparent } from '@parley/tracing/traceparent';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { clientWentAway } from './request-log';

export interface TracedRequest extends FastifyRequest {
  traceparent?: string;
  span?: OpenSpan;
  errorType?: string;
  /** The sender has a confirmed credential, or the request had its turn in UnauthenticatedShare. */
  isAdmitted?: boolean;
}

export function traceparentOf({ traceparent }: IncomingHttpHeaders): string {
  return isTraceparent(traceparent) ? traceparent : newTraceparent();
}

/**
 * Creates a span for each request of this scope, parent of all work for it.
 *
 * @param isTraced requests of the scope that are traced; all by default
 */
export function traceRequests(
  scope: FastifyInstance,
  isTraced: (request: FastifyRequest) => boolean = () => true,
): void {
  if (!isTracing()) return;
  scope.addHook('onRequest', (request: TracedRequest, reply, next) => {
    if (!isTraced(request)) return next();
    const { method, protocol, headers } = request;
    const route = request.routeOptions.url ?? 'unknown';
    const span = openSpan(headers.traceparent as string | undefined, {
      name: `${method} ${route}`,
      kind: 'server',
      // Without path and query: they contain file keys and signatures.
      attributes: { 'http.request.method': method, 'http.route': route, 'url.scheme': protocol },
    });
    request.span = span;
    request.traceparent = span.traceparent;
    reply.raw.once('close', () => {
      const status = reply.raw.headersSent ? reply.statusCode : clientWentAway;
      span.set('http.response.status_code', status);
      if (status >= 400) span.set('error.type', request.errorType ?? String(status));
      span.end(status >= 500 ? String(status) : undefined);
    });
    span.within(next);
  });
  // Reading the body loses the span's context, because its events come from the socket.
  scope.addHook('preHandler', (request: TracedRequest, _reply, next) =>
    request.span ? request.span.within(next) : next(),
  );
}
