import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import type { Access } from '@parley/contracts/access';
import { Public } from '@parley/service/public';
import type { FastifyRequest } from 'fastify';
import { ForOperation, replyOf, requestOf, webhookIdOf } from '../bodies/forwarded-request';
import { RateLimiter, type Sender } from '../rate-limits/rate.limiter';
import { bearerToken, header, IdentityService } from './identity.service';

/**
 * Authentication: counts the request for its sender, and sets `request.caller`. A route needs an operation or
 * `@Public()`.
 */
@Injectable()
export class AuthGuard implements CanActivate {
  constructor(
    private readonly reflector: Reflector,
    private readonly limits: RateLimiter,
    private readonly identities: IdentityService,
  ) {}

  /** Throws RateLimited, Unauthorized, Forbidden, or InvalidPayload for a missing context header. */
  async canActivate(context: ExecutionContext): Promise<boolean> {
    const operation = this.reflector.get(ForOperation, context.getHandler());
    if (!operation) return this.requirePublic(context);
    const request = requestOf(context);
    const { access } = operation;
    const prove = await this.limits.count(senderOf(request, access), replyOf(context));
    request.caller = await this.identities.identify(request, access);
    // Only the chat service can verify a user key.
    if (request.caller.credential === 'user') request.prove = prove;
    else prove();
    return true;
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
