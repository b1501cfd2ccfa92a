import { type CanActivate, type ExecutionContext, Inject, Injectable } from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { ConcurrencyLimiter, whenEnded } from '@parley/service/concurrency-limiter';
import type { Platform } from '@parley/service/platform';
import { platformToken } from '@parley/service/tokens';
import { GatewayConfig } from '../config';
import { ForOperation, replyOf } from '../bodies/forwarded-request';

/** Load shedding, before any other work for a request. Requests of the operator are always admitted. */
@Injectable()
export class LoadSheddingGuard implements CanActivate {
  private readonly limiter: ConcurrencyLimiter;

  constructor(
    private readonly reflector: Reflector,
    { gatewayMaxInFlight: max, maxLoopDelayMs }: GatewayConfig,
    @Inject(platformToken) { metrics }: Platform,
  ) {
    this.limiter = new ConcurrencyLimiter({ place: 'gateway', max, maxLoopDelayMs, metrics });
  }

  /** Throws a 503 when the gateway is overloaded. */
  canActivate(context: ExecutionContext): boolean {
    const operation = this.reflector.get(ForOperation, context.getHandler());
    if (!operation) return true;
    const leave = operation.access.actor === 'operator' ? this.limiter.enterAnyway() : this.limiter.enter();
    whenEnded(replyOf(context), leave);
    return true;
  }
}
