import cors from '@fastify/cors';
import { Controller, Inject, type OnModuleInit } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { ParleyClient } from '@parley/transport/parley-client';
import { tenantOf } from '@parley/transport/envelope';
import type { Access } from '@parley/contracts/access';
import type { Caller } from '@parley/contracts/caller';
import { allOperations, missingRoutes } from '@parley/contracts/contracts';
import type { RawQuery } from '@parley/contracts/query-fields';
import type { Operation, Route } from '@parley/contracts/operation';
import type { Text } from '@parley/contracts/paging';
import type { Platform } from '@parley/service/platform';
import { logRequests } from '@parley/service/request-log';
import { type TracedRequest, traceRequests } from '@parley/service/request-trace';
import { platformToken } from '@parley/service/tokens';
import type { FastifyInstance, FastifyReply, FastifyRequest, HTTPMethods } from 'fastify';
import { Admission, whenEnded } from '@parley/service/admission';
import { BodyReader } from './bodies/body-reader';
import { BodyRoom, type BodySender } from './bodies/body-room';
import { LargeBodies } from './bodies/large-bodies';
import { LargeBody } from './bodies/large-body';
import {
  hasBody,
  limitBodyTime,
  type ReadRequest,
  strangersTimeoutMs,
  useJsonBodies,
  useNoBodies,
} from './body-parser';
import { bearerToken, CallerGuard, header } from './caller.guard';
import { ChatCallers } from './chat-callers';
import { GatewayConfig } from './config';
import { toApiError } from '@parley/service/error-body';
import { ApiExceptionFilter } from '@parley/service/api-exception.filter';
import { readIdempotencyKey } from './idempotency-key';
import { InputReader } from './input-reader';
import { networkOf } from './network';
import { limitHeaders, RateLimits, type Sender } from './rate-limits';
import { TextAnswers } from './text-answers';

interface Forwarded extends ReadRequest, TracedRequest {
  caller?: Caller;
  isForwarded?: boolean;
  /** Call when the service has accepted the user key: it then has a rate limit of its own. */
  prove?: () => void;
}

/**
 * Forwards each contracted HTTP route to the client. Routes are registered with Fastify itself, which routes before it
 * decodes `%2F`.
 */
@Controller()
export class ForwardController implements OnModuleInit {
  private readonly bodies: BodyReader;
  private readonly texts = new TextAnswers();
  private readonly admission: Admission;

  constructor(
    private readonly http: HttpAdapterHost,
    private readonly client: ParleyClient,
    private readonly guard: CallerGuard,
    private readonly limits: RateLimits,
    private readonly chatCallers: ChatCallers,
    private readonly largeBodies: LargeBodies,
    private readonly errors: ApiExceptionFilter,
    { gatewayMaxInFlight: max, maxLoopDelayMs }: GatewayConfig,
    @Inject(platformToken) private readonly platform: Platform,
  ) {
    // Strangers hold at most half of the request slots.
    this.bodies = new BodyReader(new BodyRoom(Math.ceil(max / 2)));
    this.admission = new Admission({ place: 'gateway', max, maxLoopDelayMs, metrics: platform.metrics });
  }

  async onModuleInit(): Promise<void> {
    const fastify = this.http.httpAdapter.getInstance<FastifyInstance>();
    useNoBodies(fastify);
    // CORS with credentials for any origin, because the public client sends credentials in browsers. That is safe:
    // tokens are sent in headers, which a browser does not add by itself.
    await fastify.register(cors, {
      origin: true,
      credentials: true,
      methods: ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'],
      exposedHeaders: ['x-request-id', 'retry-after', 'idempotent-replayed', ...limitHeaders],
      maxAge: 600,
    });
    await fastify.register((scope, _options, done) => {
      useJsonBodies(scope, this.bodies);
      scope.setErrorHandler((error, request, reply) => this.errors.answer(error, request, reply));
      traceRequests(scope);
      logRequests(scope, this.platform, ({ caller }: Forwarded) => ({
        account: caller?.account?.id,
        bot: caller?.bot?.id,
      }));
      scope.addHook('onRequest', (request, reply, next) => {
        reply.raw.once('close', () => (request as Forwarded).incoming?.lease?.end());
        next();
      });
      for (const operation of allOperations) this.register(scope, operation);
      done();
    });
    for (const route of missingRoutes) {
      fastify.route({ ...toFastify(route), handler: (_request, reply) => reply.callNotFound() });
    }
  }

  /** Load shedding. Requests of the operator are always admitted. */
  private admit({ access }: Operation): () => void {
    return access.actor === 'operator' ? this.admission.enterAnyway() : this.admission.enter();
  }

  private async identify(request: Forwarded, reply: FastifyReply, { access }: Operation): Promise<Caller> {
    const prove = await this.limits.count(senderOf(request, access), reply);
    const caller = await this.guard.identify(request, access);
    // Only the chat service can verify a user key.
    if (caller.credential === 'user') request.prove = prove;
    else prove();
    return caller;
  }

  /** Sets the sender and the timeout of the body. A user key is verified before the body is read. */
  private async admitBody(request: Forwarded, operation: Operation): Promise<void> {
    const sender = await this.senderOfBody(request, operation.access);
    request.incoming = { raw: request.raw, operation, sender };
    limitBodyTime(request, sender.isProven ? undefined : strangersTimeoutMs);
  }

  private async senderOfBody({ caller, ip, params }: Forwarded, { actor }: Access): Promise<BodySender> {
    const stranger = { tenant: networkOf(ip), isProven: false };
    if (actor === 'anyone' || actor === 'chat-visitor') return stranger;
    if (actor !== 'chat-user') return { tenant: tenantOf(caller!), isProven: true };
    try {
      const { botId } = await this.chatCallers.verify(caller!, (params as ChatParams).webhookId);
      return { tenant: `users of ${botId}`, isProven: true };
    } catch (error) {
      // The chat service is unavailable, or of the previous release: it verifies the key when it receives the request.
      if (toApiError(error).code >= 500) return stranger;
      throw error;
    }
  }

  private accept({ prove, caller, incoming, params }: Forwarded): void {
    prove?.();
    if (incoming && caller!.credential === 'user') this.chatCallers.accepted(caller!, (params as ChatParams).webhookId);
  }

  /** On chat routes, an unknown webhook id or user key is reported before any error in the request. */
  private async refuse(
    error: unknown,
    request: Forwarded,
    reply: FastifyReply,
    { access: { actor } }: Operation,
  ): Promise<void> {
    const { caller, isForwarded, params } = request;
    const isOfChat = actor === 'chat-user' || actor === 'chat-visitor';
    const known = toApiError(error);
    if (!caller || isForwarded || !isOfChat || known.code >= 500) return this.errors.answer(error, request, reply);
    const asked = actor === 'chat-user' ? caller : { ...caller, userKey: undefined };
    const refusal = await this.chatCallers.verifyAfresh(asked, (params as ChatParams).webhookId).catch(toApiError);
    this.errors.answer(refusal && refusal.code < 500 ? refusal : error, request, reply);
  }

  private register(scope: FastifyInstance, operation: Operation): void {
    if (!operation.route) return;
    const input = new InputReader(operation);
    scope.route({
      ...toFastify(operation.route),
      bodyLimit: operation.bodyLimitBytes,
      // Authentication comes before parsing: unauthenticated callers cannot make the gateway parse bodies.
      onRequest: async (request: Forwarded, reply) => {
        whenEnded(reply, this.admit(operation));
        const caller = await this.identify(request, reply, operation);
        request.caller = caller;
        if (hasBody(request)) await this.admitBody(request, operation);
        if (operation.isIdempotent) caller.idempotencyKey = readIdempotencyKey(request.headers);
      },
      errorHandler: (error, request, reply) => void this.refuse(error, request as Forwarded, reply, operation),
      handler: async (request: Forwarded, reply) => {
        const { body, query, params, headers } = request;
        const raw = { query: query as RawQuery, path: params as RawQuery, headers };
        const value =
          body instanceof LargeBody
            ? await this.largeBodies.read(operation, request.incoming!.sender.tenant, { body, ...raw })
            : input.read({ body, ...raw });
        if (operation.contentType) this.texts.admit(reply.raw);
        request.isForwarded = true;
        const { text, isReplayed } = await this.client.request(operation, request.caller!, value);
        this.accept(request);
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

interface ChatParams {
  webhookId: string;
}

function senderOf({ ip: address, headers, params }: FastifyRequest, { actor }: Access): Sender {
  if (actor === 'anyone') return { address, actor };
  if (actor !== 'chat-user' && actor !== 'chat-visitor') return { address, actor, token: bearerToken(headers) };
  const { webhookId } = params as ChatParams;
  return { address, actor, webhookId, userKey: header({ headers }, 'x-user-key') };
}

/** Text content of users: the sandbox policy keeps browsers from running it. */
function sendText(reply: FastifyReply, contentType: string, { text }: Text): FastifyReply {
  return reply.header('content-security-policy', "sandbox; default-src 'none'").type(contentType).send(text);
}
