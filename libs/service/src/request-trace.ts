import type { IncomingHttpHeaders } from 'node:http';
import { type OpenSpan, isTracing, openSpan } from '@parley/tracing/tracing';
import { isTraceparent, newTraceparent } from '@parley/tracing/traceparent';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { clientWentAway } from './request-log';

/** A request with the trace that it belongs to, whether anybody records that or not. */
export interface TracedRequest extends FastifyRequest {
  traceparent?: string;
  span?: OpenSpan;
  /** Type of the error that it was answered with. */
  errorType?: string;
}

/** The W3C trace context that the client sent, or a new one. */
export function traceparentOf({ traceparent }: IncomingHttpHeaders): string {
  return isTraceparent(traceparent) ? traceparent : newTraceparent();
}

/** Makes a span of each request to the routes of this scope, of which all that is done for it is a part. */
export function traceRequests(scope: FastifyInstance): void {
  if (!isTracing()) return;
  scope.addHook('onRequest', (request: TracedRequest, reply, next) => {
    const { method, protocol, headers } = request;
    const route = request.routeOptions.url ?? 'unknown';
    const span = openSpan(headers.traceparent as string | undefined, {
      name: `${method} ${route}`,
      kind: 'server',
      // Not the path, nor what is asked for in it: keys of files and signatures are there.
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
  // Reading the body leads out of the span: its parts come from the socket.
  scope.addHook('preHandler', (request: TracedRequest, _reply, next) => request.span!.within(next));
}
