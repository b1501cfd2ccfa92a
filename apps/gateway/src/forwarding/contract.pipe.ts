import { createParamDecorator, type ExecutionContext, Injectable, type PipeTransform } from '@nestjs/common';
import { tenantOf } from '@parley/transport/envelope';
import type { JsonLines } from '@parley/background/json-lines';
import type { Access, Actor } from '@parley/contracts/access';
import type { Caller } from '@parley/contracts/caller';
import { ApiError } from '@parley/contracts/errors';
import type { Operation } from '@parley/contracts/operation';
import type { RawQuery } from '@parley/contracts/query-fields';
import { toApiError } from '@parley/service/error-body';
import { UnauthenticatedShare } from '@parley/service/unauthenticated-share';
import type { FastifyReply } from 'fastify';
import { ChatCallersCache } from '../auth/chat-callers.cache';
import { BodiesService } from '../bodies/bodies.service';
import type { BodySender } from '../bodies/body-memory.limiter';
import { LargeBodiesService } from '../bodies/large-bodies.service';
import { LargeBody } from '../bodies/large-body';
import { networkOf } from '@parley/service/network';
import { hasBody, isJson, limitBodyTime, unauthenticatedTimeoutMs } from './body-parser';
import { type ForwardedRequest, replyOf, requestOf, webhookIdOf } from '../bodies/forwarded-request';
import { readIdempotencyKey } from './idempotency-key';
import { InputReader } from '../bodies/input-reader';

interface Exchange {
  operation: Operation;
  request: ForwardedRequest;
  reply: FastifyReply;
}

export interface ValidExchange extends Exchange {
  input: object | JsonLines;
}

/** Request and response, with the operation of the route. One argument: Nest resolves each with promises of its own. */
export const RequestExchange = createParamDecorator((operation: Operation, context: ExecutionContext): Exchange => ({
  operation,
  request: requestOf(context),
  reply: replyOf(context),
}));

/**
 * Reads and validates the input of an operation by its contract: body, query, path and headers. The body is read here,
 * after the guards: unauthenticated callers cannot make the gateway parse bodies.
 */
@Injectable()
export class ContractPipe implements PipeTransform<Exchange, Promise<ValidExchange>> {
  private readonly readers = new Map<Operation, InputReader>();

  constructor(
    private readonly bodies: BodiesService,
    private readonly largeBodies: LargeBodiesService,
    private readonly chatCallers: ChatCallersCache,
    private readonly unauthenticated: UnauthenticatedShare,
  ) {}

  /** Throws InvalidPayload, InvalidQuery, ResourceNotFound, PayloadTooLarge, UnsupportedMediaType or a 503. */
  async transform(exchange: Exchange): Promise<ValidExchange> {
    try {
      return Object.assign(exchange, { input: await this.read(exchange) });
    } catch (error) {
      throw (await this.refusal(exchange, error)) ?? error;
    }
  }

  private async read({ operation, request, reply }: Exchange): Promise<object | JsonLines> {
    const { query, params, headers, caller } = request;
    if (hasBody(request)) await this.admitBody(operation, request, reply);
    if (operation.isIdempotent) caller!.idempotencyKey = readIdempotencyKey(headers);
    const body = await this.readBody(request);
    const raw = { query: query as RawQuery, path: params as RawQuery, headers };
    if (body instanceof LargeBody)
      return this.largeBodies.read(operation, request.incoming!.sender.tenant, { body, ...raw });
    return this.readerOf(operation).read({ body, ...raw });
  }

  private async readBody(request: ForwardedRequest): Promise<unknown> {
    const isJsonBody = isJson(request);
    if (isJsonBody === undefined) return undefined;
    if (!isJsonBody)
      throw new ApiError('UnsupportedMediaType', 'The body must be JSON, with content-type application/json.');
    return request.incoming && this.bodies.read(request.incoming);
  }

  private readerOf(operation: Operation): InputReader {
    const known = this.readers.get(operation);
    if (known) return known;
    const reader = new InputReader(operation);
    this.readers.set(operation, reader);
    return reader;
  }

  /** Sets the sender and the timeout of the body. Webhook id and user key are verified before the body is read. */
  private async admitBody(operation: Operation, request: ForwardedRequest, reply: FastifyReply): Promise<void> {
    const sender = await this.senderOfBody(request, operation.access);
    request.incoming = { raw: request.raw, operation, sender };
    reply.raw.once('close', () => request.incoming?.lease?.end());
    limitBodyTime(request, sender.isAuthenticated ? undefined : unauthenticatedTimeoutMs);
  }

  private async senderOfBody(request: ForwardedRequest, { actor }: Access): Promise<BodySender> {
    const { caller, ip } = request;
    const unauthenticated = { tenant: networkOf(ip), isAuthenticated: false };
    if (actor === 'anyone') return unauthenticated;
    if (!isOfChat(actor)) return { tenant: tenantOf(caller!), isAuthenticated: true };
    try {
      const [chatCaller, webhookId] = [chatCallerOf(caller!, actor), webhookIdOf(request)];
      const { botId } =
        this.chatCallers.find(chatCaller, webhookId) ??
        (await this.verifying(request, actor, () => this.chatCallers.verify(chatCaller, webhookId)));
      return actor === 'chat-user' ? { tenant: `users of ${botId}`, isAuthenticated: true } : unauthenticated;
    } catch (error) {
      // The chat service is unavailable, or of the previous release: it verifies the key when it receives the request.
      if (toApiError(error).code >= 500) return unauthenticated;
      throw error;
    }
  }

  /** On chat routes, an unknown webhook id or user key is reported before any error in the request. */
  private async refusal({ operation, request }: Exchange, error: unknown): Promise<ApiError | undefined> {
    const { actor } = operation.access;
    if (!isOfChat(actor) || toApiError(error).code >= 500) return undefined;
    const caller = chatCallerOf(request.caller!, actor);
    const verify = () => this.chatCallers.verifyAfresh(caller, webhookIdOf(request));
    const refusal = await this.verifying(request, actor, verify).catch(toApiError);
    return refusal && refusal.code < 500 ? refusal : undefined;
  }

  /** Verification of a visitor takes place in the share of unauthenticated senders. */
  private async verifying<T>(request: ForwardedRequest, actor: Actor, verify: () => T | Promise<T>): Promise<T> {
    return actor === 'chat-visitor' ? this.unauthenticated.run(request, verify) : verify();
  }
}

function isOfChat(actor: Actor): boolean {
  return actor === 'chat-user' || actor === 'chat-visitor';
}

/** The key of a visitor is not verified: it may be that of a former user. */
function chatCallerOf(caller: Caller, actor: Actor): Caller {
  return actor === 'chat-user' ? caller : { ...caller, userKey: undefined };
}
