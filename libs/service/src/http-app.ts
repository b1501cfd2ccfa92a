import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import type { DynamicModule } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { ApiError } from '@parley/contracts/errors';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { type Logger, NestLogger } from '@parley/logging/logger';
import { newErrorId, toApiError, toErrorBody } from './error-body';
import type { ProcessConfig } from './config';
import { Readiness } from './health.controller';
import { rawErrorResponse } from './raw-error-response';
import { requestId } from './request-log';
import { type TracedRequest, traceparentOf } from './request-trace';
import { securityHeaders } from './security-headers';

/** Length of the longest file key, percent-encoded. */
const maxParamLength = 9_000;
/** Keep-alive timeout. Clients keep idle sockets for 60 s; ours is longer, so that the client closes first. */
const keepAliveMs = 75_000;

/** Creates and initializes a Nest application on Fastify, without listening. */
export async function createHttpApp(
  module: DynamicModule,
  logger: Logger,
  { trustedProxies }: Pick<ProcessConfig, 'trustedProxies'> = {},
): Promise<NestFastifyApplication> {
  const adapter = new FastifyAdapter({
    trustProxy: trustedProxies ?? false,
    routerOptions: { maxParamLength },
    bodyLimit: 64_000_000,
    return503OnClosing: false,
    keepAliveTimeout: keepAliveMs,
    // No timeout, because uploads may take hours. The readers of bodies have their own idle timeouts.
    requestTimeout: 0,
    genReqId: requestId,
    onProtoPoisoning: 'ignore',
    onConstructorPoisoning: 'ignore',
    frameworkErrors: answerMalformed,
    clientErrorHandler: answerUnreadable,
  });
  const app = await NestFactory.create<NestFastifyApplication>(module, adapter, {
    logger: new NestLogger(logger),
    abortOnError: false,
    forceCloseConnections: false,
  });
  beginRequests(app);
  closeConnectionsWhileStopping(app);
  await app.init();
  await adapter.getInstance().ready();
  return app;
}

/** Errors before routing, such as a malformed URL. */
function answerMalformed(error: Error, _request: FastifyRequest, reply: FastifyReply): void {
  const known = toApiError(error);
  void reply
    .code(known.code)
    .headers(securityHeaders)
    .type('application/json')
    .send(JSON.stringify(toErrorBody(known, newErrorId())));
}

const unreadable: Record<string, string> = {
  HPE_HEADER_OVERFLOW: 'The headers are too large: at most 16 kB.',
  ERR_HTTP_REQUEST_TIMEOUT: 'The headers did not arrive in time: send the request again.',
};

/** Connections with invalid HTTP or too large headers. */
function answerUnreadable(error: Error & { code?: string }, socket: Socket): void {
  if (!socket.writable || error.code === 'ECONNRESET') return void socket.destroy();
  const problem = unreadable[error.code ?? ''] ?? 'The request is not valid HTTP.';
  socket.end(rawErrorResponse(new ApiError('InvalidPayload', problem), newErrorId()));
}

/** Applies the timeouts and error responses above to a server that Fastify did not create. */
export function configureServer(server: Server): void {
  server.keepAliveTimeout = keepAliveMs;
  server.headersTimeout = keepAliveMs + 5_000;
  server.requestTimeout = 0;
  server.on('clientError', answerUnreadable);
}

function beginRequests(app: NestFastifyApplication): void {
  app
    .getHttpAdapter()
    .getInstance()
    .addHook('onRequest', (request: TracedRequest, reply, done) => {
      request.traceparent = traceparentOf(request.headers);
      reply.headers(securityHeaders).header('x-request-id', request.id);
      done();
    });
}

/** Connection draining: responses of a stopping process have `connection: close`, so that clients reconnect elsewhere. */
function closeConnectionsWhileStopping(app: NestFastifyApplication): void {
  const readiness = app.get(Readiness, { strict: false });
  app
    .getHttpAdapter()
    .getInstance()
    .addHook('onSend', (_request, reply, payload, done) => {
      if (readiness.isStopping) reply.header('connection', 'close');
      done(null, payload);
    });
}
