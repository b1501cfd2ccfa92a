import cors from '@fastify/cors';
import { Controller, Inject, type OnModuleInit } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { Bus } from '@parley/bus/bus';
import type { Caller } from '@parley/contracts/caller';
import { allOperations } from '@parley/contracts/contracts';
import { ApiError } from '@parley/contracts/errors';
import type { RawQuery } from '@parley/contracts/query-fields';
import type { Operation } from '@parley/contracts/operation';
import type { Text } from '@parley/contracts/paging';
import type { Platform } from '@parley/service/platform';
import { logRequests } from '@parley/service/request-log';
import { platformToken } from '@parley/service/tokens';
import type { FastifyInstance, FastifyReply, FastifyRequest, HTTPMethods } from 'fastify';
import { BodiesUnderWay, limitBodyTime, useJsonBodies, useNoBodies } from './body-parser';
import { CallerGuard } from './caller.guard';
import { ErrorFilter } from '@parley/service/error.filter';
import { InputReader } from './input-reader';
import { TextAnswers } from './text-answers';

interface Forwarded extends FastifyRequest {
  caller?: Caller;
}

/** HTTP in, bus out, for every contracted route. Registered with Fastify itself, which routes before it decodes `%2F`. */
@Controller()
export class ForwardController implements OnModuleInit {
  private readonly bodies = new BodiesUnderWay();
  private readonly texts = new TextAnswers();

  constructor(
    private readonly http: HttpAdapterHost,
    private readonly bus: Bus,
    private readonly guard: CallerGuard,
    private readonly errors: ErrorFilter,
    @Inject(platformToken) private readonly platform: Platform,
  ) {}

  async onModuleInit(): Promise<void> {
    const fastify = this.http.httpAdapter.getInstance<FastifyInstance>();
    useNoBodies(fastify);
    await fastify.register(cors, {
      origin: true,
      credentials: true,
      methods: ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'],
      exposedHeaders: ['x-request-id', 'retry-after'],
      maxAge: 600,
    });
    await fastify.register((scope, _options, done) => {
      useJsonBodies(scope);
      scope.setErrorHandler((error, request, reply) => this.errors.answer(error, request, reply));
      logRequests(scope, this.platform, ({ caller }: Forwarded) => ({
        traceparent: caller?.traceparent,
        account: caller?.account?.id,
        bot: caller?.bot?.id,
      }));
      scope.addHook('onRequest', (request, reply, next) => {
        reply.raw.once('close', () => this.bodies.release(request));
        next();
      });
      for (const operation of allOperations) this.register(scope, operation);
      done();
    });
  }

  private register(scope: FastifyInstance, operation: Operation): void {
    if (!operation.route) return;
    const [method, path] = operation.route.split(' ') as [HTTPMethods, string];
    const input = new InputReader(operation);
    scope.route({
      method,
      url: path.replaceAll(/\{(\w+)\}/g, ':$1'),
      bodyLimit: operation.bodyLimitBytes,
      // Before the body is read: who may not call may not make us parse either.
      onRequest: async (request: Forwarded) => {
        request.caller = await this.guard.identify(request, operation.access);
        limitBodyTime(request);
        this.bodies.admit(request, operation.bodyLimitBytes);
      },
      errorHandler: (error, request, reply) => this.errors.answer(explain(error, operation), request, reply),
      handler: async (request: Forwarded, reply) => {
        const { body, query, params, headers } = request;
        const value = input.read({ body, query: query as RawQuery, path: params as RawQuery, headers });
        if (operation.contentType) this.texts.admit(reply.raw);
        const answer = await this.bus.ask(operation, request.caller!, value);
        reply.code(operation.status);
        if (operation.contentType) return sendText(reply, operation.contentType, JSON.parse(answer) as Text);
        return reply.type('application/json; charset=utf-8').send(answer);
      },
    });
  }
}

/** The text may come from anybody: a browser must neither guess its type nor run it. */
function sendText(reply: FastifyReply, contentType: string, { text }: Text): FastifyReply {
  return reply
    .headers({ 'content-security-policy': "sandbox; default-src 'none'", 'x-content-type-options': 'nosniff' })
    .type(contentType)
    .send(text);
}

/** Fastify does not say what the limit was. */
function explain(error: unknown, { bodyLimitBytes }: Operation): unknown {
  if ((error as { code?: string }).code !== 'FST_ERR_CTP_BODY_TOO_LARGE') return error;
  return new ApiError(
    'PayloadTooLarge',
    `The body is larger than the ${bodyLimitBytes} bytes that this operation takes.`,
  );
}
