import type { Server } from 'node:http';
import type { DynamicModule } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { type Logger, NestLogger } from '@parley/logging/logger';
import { Readiness } from './health.controller';

/** Longest key of a file, percent-encoded. */
const maxParamLength = 9_000;
/** Longer than the 60 s for which public clients keep idle sockets, so that we never close one that they still use. */
const keepAliveMs = 75_000;

/** Answers what is wrong before any route is found: a malformed URL, say. */
export type FrameworkErrorHandler = (error: Error, request: FastifyRequest, reply: FastifyReply) => void;

/** A Nest container with its HTTP side, initialised but not listening. */
export async function createHttpApp(
  module: DynamicModule,
  logger: Logger,
  frameworkErrors?: FrameworkErrorHandler,
): Promise<NestFastifyApplication> {
  const adapter = new FastifyAdapter({
    routerOptions: { maxParamLength },
    bodyLimit: 64_000_000,
    trustProxy: true,
    forceCloseConnections: 'idle',
    return503OnClosing: false,
    keepAliveTimeout: keepAliveMs,
    // Uploads may take hours; a client that sends nothing is cut by the idle timeout of who reads its body.
    requestTimeout: 0,
    onProtoPoisoning: 'ignore',
    onConstructorPoisoning: 'ignore',
    frameworkErrors,
  });
  const app = await NestFactory.create<NestFastifyApplication>(module, adapter, {
    logger: new NestLogger(logger),
    abortOnError: false,
    forceCloseConnections: false,
  });
  closeConnectionsWhileStopping(app);
  await app.init();
  await adapter.getInstance().ready();
  return app;
}

/** Timeouts of a server that takes long uploads and keeps idle sockets for longer than clients do. */
export function configureServer(server: Server): void {
  server.keepAliveTimeout = keepAliveMs;
  server.headersTimeout = keepAliveMs + 5_000;
  server.requestTimeout = 0;
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
