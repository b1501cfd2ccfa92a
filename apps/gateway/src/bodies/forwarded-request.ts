import type { ExecutionContext } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { Caller } from '@parley/contracts/caller';
import type { Operation } from '@parley/contracts/operation';
import type { TracedRequest } from '@parley/service/request-trace';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { IncomingBody } from './bodies.service';

/** Marks a route that forwards requests to an operation. */
export const ForOperation = Reflector.createDecorator<Operation>();

/** Request of a route with an operation. */
export interface ForwardedRequest extends TracedRequest {
  /** Set by AuthGuard. */
  caller?: Caller;
  /** Call when the service has accepted the user key: it then has a rate limit of its own. */
  confirmCredential?: () => void;
  /** Set by ContractPipe for a request with a body. */
  incoming?: IncomingBody;
}

/** Webhook id of a request on a chat route. */
export function webhookIdOf({ params }: Pick<FastifyRequest, 'params'>): string {
  return (params as { webhookId: string }).webhookId;
}

/** By index: `switchToHttp` allocates three closures a call. */
export function requestOf(context: ExecutionContext): ForwardedRequest {
  return context.getArgByIndex<ForwardedRequest>(0);
}

export function replyOf(context: ExecutionContext): FastifyReply {
  return context.getArgByIndex<FastifyReply>(1);
}

/** Operation of the route, for hooks of Fastify. Nest's guards read `ForOperation`. */
export function operationOf({ routeOptions }: FastifyRequest): Operation | undefined {
  return (routeOptions.config as { operation?: Operation }).operation;
}
