import { type CanActivate, type ExecutionContext, Inject, Injectable } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { type Access, isUnauthenticated } from '@parley/contracts/access';
import type { Operation } from '@parley/contracts/operation';
import type { Platform } from '@parley/service/platform';
import { Public } from '@parley/service/public';
import { platformToken } from '@parley/service/tokens';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { toApiError } from '@parley/service/error-body';
import { UnauthenticatedShare } from '@parley/service/unauthenticated-share';
import { type ForwardedRequest, ForOperation, replyOf, requestOf, webhookIdOf } from '../bodies/forwarded-request';
import { GatewayConfig } from '../config';
import { RateLimiter, type Sender } from '../rate-limits/rate.limiter';
import { ChatCallersCache } from './chat-callers.cache';
import { bearerToken, header, IdentityService } from './identity.service';

/**
 * Authentication: counts the request for its sender, and sets `request.caller`. A credential that was not accepted lately is
 * verified in the share of unauthenticated senders. A route needs an operation or `@Public()`.
 */
@Injectable()
export class AuthGuard implements CanActivate {
  /** Neither shed for the delay of the loop nor behind others: the operator must be able to act during an overload. */
  private readonly operators: UnauthenticatedShare;

  constructor(
    private readonly reflector: Reflector,
    private readonly limits: RateLimiter,
    private readonly identities: IdentityService,
    private readonly chatCallers: ChatCallersCache,
    private readonly unauthenticated: UnauthenticatedShare,
    { gatewayMaxInFlight: max }: GatewayConfig,
    @Inject(platformToken) { metrics }: Platform,
  ) {
    this.operators = new UnauthenticatedShare({
      ...{ place: 'operators', isApart: true },
      ...{ max, maxLoopDelayMs: Infinity, metrics },
    });
  }

  /** Throws RateLimited, Unauthorized, Forbidden, InvalidPayload for a missing context header, or a 503. */
  async canActivate(context: ExecutionContext): Promise<boolean> {
    const operation = this.reflector.get(ForOperation, context.getHandler());
    if (!operation) return this.requirePublic(context);
    const request = requestOf(context);
    const { access } = operation;
    const sender = senderOf(request, access);
    // The operation itself is done in the share.
    const isConfirmed = this.limits.isConfirmed(sender);
    request.isAdmitted = isConfirmed;
    if (isUnauthenticated(access) || isConfirmed) await this.authenticate(request, operation, sender, replyOf(context));
    else
      await (access.actor === 'operator' ? this.operators : this.unauthenticated).run(request, async () => {
        await this.authenticate(request, operation, sender, replyOf(context));
        if (access.actor === 'chat-user') await this.verifyUserKey(request);
      });
    return true;
  }

  private async authenticate(
    request: ForwardedRequest,
    operation: Operation,
    sender: Sender,
    reply: FastifyReply,
  ): Promise<void> {
    const confirmCredential = await this.limits.count(sender, reply);
    try {
      request.caller = await this.identities.identify(request, operation);
    } catch (error) {
      if (toApiError(error).type === 'Unauthorized') this.limits.forgetCredential(sender);
      throw error;
    }
    // Only the chat service can verify a user key.
    if (request.caller.credential === 'user') request.confirmCredential = confirmCredential;
    else confirmCredential();
  }

  /** Throws unless the chat service accepts the key, or is unavailable: it verifies the key of each request itself. */
  private async verifyUserKey(request: ForwardedRequest): Promise<void> {
    try {
      await this.chatCallers.verify(request.caller!, webhookIdOf(request));
      request.confirmCredential!();
    } catch (error) {
      if (toApiError(error).code < 500) throw error;
    }
  }

  private requirePublic(context: ExecutionContext): boolean {
    const [handler, controller] = [context.getHandler(), context.getClass()];
    if (this.reflector.getAllAndOverride(Public, [handler, controller]) !== undefined) return true;
    throw new Error(`${controller.name}.${handler.name} has neither an operation nor @Public().`);
  }
}

function senderOf(request: FastifyRequest, { actor }: Access): Sender {
  const { ip: address, headers } = request;
  if (actor === 'anyone') return { address, actor };
  if (actor !== 'chat-user' && actor !== 'chat-visitor') return { address, actor, token: bearerToken(headers) };
  return { address, actor, webhookId: webhookIdOf(request), userKey: header(request, 'x-user-key') };
}
