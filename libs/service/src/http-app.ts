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
import { rawAnswer } from './raw-answer';
import { requestId } from './request-log';
import { type TracedRequest, traceparentOf } from './request-trace';
import { securityHeaders } from './security-headers';

/** Longest key of a file, percent-encoded. */
const maxParamLength = 9_000;
/** Longer than the 60 s for which public clients keep idle sockets, so that we never close one that they still use. */
const keepAliveMs = 75_000;

/** A Nest container with its HTTP side, initialised but not listening. */
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
    // Uploads may take hours; a client that sends nothing is cut by the idle timeout of who reads its body.
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

/** What is wrong before any route is found: a malformed URL, say. */
function answerMalformed(error: Error, _request: FastifyRequest, reply: FastifyReply): void {
  const known = toApiError(error);
  void reply
    .code(known.code)
    .headers(securityHeaders)
    .type('application/json')
    .send(JSON.stringify(toErrorBody(known, newErrorId())));
}

const unreadable: Record<string, string> = {
  HPE_HEADER_OVERFLOW: 'The headers are too large: 16 kB are the limit.',
  ERR_HTTP_REQUEST_TIMEOUT: 'The headers did not arrive in time: send the request again.',
};

/** What is no HTTP, or has headers without end. */
function answerUnreadable(error: Error & { code?: string }, socket: Socket): void {
  if (!socket.writable || error.code === 'ECONNRESET') return void socket.destroy();
  const problem = unreadable[error.code ?? ''] ?? 'The request is not valid HTTP.';
  socket.end(rawAnswer(new ApiError('InvalidPayload', problem), newErrorId()));
}

/** Gives a server that is not Fastify's own the same timeouts and answers. */
export function configureServer(server: Server): void {
  server.keepAliveTimeout = keepAliveMs;
  server.headersTimeout = keepAliveMs + 5_000;
  server.requestTimeout = 0;
  server.on('clientError', answerUnreadable);
}

/** Each request has an id, which its answer tells, and belongs to a trace. Each answer says what a browser may not do with it. */
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

/** A process that stops says so in every answer, so that keep-alive clients turn to another one. */
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
