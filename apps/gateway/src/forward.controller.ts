import cors from '@fastify/cors';
import { Controller, Inject, type OnModuleInit } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { Bus } from '@parley/bus/bus';
import type { Access } from '@parley/contracts/access';
import type { Caller } from '@parley/contracts/caller';
import { allOperations, missingRoutes } from '@parley/contracts/contracts';
import { ApiError } from '@parley/contracts/errors';
import type { RawQuery } from '@parley/contracts/query-fields';
import type { Operation, Route } from '@parley/contracts/operation';
import type { Text } from '@parley/contracts/paging';
import type { Platform } from '@parley/service/platform';
import { logRequests } from '@parley/service/request-log';
import { type TracedRequest, traceRequests } from '@parley/service/request-trace';
import { platformToken } from '@parley/service/tokens';
import type { FastifyInstance, FastifyReply, FastifyRequest, HTTPMethods } from 'fastify';
import { Admission, whenEnded } from '@parley/service/admission';
import { BodiesUnderWay, limitBodyTime, useJsonBodies, useNoBodies } from './body-parser';
import { bearerToken, CallerGuard, header } from './caller.guard';
import { GatewayConfig } from './config';
import { ErrorFilter } from '@parley/service/error.filter';
import { readIdempotencyKey } from './idempotency-key';
import { InputReader } from './input-reader';
import { limitHeaders, RateLimits, type Sender } from './rate-limits';
import { TextAnswers } from './text-answers';

interface Forwarded extends TracedRequest {
  caller?: Caller;
  /** To be called when the user key that it shows has been accepted. */
  prove?: () => void;
}

/** HTTP in, bus out, for every contracted route. Registered with Fastify itself, which routes before it decodes `%2F`. */
@Controller()
export class ForwardController implements OnModuleInit {
  private readonly bodies = new BodiesUnderWay();
  private readonly texts = new TextAnswers();
  private readonly admission: Admission;

  constructor(
    private readonly http: HttpAdapterHost,
    private readonly bus: Bus,
    private readonly guard: CallerGuard,
    private readonly limits: RateLimits,
    private readonly errors: ErrorFilter,
    { gatewayMaxInFlight: max, maxLoopDelayMs }: GatewayConfig,
    @Inject(platformToken) private readonly platform: Platform,
  ) {
    this.admission = new Admission({ place: 'gateway', max, maxLoopDelayMs, metrics: platform.metrics });
  }

  async onModuleInit(): Promise<void> {
    const fastify = this.http.httpAdapter.getInstance<FastifyInstance>();
    useNoBodies(fastify);
    // The public client asks with credentials in browsers. There are none that a browser would add by itself: tokens
    // travel in headers that a page has to know.
    await fastify.register(cors, {
      origin: true,
      credentials: true,
      methods: ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'],
      exposedHeaders: ['x-request-id', 'retry-after', 'idempotent-replayed', ...limitHeaders],
      maxAge: 600,
    });
    await fastify.register((scope, _options, done) => {
      useJsonBodies(scope);
      scope.setErrorHandler((error, request, reply) => this.errors.answer(error, request, reply));
      traceRequests(scope);
      logRequests(scope, this.platform, ({ caller }: Forwarded) => ({
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
    for (const route of missingRoutes) {
      fastify.route({ ...toFastify(route), handler: (_request, reply) => reply.callNotFound() });
    }
  }

  /** Requests of who runs the platform are never refused. */
  private admit({ access }: Operation): () => void {
    return access.actor === 'operator' ? this.admission.enterAnyway() : this.admission.enter();
  }

  private async identify(request: Forwarded, reply: FastifyReply, { access }: Operation): Promise<Caller> {
    const prove = await this.limits.count(senderOf(request, access), reply);
    const caller = await this.guard.identify(request, access);
    // Only the chat service can tell whether a user key is a good one.
    if (caller.credential === 'user') request.prove = prove;
    else prove();
    return caller;
  }

  private register(scope: FastifyInstance, operation: Operation): void {
    if (!operation.route) return;
    const input = new InputReader(operation);
    scope.route({
      ...toFastify(operation.route),
      bodyLimit: operation.bodyLimitBytes,
      // Before the body is read: who may not call may not make us parse either.
      onRequest: async (request: Forwarded, reply) => {
        whenEnded(reply, this.admit(operation));
        const caller = await this.identify(request, reply, operation);
        if (operation.isIdempotent) caller.idempotencyKey = readIdempotencyKey(request.headers);
        request.caller = caller;
        limitBodyTime(request);
        this.bodies.admit(request, operation.bodyLimitBytes);
      },
      errorHandler: (error, request, reply) => this.errors.answer(explain(error, operation), request, reply),
      handler: async (request: Forwarded, reply) => {
        const { body, query, params, headers } = request;
        const value = input.read({ body, query: query as RawQuery, path: params as RawQuery, headers });
        if (operation.contentType) this.texts.admit(reply.raw);
        const { text, isReplayed } = await this.bus.ask(operation, request.caller!, value);
        request.prove?.();
        reply.code(operation.status);
        if (isReplayed) reply.header('idempotent-replayed', 'true');
        if (operation.contentType) return sendText(reply, operation.contentType, JSON.parse(text) as Text);
        return reply.type('application/json; charset=utf-8').send(text);
      },
    });
  }
}

function toFastify(route: Route): { method: HTTPMethods; url: string } {
  const [method, path] = route.split(' ') as [HTTPMethods, string];
  return { method, url: path.replaceAll(/\{(\w+)\}/g, ':$1') };
}

/** Only what this operation looks at. */
function senderOf({ ip: address, headers, params }: FastifyRequest, { actor }: Access): Sender {
  if (actor === 'anyone') return { address, actor };
  if (actor !== 'chat-user' && actor !== 'chat-visitor') return { address, actor, token: bearerToken(headers) };
  const { webhookId } = params as { webhookId: string };
  return { address, actor, webhookId, userKey: header({ headers }, 'x-user-key') };
}

/** The text may come from anybody: a browser must neither guess its type nor run it. */
function sendText(reply: FastifyReply, contentType: string, { text }: Text): FastifyReply {
  return reply.header('content-security-policy', "sandbox; default-src 'none'").type(contentType).send(text);
}

/** Fastify does not say what the limit was. */
function explain(error: unknown, { bodyLimitBytes }: Operation): unknown {
  if ((error as { code?: string }).code !== 'FST_ERR_CTP_BODY_TOO_LARGE') return error;
  return new ApiError(
    'PayloadTooLarge',
    `The body is larger than the ${bodyLimitBytes} bytes that this operation takes.`,
  );
}
