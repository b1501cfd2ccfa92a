import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { RateLimiter } from './rate.limiter';

/** Public access, with the rate limit of the caller's address. */
@Injectable()
export class RateLimitGuard implements CanActivate {
  constructor(private readonly limits: RateLimiter) {}

  async canActivate(context: ExecutionContext): Promise<boolean> {
    const http = context.switchToHttp();
    const { ip: address } = http.getRequest<FastifyRequest>();
    await this.limits.count({ address, actor: 'anyone' }, http.getResponse<FastifyReply>());
    return true;
  }
}
